"""Tables of the reading: reports, sentences, and the answers of structurers.

A cell holds the words of its values, joined by ", ", lower case, on one line. The
column `spans` has the characters of every value in the report, so that nothing has to
be found again in the text.

How a text is cut is decided in `text/`, what a sentence states by a structurer; the
columns are declared in `tables/corpus.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pandas as pd

from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.structuring.contract import (
    UNANSWERED,
    CueUse,
    SectionedReport,
    Sentence,
    Span,
    StructuredReport,
    Structurer,
)
from lunguage_assets.structuring.text.report import cut_report
from lunguage_assets.tables import ATTRIBUTES, STRUCTURED_FINDINGS
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


class _CutReports(NamedTuple):
    """Some reports without their sentences, and `tables.REPORT_SENTENCES` of them."""

    reports: list[SectionedReport]
    sentences: pd.DataFrame


def read_reports(received: Received, processes: int | None = 1) -> ReportsRead:
    """Cut reports into sentences, and note what is odd.

    Views that a text names count where none were delivered.

    Args:
        received: the reports of a delivery.
        processes: as in `parallel.map_studies`.
    """
    log = IntakeLog(received.rejected, received.intake_notes)
    texts = received.report_texts
    reports_and_ids = texts[["study_id", "report"]]
    chunks = map_studies(_cut, (reports_and_ids,), tuple, processes=processes)
    by_study = {report.study_id: report for chunk in chunks for report in chunk.reports}
    for study_id, file, line in zip(
        texts["study_id"], texts["file"], texts["line"], strict=True
    ):
        for note in by_study[study_id].notes:
            log.note(note, file, line=line, study_id=study_id)
    # Delivered views, as of the metadata of images, are known; those of the text are
    # only inferred from its words.
    named = texts["study_id"].map(lambda study_id: by_study[study_id].views)
    is_inferred = (texts["view_information"] == "") & (named != "")
    texts = texts.assign(
        view_information=texts["view_information"].mask(is_inferred, named),
        view_source=texts["view_source"].mask(is_inferred, IN_TEXT),
    )
    sentences = joined([chunk.sentences for chunk in chunks])
    return ReportsRead(texts, sentences, log.rejected_frame(), log.notes_frame())


def _cut(texts: pd.DataFrame) -> _CutReports:
    reports: list[SectionedReport] = []
    rows: list[dict[str, object]] = []
    for study_id, text in zip(texts["study_id"], texts["report"], strict=True):
        report = cut_report(study_id, text)
        # Texts and sentences are not sent back to the process that asked.
        reports.append(replace(report, text="", sentences=()))
        for sentence in report.sentences:
            rows.append(
                {
                    "study_id": study_id,
                    "section": sentence.section,
                    "sent_idx": sentence.number,
                    "heading": sentence.heading,
                    "begin": sentence.span.begin,
                    "end": sentence.span.end,
                    "sent": sentence.text,
                }
            )
    return _CutReports(reports, REPORT_SENTENCES.frame(rows))


def sectioned_reports(
    report_texts: pd.DataFrame, report_sentences: pd.DataFrame
) -> Iterator[SectionedReport]:
    """Read reports back from the tables, as structurers get them.

    Yields:
        In the order of `report_texts`.
    """
    sentences_by_study: defaultdict[str, list[Sentence]] = defaultdict(list)
    cells = [report_sentences[name].tolist() for name in REPORT_SENTENCES.names]
    for study_id, section, number, heading, begin, end, text in zip(
        *cells, strict=True
    ):
        sentence = Sentence(section, number, Span(begin, end), text, heading)
        sentences_by_study[study_id].append(sentence)
    columns = ("study_id", "report", "view_information")
    for study_id, text, views in zip(
        *(report_texts[name].tolist() for name in columns), strict=True
    ):
        # A structurer needs the order of the text ("It is unchanged" speaks of the
        # sentence before); a table may be sorted by section.
        sentences = sorted(sentences_by_study[study_id], key=lambda it: it.span)
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
    findings: list[dict[str, object]] = []
    accounts: list[dict[str, object]] = []
    refused: list[dict[str, object]] = []
    for report, answer in zip(reports, answers, strict=True):
        findings += _rows_of_mentions(report, answer)
        accounts += _rows_of_accounts(report, answer)
        for value in answer.refused:
            refused.append(
                {
                    "number": len(refused),
                    "study_id": report.study_id,
                    "section": value.section,
                    "sent_idx": value.sentence,
                    "column": value.column,
                    "found": value.found,
                    "reason": value.reason,
                }
            )
    return StructuredTables(
        structured_findings=STRUCTURED_FINDINGS.frame(findings),
        sentence_accounts=SENTENCE_ACCOUNTS.frame(accounts),
        refused_values=REFUSED_VALUES.frame(refused),
    )


def _rows_of_accounts(
    report: SectionedReport, answer: StructuredReport
) -> Iterator[dict[str, object]]:
    """Write what became of each sentence."""
    mention_counts = Counter(mention.sentence for mention in answer.mentions)
    readings = zip(report.sentences, answer.readings, strict=True)
    for position, (sentence, reading) in enumerate(readings):
        # Sentences of technique, comparison and the like need no account.
        if sentence.section != "other":
            yield {
                "study_id": report.study_id,
                "section": sentence.section,
                "sent_idx": sentence.number,
                "account": reading.account,
                "reason": reading.reason,
                "rows": mention_counts[position],
            }


def _rows_of_mentions(
    report: SectionedReport, answer: StructuredReport
) -> Iterator[dict[str, object]]:
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
        values = {"ent": (mention.ent,), "location": mention.location}
        values |= mention.attributes
        values = {name: values.get(name, ()) for name in _QUOTED_COLUMNS}
        yield {
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
            "cues": "; ".join(
                f"{use.cue} {use.span.begin}-{use.span.end}" for use in mention.cues
            ),
            **{name: _cell(report.text, spans) for name, spans in values.items()},
        }


def _cell(text: str, spans: Sequence[Span]) -> str:
    # A value may go over the end of a line, a cell has one line.
    pieces = [" ".join(span.of(text).split()) for span in spans]
    return ", ".join(pieces).lower()


# --- the columns `spans` and `cues`, there and back: "ent 0-8; location 12-16 20-24"


def _written_spans(spans_by_column: Mapping[str, Sequence[Span]]) -> str:
    entries: list[str] = []
    for column, spans in spans_by_column.items():
        ranges = [f"{span.begin}-{span.end}" for span in spans]
        if ranges:
            entries.append(" ".join([column, *ranges]))
    return "; ".join(entries)


def read_spans(cell: str) -> dict[str, tuple[Span, ...]]:
    """Read a cell of the column `spans`.

    Returns:
        Column -> characters of its values in the report, in the order of the values.
    """
    spans_by_column: dict[str, tuple[Span, ...]] = {}
    # An empty text, split, would be one empty entry.
    for entry in filter(None, cell.split("; ")):
        column, *ranges = entry.split(" ")
        spans_by_column[column] = tuple(map(_read_span, ranges))
    return spans_by_column


def read_cues(cell: str) -> list[CueUse]:
    """Read a cell of the column `cues`: cues with their characters in the report."""
    uses: list[CueUse] = []
    for entry in filter(None, cell.split("; ")):
        cue, range_ = entry.split(" ")
        uses.append(CueUse(cue, _read_span(range_)))
    return uses


def is_unresolved(cell: str) -> bool:
    """Whether a row, by its cell `cues`, is open by unread words alone."""
    return UNANSWERED in cell


def _read_span(range_: str) -> Span:
    begin, end = range_.split("-")
    return Span(int(begin), int(end))
