"""Answers of structurers as rows, and rows as mentions again.

A cell holds the words of its values, joined by ", ", lower case, on one line; the column `spans` has the
characters of every value in the report, so that nothing has to be found again in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.errors import InvalidTable
from lunguage_assets.structuring.contract import (
    Mention,
    RefusedValue,
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
        self._rows: dict[str, list[object]] = {name: [] for name in STRUCTURED_FINDINGS.names}
        self._accounts: dict[str, list[object]] = {name: [] for name in SENTENCE_ACCOUNTS.names}
        self._refused: dict[str, list[object]] = {name: [] for name in REFUSED_VALUES.names}

    def add(self, reports: Sequence[SectionedReport], answers: Sequence[StructuredReport]) -> None:
        """Take the answers to these reports.

        Raises:
            InvalidTable: an answer does not belong to its report, or a value is not what stands at its span.
        """
        for report, answer in zip(reports, answers, strict=True):
            if report.study_id != answer.study_id or len(report.sentences) != len(answer.readings):
                raise InvalidTable(
                    f"structured_findings, study {report.study_id}: the answer is not of this report"
                )
            self._add_rows(report, answer)
            self._add_accounts(report, answer)
            for refused in answer.refused:
                self._add_refused(report.study_id, refused)

    def tables(self) -> StructuredTables:
        """What was added."""
        return StructuredTables(
            STRUCTURED_FINDINGS.frame(self._rows),
            SENTENCE_ACCOUNTS.frame(self._accounts),
            REFUSED_VALUES.frame(self._refused),
        )

    def _add_rows(self, report: SectionedReport, answer: StructuredReport) -> None:
        numbers: dict[str, int] = {}
        names = []
        for position, _ in answer.mentions:
            section = report.sentences[position].section
            numbers[section] = numbers.get(section, 0) + 1
            names.append(f"{section}:{numbers[section]}")
        for (position, mention), name in zip(answer.mentions, names, strict=True):
            sentence = report.sentences[position]
            if sentence.section not in SECTIONS:
                raise InvalidTable(
                    f"structured_findings, study {report.study_id}: a finding in section {sentence.section}"
                )
            values = _values(mention)
            _require_quotes(report.study_id, sentence, values)
            row = {
                "study_id": report.study_id,
                "section": sentence.section,
                "sent_idx": sentence.number,
                "sent": sentence.text,
                "ent_idx": int(name.split(":")[1]),
                "normed_ent": mention.normed_ent,
                "cat": mention.cat,
                "status": mention.status,
                "evidence": [names[place] for place in mention.evidence],
                "associate": [names[place] for place in mention.associate],
                "spans": _spans_written(values, sentence.span.begin),
                **{column: cell(value.words for value in found) for column, found in values.items()},
            }
            for column, cells in self._rows.items():
                cells.append(row[column])

    def _add_accounts(self, report: SectionedReport, answer: StructuredReport) -> None:
        rows = [0] * len(report.sentences)
        for position, _ in answer.mentions:
            rows[position] += 1
        for sentence, reading, count in zip(report.sentences, answer.readings, rows, strict=True):
            if sentence.section == "other":
                continue
            values = (
                report.study_id,
                sentence.section,
                sentence.number,
                reading.account,
                reading.reason,
                count,
            )
            for column, found in zip(self._accounts.values(), values, strict=True):
                column.append(found)

    def _add_refused(self, study_id: str, refused: RefusedValue) -> None:
        values = (
            len(self._refused["number"]),
            study_id,
            refused.section,
            max(refused.sentence, 0),
            refused.column,
            refused.found[:_SHOWN],
            refused.reason,
        )
        for column, found in zip(self._refused.values(), values, strict=True):
            column.append(found)


def cell(words: Iterator[str] | Sequence[str]) -> str:
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


def mentions(
    structured_findings: pd.DataFrame, reports: Mapping[str, SectionedReport]
) -> dict[str, tuple[tuple[int, Mention], ...]]:
    """Rows as mentions again: study -> (position of the sentence, mention), as `StructuredReport` has them.

    Args:
        structured_findings: rows of the reports, in the order in which they were stored.
        reports: by study id; their sentences are those that the structurer was given.
    """
    rows: dict[str, list[dict[str, object]]] = {}
    for row in structured_findings.to_dict("records"):
        rows.setdefault(str(row["study_id"]), []).append({str(name): value for name, value in row.items()})
    return {study_id: tuple(_mentions_of(own, reports[study_id])) for study_id, own in rows.items()}


def _mentions_of(
    rows: Sequence[Mapping[str, object]], report: SectionedReport
) -> Iterator[tuple[int, Mention]]:
    positions = {(one.section, one.number): place for place, one in enumerate(report.sentences)}
    places = {f"{row['section']}:{row['ent_idx']}": place for place, row in enumerate(rows)}
    for row in rows:
        position = positions[(row["section"], row["sent_idx"])]  # type: ignore[index]
        begin = report.sentences[position].span.begin
        values = {
            column: tuple(
                Value(span.of(report.text), Span(span.begin - begin, span.end - begin)) for span in spans
            )
            for column, spans in read_spans(str(row["spans"])).items()
        }
        yield (
            position,
            Mention(
                values.pop("ent")[0],
                str(row["normed_ent"]),
                str(row["cat"]),
                str(row["status"]),
                values.pop("location", ()),
                values,
                tuple(places[name] for name in row["evidence"]),  # type: ignore[attr-defined]
                tuple(places[name] for name in row["associate"]),  # type: ignore[attr-defined]
            ),
        )


def _values(mention: Mention) -> dict[str, tuple[Value, ...]]:
    given = {"ent": (mention.ent,), "location": mention.location, **mention.attributes}
    return {name: tuple(given.get(name, ())) for name in QUOTED}


def _require_quotes(study_id: str, sentence: Sentence, values: Mapping[str, Sequence[Value]]) -> None:
    for column, own in values.items():
        if any(not value.words or value.span.of(sentence.text) != value.words for value in own):
            raise InvalidTable(
                f"structured_findings, study {study_id}, sentence {sentence.section}:{sentence.number}, "
                f"column {column}: a value is not what stands at its characters. Report this structurer."
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
