"""The tables of the reading: reports and their sentences, there and back, and the answers of structurers.

A cell holds the words of its values, joined by ", ", lower case, on one line; the column `spans` has the
characters of every value in the report, so that nothing has to be found again in the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from lunguage_assets.corpus.log import IntakeLog
from lunguage_assets.corpus.texts.receiving import Received
from lunguage_assets.parallel import joined, map_studies
from lunguage_assets.structuring.contract import (
    SectionedReport,
    Sentence,
    Span,
    StructuredReport,
    Structurer,
)
from lunguage_assets.structuring.text.read import sectioned
from lunguage_assets.tables import ATTRIBUTES, STRUCTURED_FINDINGS, Table
from lunguage_assets.tables.corpus import (
    REFUSED_VALUES,
    REPORT_SENTENCES,
    SENTENCE_ACCOUNTS,
)

_COLUMNS, _VALUES = STRUCTURED_FINDINGS.names, ("ent", "location", *ATTRIBUTES)
IN_TEXT = "report text"
"""`view_source` of views that a report's own text names."""


@dataclass(frozen=True)
class ReportsRead:
    """Reports of a batch: `tables.REPORT_TEXTS`, `REPORT_SENTENCES`, `REJECTED_REPORTS`, `READING_NOTES`."""

    report_texts: pd.DataFrame
    report_sentences: pd.DataFrame
    rejected_reports: pd.DataFrame
    reading_notes: pd.DataFrame


def read_reports(received: Received, processes: int | None = 1) -> ReportsRead:
    """Cut reports into sentences, and note what is odd; views of the text count where none are known.
    `processes`: as in `parallel.map_studies`.
    """
    log = IntakeLog.of(received.rejected, received.intake_notes)
    texts = received.report_texts
    cut = map_studies(
        _cut, (texts[["study_id", "report"]],), tuple, processes=processes
    )
    views, sources = texts["view_information"].tolist(), texts["view_source"].tolist()
    found = (one for of_chunk, _ in cut for one in of_chunk)
    named = zip(
        *(texts[name].tolist() for name in ("study_id", "file", "line")),
        found,
        strict=True,
    )
    for place, (study_id, file, line, (in_text, notes)) in enumerate(named):
        if not views[place] and in_text:
            views[place], sources[place] = in_text, IN_TEXT
        for reason in notes:
            log.note(reason, file, line=line, study_id=study_id)
    texts = texts.assign(
        view_information=pd.array(views, dtype="str"),
        view_source=pd.array(sources, dtype="str"),
    )
    sentences = joined([of_chunk for _, of_chunk in cut])
    return ReportsRead(texts, sentences, log.rejected_frame(), log.notes_frame())


def _cut(texts: pd.DataFrame) -> tuple[list[tuple[str, tuple[str, ...]]], pd.DataFrame]:
    """Views and notes of every report, and `tables.REPORT_SENTENCES`."""
    found = [
        sectioned(*one)
        for one in zip(
            texts["study_id"].tolist(), texts["report"].tolist(), strict=True
        )
    ]
    rows = [
        (one.study_id, s.section, s.number, s.heading, *s.span, s.text)
        for one in found
        for s in one.sentences
    ]
    return [(one.views, one.notes) for one in found], _frame(REPORT_SENTENCES, rows)


def sectioned_reports(
    report_texts: pd.DataFrame, report_sentences: pd.DataFrame
) -> Iterator[SectionedReport]:
    """Reports as structurers get them, back from the tables, in the order of `report_texts`."""
    sentences: dict[str, list[Sentence]] = {}
    columns = (report_sentences[name].tolist() for name in REPORT_SENTENCES.names)
    for study_id, section, number, heading, begin, end, text in zip(
        *columns, strict=True
    ):
        sentences.setdefault(study_id, []).append(
            Sentence(section, number, Span(begin, end), text, heading)
        )
    named = (
        report_texts[name].tolist()
        for name in ("study_id", "report", "view_information")
    )
    for study_id, report, views in zip(*named, strict=True):
        own = sorted(sentences.get(study_id, ()), key=lambda sentence: sentence.span)
        yield SectionedReport(study_id, report, tuple(own), views)


