"""Tables of the reading: reports, sentences, and the answers of structurers.

A cell holds the words of its values, joined by ", ", lower case, on one line. The
column `spans` has the characters of every value in the report, so that nothing has to
be found again in the text.

How a text is cut is decided in `text/`, what a sentence states by a structurer; the
columns are declared in `tables/corpus.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.structuring.contract import (
    UNANSWERED,
    CueUse,
    Mention,
    SectionedReport,
    Sentence,
    Span,
    StructuredReport,
    Structurer,
)
from lunguage_assets.structuring.text.report import cut_report
from lunguage_assets.tables import ATTRIBUTES, STRUCTURED_FINDINGS, Table
from lunguage_assets.tables.corpus import (
    REFUSED_VALUES,
    REPORT_SENTENCES,
    SENTENCE_ACCOUNTS,
)

IN_TEXT = "report text"
"""`view_source` of views that a report's own text names."""
_QUOTED_COLUMNS = ("ent", "location", *ATTRIBUTES)
"""Columns whose values are pieces of the report."""


# --- reports to sentences


@dataclass(frozen=True)
class ReportsRead:
    """The tables of a batch of reports, named as in `tables`."""

    report_texts: pd.DataFrame
    report_sentences: pd.DataFrame
    rejected_reports: pd.DataFrame
    reading_notes: pd.DataFrame


class _Observed(NamedTuple):
    """What a report's own text says of its views, and what was odd about it."""

    views: str
    notes: tuple[str, ...]


class _CutReports(NamedTuple):
    """Some reports, and `tables.REPORT_SENTENCES` of them."""

    reports: list[_Observed]
    sentences: pd.DataFrame


def read_reports(received: Received, processes: int | None = 1) -> ReportsRead:
    """Cut reports into sentences, and note what is odd.

    Views that a text names count where none were delivered.

    Args:
        received: the reports of a delivery.
        processes: as in `parallel.map_studies`.
    """
    log = IntakeLog.of(received.rejected, received.intake_notes)
    texts = received.report_texts
    reports_and_ids = texts[["study_id", "report"]]
    chunks = map_studies(_cut, (reports_and_ids,), tuple, processes=processes)
    observed: list[_Observed] = []
    for chunk in chunks:
        observed += chunk.reports
    views = texts["view_information"].tolist()
    sources = texts["view_source"].tolist()
    studies = texts["study_id"].tolist()
    files = texts["file"].tolist()
    lines = texts["line"].tolist()
    for position, report in enumerate(observed):
        # Delivered views, as of the metadata of images, are known; those of the text
        # are only inferred from its words.
        if report.views and not views[position]:
            views[position] = report.views
            sources[position] = IN_TEXT
        for note in report.notes:
            log.note(
                note,
                files[position],
                line=lines[position],
                study_id=studies[position],
            )
    texts = texts.assign(
        view_information=pd.array(views, dtype="str"),
        view_source=pd.array(sources, dtype="str"),
    )
    sentences = joined([chunk.sentences for chunk in chunks])
    return ReportsRead(texts, sentences, log.rejected_frame(), log.notes_frame())


def _cut(texts: pd.DataFrame) -> _CutReports:
    observed: list[_Observed] = []
    rows: list[Sequence[object]] = []
    named = zip(texts["study_id"].tolist(), texts["report"].tolist(), strict=True)
    for study_id, text in named:
        report = cut_report(study_id, text)
        observed.append(_Observed(report.views, report.notes))
        for sentence in report.sentences:
            rows.append(_row_of_sentence(study_id, sentence))
    return _CutReports(observed, _frame(REPORT_SENTENCES, rows))


def _row_of_sentence(study_id: str, sentence: Sentence) -> Sequence[object]:
    """Write a row in the order of `REPORT_SENTENCES`."""
    return (
        study_id,
        sentence.section,
        sentence.number,
        sentence.heading,
        sentence.span.begin,
        sentence.span.end,
        sentence.text,
    )


def sectioned_reports(
    report_texts: pd.DataFrame, report_sentences: pd.DataFrame
) -> Iterator[SectionedReport]:
    """Read reports back from the tables, as structurers get them.

    Yields:
        In the order of `report_texts`.
    """
    sentences_by_study: dict[str, list[Sentence]] = {}
    cells = [report_sentences[name].tolist() for name in REPORT_SENTENCES.names]
    for study_id, section, number, heading, begin, end, text in zip(
        *cells, strict=True
    ):
        sentence = Sentence(section, number, Span(begin, end), text, heading)
        sentences_by_study.setdefault(study_id, []).append(sentence)
    columns = ("study_id", "report", "view_information")
    cells_of_texts = [report_texts[name].tolist() for name in columns]
    for study_id, text, views in zip(*cells_of_texts, strict=True):
        sentences = sentences_by_study.get(study_id, [])
        # A structurer needs the order of the text ("It is unchanged" speaks of the
        # sentence before); a table may be sorted by section.
        sentences.sort(key=lambda sentence: sentence.span)
        yield SectionedReport(study_id, text, tuple(sentences), views)


# --- answers to rows


class StructuredTables(NamedTuple):
    """The tables of one structurer and batch, named as in `tables`."""

    structured_findings: pd.DataFrame
    sentence_accounts: pd.DataFrame
    refused_values: pd.DataFrame


def structured_reports(
    report_texts: pd.DataFrame, report_sentences: pd.DataFrame, structurer: Structurer
) -> StructuredTables:
    """Let a structurer read reports, and write what it reads as tables.

    Args:
        report_texts: `tables.REPORT_TEXTS`.
        report_sentences: `tables.REPORT_SENTENCES` of the same reports.
        structurer: that reads them.
    """
    reports = list(sectioned_reports(report_texts, report_sentences))
    return structured_tables(reports, structurer.structure(reports))


