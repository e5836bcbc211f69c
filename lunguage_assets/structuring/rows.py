"""Answers of structurers as rows.

A cell holds the words of its values, joined by ", ", lower case, on one line; the column `spans` has the
characters of every value in the report, so that nothing has to be found again in the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.errors import InvalidTable
from lunguage_assets.structuring.contract import (
    Mention,
    SectionedReport,
    Sentence,
    Span,
    StructuredReport,
    Value,
)
from lunguage_assets.tables import (
    ATTRIBUTES,
    REFUSED_VALUES,
    SECTIONS,
    SENTENCE_ACCOUNTS,
    STRUCTURED_FINDINGS,
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
    rows, accounts, refused = (
        {name: list[object]() for name in table.names}
        for table in (STRUCTURED_FINDINGS, SENTENCE_ACCOUNTS, REFUSED_VALUES)
    )
    for report, answer in zip(reports, answers, strict=True):
        study = report.study_id
        if study != answer.study_id or len(report.sentences) != len(answer.readings):
            raise InvalidTable(f"structured_findings, study {study}: the answer is not of this report")
        _add_rows(rows, report, answer)
        stated = Counter(position for position, _ in answer.mentions)
        for position, (one, read) in enumerate(zip(report.sentences, answer.readings, strict=True)):
            if one.section != "other":
                account = (study, one.section, one.number, read.account, read.reason, stated[position])
                _append(accounts, account)
        for value in answer.refused:
            place = (value.section, max(value.sentence, 0), value.column)
            shown = value.found[:_SHOWN]
            _append(refused, (len(refused["number"]), study, *place, shown, value.reason))
    return StructuredTables(
        STRUCTURED_FINDINGS.frame(rows), SENTENCE_ACCOUNTS.frame(accounts), REFUSED_VALUES.frame(refused)
    )


def _add_rows(rows: Mapping[str, list[object]], report: SectionedReport, answer: StructuredReport) -> None:
    counts = Counter[str]()
    numbers = []
    for position, _ in answer.mentions:
        section = report.sentences[position].section
        counts[section] += 1
        numbers.append((section, counts[section]))
    names = [f"{section}:{number}" for section, number in numbers]
    for (position, mention), (section, number) in zip(answer.mentions, numbers, strict=True):
        sentence = report.sentences[position]
        if section not in SECTIONS:
            raise InvalidTable(
                f"structured_findings, study {report.study_id}: a finding in section {section}"
            )
        values = _values(mention)
        _require_quotes(report, sentence, values)
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
            "spans": _spans_written(values, sentence.span.begin),
            **{column: cell(value.words for value in found) for column, found in values.items()},
        }
        _append(rows, [row[column] for column in rows])


def _append(columns: Mapping[str, list[object]], values: Iterable[object]) -> None:
    for column, value in zip(columns.values(), values, strict=True):
        column.append(value)


def cell(words: Iterable[str]) -> str:
    """Words of values as they stand in a cell."""
    return ", ".join(" ".join(part.split()) for part in words).lower()


def read_spans(written: str) -> dict[str, tuple[Span, ...]]:
    """The column `spans`: column -> characters of its values in the report, in the order of the values."""
    found = {}
    for part in written.split("; ") if written else ():
        column, *spans = part.split(" ")
        found[column] = tuple(Span(*map(int, span.split("-"))) for span in spans)
    return found


def _values(mention: Mention) -> dict[str, tuple[Value, ...]]:
    given = {"ent": (mention.ent,), "location": mention.location, **mention.attributes}
    return {name: tuple(given.get(name, ())) for name in QUOTED}


def _require_quotes(
    report: SectionedReport, sentence: Sentence, values: Mapping[str, Sequence[Value]]
) -> None:
    begin = sentence.span.begin
    for column, own in values.items():
        spans = [(begin + value.span.begin, begin + value.span.end, value.words) for value in own]
        if any(first < 0 or not words or report.text[first:last] != words for first, last, words in spans):
            raise InvalidTable(
                f"structured_findings, study {report.study_id}, sentence {sentence.section}:"
                f"{sentence.number}, column {column}: a value is not what stands at its characters. "
                "Report this structurer."
            )


def _spans_written(values: Mapping[str, Sequence[Value]], begin: int) -> str:
    return "; ".join(
        f"{column} " + " ".join(f"{begin + value.span.begin}-{begin + value.span.end}" for value in own)
        for column, own in values.items()
        if own
    )