class StructuredTables(NamedTuple):
    """`tables.STRUCTURED_FINDINGS`, `SENTENCE_ACCOUNTS` and `REFUSED_VALUES` of one structurer and batch."""

    structured_findings: pd.DataFrame
    sentence_accounts: pd.DataFrame
    refused_values: pd.DataFrame


def structured_reports(
    report_texts: pd.DataFrame, report_sentences: pd.DataFrame, structurer: Structurer
) -> StructuredTables:
    """The tables of what a structurer reads in the reports."""
    reports = list(sectioned_reports(report_texts, report_sentences))
    return structured_tables(reports, structurer.structure(reports))


def structured_tables(
    reports: Sequence[SectionedReport], answers: Sequence[StructuredReport]
) -> StructuredTables:
    """The tables of a structurer's answers to these reports."""
    rows, accounts, refused = (
        list[Sequence[object]](),
        list[Sequence[object]](),
        list[Sequence[object]](),
    )
    for report, answer in zip(reports, answers, strict=True):
        study = report.study_id
        rows += _rows(report, answer)
        stated = Counter(mention.sentence for mention in answer.mentions)
        for position, (one, read) in enumerate(
            zip(report.sentences, answer.readings, strict=True)
        ):
            if one.section != "other":
                account = (
                    study,
                    one.section,
                    one.number,
                    read.account,
                    read.reason,
                    stated[position],
                )
                accounts.append(account)
        for value in answer.refused:
            where = (value.section, value.sentence, value.column)
            refused.append((len(refused), study, *where, value.found, value.reason))
    made = (
        (STRUCTURED_FINDINGS, rows),
        (SENTENCE_ACCOUNTS, accounts),
        (REFUSED_VALUES, refused),
    )
    return StructuredTables(*(_frame(table, own) for table, own in made))


def _frame(table: Table, rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in table.names)
    return table.frame(dict(zip(table.names, columns, strict=True)))


def _rows(
    report: SectionedReport, answer: StructuredReport
) -> Iterator[Sequence[object]]:
    counts, numbers = Counter[str](), list[int]()
    sentences = [report.sentences[mention.sentence] for mention in answer.mentions]
    for sentence in sentences:
        counts[sentence.section] += 1
        numbers.append(counts[sentence.section])
    names = [
        f"{one.section}:{number}"
        for one, number in zip(sentences, numbers, strict=True)
    ]
    for mention, sentence, number in zip(
        answer.mentions, sentences, numbers, strict=True
    ):
        given = {
            "ent": (mention.ent,),
            "location": mention.location,
            **mention.attributes,
        }
        values = {column: given[column] for column in _VALUES if given.get(column)}
        quoted = [
            " ".join([column, *(f"{a}-{b}" for a, b in own)])
            for column, own in values.items()
        ]
        row = {
            "study_id": report.study_id,
            "section": sentence.section,
            "sent_idx": sentence.number,
            "sent": sentence.text,
            "ent_idx": number,
            "normed_ent": mention.normed_ent,
            "cat": mention.cat,
            "status": mention.status,
            "evidence": [names[place] for place in mention.evidence],
            "associate": [names[place] for place in mention.associate],
            "spans": "; ".join(quoted),
            "cues": "; ".join(
                f"{use.cue} {use.span.begin}-{use.span.end}" for use in mention.cues
            ),
            **{column: _cell(report.text, own) for column, own in values.items()},
        }
        yield [row.get(column, "") for column in _COLUMNS]


def _cell(text: str, spans: Sequence[Span]) -> str:
    return ", ".join(" ".join(span.of(text).split()) for span in spans).lower()


def read_cues(written: str) -> list[tuple[str, Span]]:
    """The column `cues`: ids of cues with their characters in the report, in the order of the column."""
    found = []
    for part in written.split("; ") if written else ():
        cue, characters = part.split(" ")
        begin, end = map(int, characters.split("-"))
        found.append((cue, Span(begin, end)))
    return found


def read_spans(written: str) -> dict[str, tuple[Span, ...]]:
    """The column `spans`: column -> characters of its values in the report, in the order of the values."""
    found = {}
    for part in written.split("; ") if written else ():
        column, *spans = part.split(" ")
        found[column] = tuple(Span(*map(int, span.split("-"))) for span in spans)
    return found