def structured_tables(
    reports: Sequence[SectionedReport], answers: Sequence[StructuredReport]
) -> StructuredTables:
    """Write a structurer's answers to these reports as tables."""
    findings: list[Sequence[object]] = []
    accounts: list[Sequence[object]] = []
    refused: list[Sequence[object]] = []
    for report, answer in zip(reports, answers, strict=True):
        findings += _rows_of_mentions(report, answer)
        accounts += _rows_of_accounts(report, answer)
        for value in answer.refused:
            refused.append(
                (
                    len(refused),
                    report.study_id,
                    value.section,
                    value.sentence,
                    value.column,
                    value.found,
                    value.reason,
                )
            )
    return StructuredTables(
        structured_findings=_frame(STRUCTURED_FINDINGS, findings),
        sentence_accounts=_frame(SENTENCE_ACCOUNTS, accounts),
        refused_values=_frame(REFUSED_VALUES, refused),
    )


def _rows_of_accounts(
    report: SectionedReport, answer: StructuredReport
) -> Iterator[Sequence[object]]:
    """Write what became of each sentence, in the order of `SENTENCE_ACCOUNTS`."""
    mention_counts = Counter(mention.sentence for mention in answer.mentions)
    readings = zip(report.sentences, answer.readings, strict=True)
    for position, (sentence, reading) in enumerate(readings):
        # Sentences of technique, comparison and the like need no account.
        if sentence.section != "other":
            yield (
                report.study_id,
                sentence.section,
                sentence.number,
                reading.account,
                reading.reason,
                mention_counts[position],
            )


def _rows_of_mentions(
    report: SectionedReport, answer: StructuredReport
) -> Iterator[Sequence[object]]:
    """Write the mentions of a report, numbered by section."""
    # All keys first: a mention may refer to one that stands behind it.
    numbers: list[int] = []
    keys: list[str] = []
    counts: Counter[str] = Counter()
    for mention in answer.mentions:
        section = report.sentences[mention.sentence].section
        counts[section] += 1
        numbers.append(counts[section])
        keys.append(f"{section}:{counts[section]}")
    for mention, number in zip(answer.mentions, numbers, strict=True):
        sentence = report.sentences[mention.sentence]
        values = _values_of(mention)
        row: dict[str, object] = {
            "study_id": report.study_id,
            "section": sentence.section,
            "sent_idx": sentence.number,
            "sent": sentence.text,
            "ent_idx": number,
            "normed_ent": mention.normed_ent,
            "cat": mention.cat,
            "status": mention.status,
            "evidence": [keys[position] for position in mention.evidence],
            "associate": [keys[position] for position in mention.associate],
            "spans": _written_spans(values),
            "cues": _written_cues(mention.cues),
        }
        for column, spans in values.items():
            row[column] = _cell(report.text, spans)
        yield [row.get(column, "") for column in STRUCTURED_FINDINGS.names]


def _values_of(mention: Mention) -> dict[str, tuple[Span, ...]]:
    """Take the values of a mention by column, in the order of the columns."""
    values = {
        "ent": (mention.ent,),
        "location": mention.location,
        **mention.attributes,
    }
    return {column: values[column] for column in _QUOTED_COLUMNS if values.get(column)}


def _cell(text: str, spans: Sequence[Span]) -> str:
    # A value may go over the end of a line, a cell has one line.
    pieces = [" ".join(span.of(text).split()) for span in spans]
    return ", ".join(pieces).lower()


def _frame(table: Table, rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    """Make a table of rows that have its columns in their order."""
    if not rows:
        return table.frame()
    columns = [list(column) for column in zip(*rows, strict=True)]
    return table.frame(dict(zip(table.names, columns, strict=True)))


# --- the columns `spans` and `cues`, there and back: "ent 0-8; location 12-16 20-24"


def _written_spans(spans_by_column: Mapping[str, Sequence[Span]]) -> str:
    entries: list[str] = []
    for column, spans in spans_by_column.items():
        ranges = [f"{span.begin}-{span.end}" for span in spans]
        entries.append(" ".join([column, *ranges]))
    return "; ".join(entries)


def read_spans(cell: str) -> dict[str, tuple[Span, ...]]:
    """Read a cell of the column `spans`.

    Returns:
        Column -> characters of its values in the report, in the order of the values.
    """
    spans_by_column: dict[str, tuple[Span, ...]] = {}
    for entry in _entries_of(cell):
        column, *ranges = entry.split(" ")
        spans_by_column[column] = tuple(_read_span(range_) for range_ in ranges)
    return spans_by_column


def _written_cues(cues: Sequence[CueUse]) -> str:
    return "; ".join(f"{use.cue} {use.span.begin}-{use.span.end}" for use in cues)


def read_cues(cell: str) -> list[CueUse]:
    """Read a cell of the column `cues`: cues with their characters in the report."""
    uses: list[CueUse] = []
    for entry in _entries_of(cell):
        cue, range_ = entry.split(" ")
        uses.append(CueUse(cue, _read_span(range_)))
    return uses


def is_unresolved(cell: str) -> bool:
    """Whether a row, by its cell `cues`, is open by unread words alone."""
    return UNANSWERED in cell


def _entries_of(cell: str) -> list[str]:
    # An empty text, split, would be one empty entry.
    return cell.split("; ") if cell else []


def _read_span(range_: str) -> Span:
    begin, end = range_.split("-")
    return Span(int(begin), int(end))
