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
_STATED = ("find", "impr")


@dataclass(frozen=True)
class StructuredTables:
    """`tables.STRUCTURED_FINDINGS`, `SENTENCE_ACCOUNTS` and `REFUSED_VALUES` of one structurer and batch."""

    structured_findings: pd.DataFrame
    sentence_accounts: pd.DataFrame
    refused_values: pd.DataFrame


class StructuredRows:
    """Collects the answers of a structurer, as many at a time as there are."""

    def __init__(self) -> None:
        self._rows, self._accounts, self._refused = (
            {name: list[object]() for name in table.names}
            for table in (STRUCTURED_FINDINGS, SENTENCE_ACCOUNTS, REFUSED_VALUES)
        )

    def add(self, reports: Sequence[SectionedReport], answers: Sequence[StructuredReport]) -> None:
        """Take the answers to these reports.

        Raises:
            InvalidTable: an answer does not belong to its report, or a value is not what stands at its span.
        """
        for report, answer in zip(reports, answers, strict=True):
            study = report.study_id
            if study != answer.study_id or len(report.sentences) != len(answer.readings):
                raise InvalidTable(f"structured_findings, study {study}: the answer is not of this report")
            self._add_rows(report, answer)
            rows = Counter(position for position, _ in answer.mentions)
            for position, (one, read) in enumerate(zip(report.sentences, answer.readings, strict=True)):
                if one.section != "other":
                    account = (study, one.section, one.number, read.account, read.reason, rows[position])
                    _append(self._accounts, account)
            for value in answer.refused:
                place = (value.section, max(value.sentence, 0), value.column)
                number = len(self._refused["number"])
                _append(self._refused, (number, study, *place, value.found[:_SHOWN], value.reason))

    def tables(self) -> StructuredTables:
        """What was added."""
        return StructuredTables(
            STRUCTURED_FINDINGS.frame(self._rows),
            SENTENCE_ACCOUNTS.frame(self._accounts),
            REFUSED_VALUES.frame(self._refused),
        )

    def _add_rows(self, report: SectionedReport, answer: StructuredReport) -> None:
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
            _append(self._rows, [row[column] for column in self._rows])


def _append(columns: Mapping[str, list[object]], values: Iterable[object]) -> None:
    for column, value in zip(columns.values(), values, strict=True):
        column.append(value)


def cell(words: Iterable[str]) -> str:
    """Words of values as they stand in a cell."""
    return ", ".join(" ".join(part.split()) for part in words).lower()


def unquoted(structured_findings: pd.DataFrame, report_texts: pd.DataFrame) -> list[tuple[str, str, int]]:
    """Study, section and number of the rows of which a cell is not what stands at its spans."""
    texts = dict(zip(report_texts["study_id"].tolist(), report_texts["report"].tolist(), strict=True))
    columns = {name: structured_findings[name].tolist() for name in STRUCTURED_FINDINGS.names}
    found = []
    for at, (study_id, written) in enumerate(zip(columns["study_id"], columns["spans"], strict=True)):
        text, places = texts.get(study_id, ""), read_spans(written)
        quoted = {name: cell([span.of(text) for span in places.get(name, ())]) for name in QUOTED}
        outside = any(
            span.end > len(text) or span.begin >= span.end for own in places.values() for span in own
        )
        if outside or any(quoted[name] != columns[name][at] for name in QUOTED):
            found.append((study_id, columns["section"][at], columns["ent_idx"][at]))
    return found


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


def without_account(
    sentence_accounts: pd.DataFrame, report_sentences: pd.DataFrame
) -> list[tuple[str, str, int]]:
    """Study, section and number of the sentences of findings and impression without an account."""
    key = ["study_id", "section", "sent_idx"]
    stated = report_sentences[report_sentences["section"].isin(_STATED)]
    counted = set(sentence_accounts[key].itertuples(index=False, name=None))
    return [place for place in stated[key].itertuples(index=False, name=None) if place not in counted]
