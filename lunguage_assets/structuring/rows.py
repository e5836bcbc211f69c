"""Answers of structurers as rows.

A cell holds the words of its values, joined by ", ", lower case, on one line; the column `spans` has the
characters of every value in the report, so that nothing has to be found again in the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.errors import InvalidTable
from lunguage_assets.structuring.contract import SectionedReport, Sentence, Span, StructuredReport, Value
from lunguage_assets.tables import (
    ATTRIBUTES,
    REFUSED_VALUES,
    SECTIONS,
    SENTENCE_ACCOUNTS,
    STRUCTURED_FINDINGS,
    Table,
)

QUOTED = ("ent", "location", *ATTRIBUTES)
"""Columns whose values are words of the report, in the order in which `spans` names them."""

_SHOWN = 80


@dataclass(frozen=True)
class StructuredTables:
    """`tables.STRUCTURED_FINDINGS`, `SENTENCE_ACCOUNTS` and `REFUSED_VALUES` of one structurer and batch."""

    structured_findings: pd.DataFrame
    sentence_accounts: pd.DataFrame
    refused_values: pd.DataFrame


def structured_tables(
    reports: Sequence[SectionedReport], answers: Sequence[StructuredReport]
) -> StructuredTables:
    """The tables of a structurer's answers to these reports.

    Raises:
        InvalidTable: an answer does not belong to its report, or a value is not what stands at its span.
    """
    rows, accounts, refused = list[Sequence[object]](), list[Sequence[object]](), list[Sequence[object]]()
    for report, answer in zip(reports, answers, strict=True):
        study = report.study_id
        if study != answer.study_id or len(report.sentences) != len(answer.readings):
            raise InvalidTable(f"structured_findings, study {study}: the answer is not of this report")
        rows += _rows(report, answer)
        stated = Counter(position for position, _ in answer.mentions)
        for position, (one, read) in enumerate(zip(report.sentences, answer.readings, strict=True)):
            if one.section != "other":
                account = (study, one.section, one.number, read.account, read.reason, stated[position])
                accounts.append(account)
        for value in answer.refused:
            place = (value.section, max(value.sentence, 0), value.column)
            refused.append((len(refused), study, *place, value.found[:_SHOWN], value.reason))
    return StructuredTables(
        _frame(STRUCTURED_FINDINGS, rows),
        _frame(SENTENCE_ACCOUNTS, accounts),
        _frame(REFUSED_VALUES, refused),
    )


def _frame(table: Table, rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in table.names)
    return table.frame(dict(zip(table.names, columns, strict=True)))


def _rows(report: SectionedReport, answer: StructuredReport) -> Iterator[Sequence[object]]:
    counts, numbers = Counter[str](), list[int]()
    sections = [report.sentences[position].section for position, _ in answer.mentions]
    for section in sections:
        counts[section] += 1
        numbers.append(counts[section])
    names = [f"{section}:{number}" for section, number in zip(sections, numbers, strict=True)]
    for (position, mention), section, number in zip(answer.mentions, sections, numbers, strict=True):
        sentence = report.sentences[position]
        if section not in SECTIONS:
            raise InvalidTable(
                f"structured_findings, study {report.study_id}: a finding in section {section}"
            )
        given = {"ent": (mention.ent,), "location": mention.location, **mention.attributes}
        values = {name: tuple(given.get(name, ())) for name in QUOTED}
        row = {
            "study_id": report.study_id,
            "section": section,
            "sent_idx": sentence.number,
            "sent": sentence.text,
            "ent_idx": number,
            "normed_ent": mention.normed_ent,
            "cat": mention.cat,
            "status": mention.status,
            "evidence": [names[place] for place in mention.evidence],
            "associate": [names[place] for place in mention.associate],
            "spans": _spans_written(report, sentence, values),
            **{column: _cell(value.words for value in found) for column, found in values.items()},
        }
        yield [row[column] for column in STRUCTURED_FINDINGS.names]


def _cell(words: Iterable[str]) -> str:
    """Words of values as they stand in a cell."""
    return ", ".join(" ".join(part.split()) for part in words).lower()


def read_spans(written: str) -> dict[str, tuple[Span, ...]]:
    """The column `spans`: column -> characters of its values in the report, in the order of the values."""
    found = {}
    for part in written.split("; ") if written else ():
        column, *spans = part.split(" ")
        found[column] = tuple(Span(*map(int, span.split("-"))) for span in spans)
    return found


def _spans_written(report: SectionedReport, sentence: Sentence, values: Mapping[str, Sequence[Value]]) -> str:
    written = []
    for column, own in values.items():
        spans = []
        for value in own:
            begin, end = (sentence.span.begin + place for place in (value.span.begin, value.span.end))
            if begin < 0 or not value.words or report.text[begin:end] != value.words:
                raise InvalidTable(
                    f"structured_findings, study {report.study_id}, sentence {sentence.section}:"
                    f"{sentence.number}, column {column}: a value is not what stands at its characters. "
                    "Report this structurer."
                )
            spans.append(f" {begin}-{end}")
        written += [column + "".join(spans)] if spans else []
    return "; ".join(written)
