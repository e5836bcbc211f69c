"""Tables of the reading: reports, sentences, and the answers of structurers.

A cell holds the words of its values, joined by ", ", lower case, on one line. The
column `spans` has the characters of every value in the report, so that nothing has to
be found again in the text.

How a text is cut is decided in `text/`, what a sentence states by a structurer; the
columns are declared in `tables/corpus.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.structuring.contract import (
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
from lunguage_assets.tables.values import values_of

IN_TEXT = "report text"
"""`view_source` of views that a report's own text names."""
_COLUMNS_WITH_SPANS = ("ent", "location", *ATTRIBUTES)
"""Columns of a row whose words stand in the report, in the order of `spans`."""


# --- reports to sentences


class ReportsRead(NamedTuple):
    """The tables of a batch of reports, named as in `tables`."""

    report_texts: pd.DataFrame
    report_sentences: pd.DataFrame
    rejected_reports: pd.DataFrame
    reading_notes: pd.DataFrame


def read_reports(received: Received, processes: int | None = 1) -> ReportsRead:
    """Cut reports into sentences, and note what is odd.

    Views that a text names count where none were delivered.

    Args:
        received: the reports of a delivery.
        processes: as in `parallel.map_studies`.
    """
    log = IntakeLog(received.rejected, received.intake_notes)
    texts = received.report_texts
    chunks = map_studies(
        _cut, (texts[["study_id", "report"]],), tuple, processes=processes
    )
    cut, sentences = map(joined, zip(*chunks, strict=True))
    texts = texts.merge(cut, on="study_id", how="left", validate="1:1")
    noted = texts[["study_id", "file", "line", "notes"]].explode("notes").dropna()
    log.note(noted["notes"], noted)
    # Delivered views, as of the metadata of images, are known; those of the text are
    # only inferred from its words.
    is_inferred = (texts["view_information"] == "") & (texts["named_views"] != "")
    texts.loc[is_inferred, "view_information"] = texts["named_views"]
    texts.loc[is_inferred, "view_source"] = IN_TEXT
    return ReportsRead(
        texts[received.report_texts.columns],
        sentences,
        log.rejected_frame(),
        log.notes_frame(),
    )


def _cut(texts: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cut reports.

    Returns:
        Views and notes of each report, and `tables.REPORT_SENTENCES` of all.
    """
    reports = [cut_report(*report) for report in values_of(texts, "study_id", "report")]
    rows = [
        _key_of(report, sentence)
        | {"heading": sentence.heading, "sent": sentence.text}
        | sentence.span._asdict()
        for report in reports
        for sentence in report.sentences
    ]
    cut = [(report.study_id, report.views, report.notes) for report in reports]
    columns = ["study_id", "named_views", "notes"]
    return pd.DataFrame(cut, columns=columns), REPORT_SENTENCES.frame(rows)


def sectioned_reports(
    report_texts: pd.DataFrame, report_sentences: pd.DataFrame
) -> Iterator[SectionedReport]:
    """Read reports back from the tables, as structurers get them.

    Yields:
        In the order of `report_texts`.
    """
    sentences_by_study: dict[str, list[Sentence]] = {}
    # A structurer needs the order of the text ("It is unchanged" speaks of the sentence
    # before); a table may be sorted by section.
    ordered = report_sentences.sort_values("begin", kind="stable")
    columns = ("study_id", "section", "sent_idx", "begin", "end", "sent", "heading")
    for study, section, number, begin, end, *texts in values_of(ordered, *columns):
        sentence = Sentence(section, number, Span(begin, end), *texts)
        sentences_by_study.setdefault(study, []).append(sentence)
    for study, text, views in values_of(
        report_texts, "study_id", "report", "view_information"
    ):
        sentences = tuple(sentences_by_study.get(study, ()))
        yield SectionedReport(study, text, sentences, views)


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
        row_counts = Counter(mention.sentence for mention in answer.mentions)
        for position, reading in enumerate(answer.readings):
            sentence = report.sentences[position]
            # Sentences of technique, comparison and the like need no account.
            if sentence.section != "other":
                account = {
                    "account": reading.account,
                    "reason": reading.reason,
                    "rows": row_counts[position],
                }
                accounts.append(_key_of(report, sentence) | account)
        for value in answer.refused:
            number = {"number": len(refused), "study_id": report.study_id}
            refused.append(number | asdict(value))
    return StructuredTables(
        structured_findings=STRUCTURED_FINDINGS.frame(findings),
        sentence_accounts=SENTENCE_ACCOUNTS.frame(accounts),
        refused_values=REFUSED_VALUES.frame(refused),
    )


def _key_of(report: SectionedReport, sentence: Sentence) -> dict[str, Any]:
    return {
        "study_id": report.study_id,
        "section": sentence.section,
        "sent_idx": sentence.number,
    }


def _rows_of_mentions(
    report: SectionedReport, answer: StructuredReport
) -> Iterator[dict[str, object]]:
    """Write the mentions of a report, numbered by section."""
    # All keys first: a mention may refer to one that stands behind it.
    keys: list[str] = []
    counts: Counter[str] = Counter()
    for mention in answer.mentions:
        section = report.sentences[mention.sentence].section
        counts[section] += 1
        keys.append(f"{section}:{counts[section]}")
    for key, mention in zip(keys, answer.mentions, strict=True):
        sentence = report.sentences[mention.sentence]
        spans_by_column = {"ent": (mention.ent,), "location": mention.location}
        spans_by_column |= mention.attributes
        ranges: list[str] = []
        row: dict[str, Any] = dict.fromkeys(_COLUMNS_WITH_SPANS, "")
        # Most columns have none.
        for column in filter(spans_by_column.get, _COLUMNS_WITH_SPANS):
            spans = spans_by_column[column]
            row[column] = _cell(report.text, spans)
            ranges.append(" ".join([column, *map(_written, spans)]))
        row.update(
            study_id=report.study_id,
            section=sentence.section,
            sent_idx=sentence.number,
            sent=sentence.text,
            ent_idx=int(key.partition(":")[2]),
            normed_ent=mention.normed_ent,
            cat=mention.cat,
            status=mention.status,
            evidence=[keys[position] for position in mention.evidence],
            associate=[keys[position] for position in mention.associate],
            spans="; ".join(ranges),
            cues="; ".join([f"{use.cue} {_written(use.span)}" for use in mention.cues]),
        )
        yield row


def _cell(text: str, spans: Sequence[Span]) -> str:
    # A value may go over the end of a line, a cell has one line.
    pieces = [" ".join(span.of(text).split()) for span in spans]
    return ", ".join(pieces).lower()


# --- the columns `spans` and `cues`, there and back: "ent 0-8; location 12-16 20-24"


def _written(span: Span) -> str:
    return f"{span.begin}-{span.end}"


def _read_span(range_text: str) -> Span:
    return Span(*map(int, range_text.split("-")))


def read_spans(cell: str) -> dict[str, tuple[Span, ...]]:
    """Read a cell of the column `spans`.

    Returns:
        Column -> characters of its values in the report, in the order of the values.
    """
    spans_by_column: dict[str, tuple[Span, ...]] = {}
    for entry in cell.split("; "):
        column, *ranges = entry.split(" ")
        spans_by_column[column] = tuple(map(_read_span, ranges))
    return spans_by_column


def read_cues(cell: str) -> list[CueUse]:
    """Read a cell of the column `cues`: cues with their characters in the report."""
    entries = [entry.split(" ") for entry in cell.split("; ") if entry]
    return [CueUse(cue, _read_span(range_text)) for cue, range_text in entries]
