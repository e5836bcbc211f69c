"""Tables of a run as the frames of an `Annotation`: the caller's own ids, plain column names, one place for
every value. Nothing of the method is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from lunguage_assets.annotation.method import Outcome
from lunguage_assets.annotation.reading import Read
from lunguage_assets.implicit.rows import BARE, column_values
from lunguage_assets.tables import LUNGUAGE_PLUS_PLUS
from lunguage_assets.tables.annotation import (
    LEFT_OUT,
    READ_CONFLICTS,
    READ_FINDINGS,
    READ_LABELS,
    READ_SENTENCES,
    READ_SPANS,
)
from lunguage_assets.tables.schema import Table

PHRASE = "phrase"
"""Column of READ_SPANS for the words of a hedging phrase."""

_RENAMED = {"p": "prob", "place": "location", "p_is_bound": "prob_is_bound"}
_SOURCES = {"original": "stated", "expansion": "implied"}
_SPAN = re.compile(r"(\d+)-(\d+)")
_ROW_IDS = frozenset({"finding_id", "parent_id", "root_id", "survivor_id"})
_LISTS_OF_IDS = frozenset({"evidence", "associate", "merged_ids", "finding_ids", "kept_ids"})


@dataclass(frozen=True)
class Names:
    """What the caller calls the reports and their rows, which the method numbers through all reports.

    Args:
        of_study: the caller's name, by the study id that the method gave the report.
        first_row: the number of the study's first row; rows of a report are numbered from 1 for the caller,
            so that they do not depend on the reports beside it.
    """

    of_study: Mapping[str, str]
    first_row: Mapping[str, int]

    @classmethod
    def of(cls, names: Mapping[str, str], finding_ids: Iterable[str]) -> Names:
        first: dict[str, int] = {}
        for own in finding_ids:
            study, _, number = own.partition(":")
            first[study] = min(first.get(study, int(number)), int(number))
        return cls(names, first)

    def studies(self, ids: Iterable[str]) -> list[str]:
        return [self.of_study[study] for study in ids]

    def row(self, finding_id: str | None) -> str | None:
        """A row's id with the caller's name of the report; bare names of references stay."""
        if finding_id is None or finding_id.startswith(BARE):
            return finding_id
        study, _, number = finding_id.partition(":")
        number, slash, edges = number.partition("/")
        return f"{self.of_study[study]}:{int(number) - self.first_row[study] + 1}{slash}{edges}"

    def frame(self, table: Table, columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """The table with all its ids renamed."""
        named: dict[str, Sequence[Any]] = {}
        for name, values in columns.items():
            if name == "study_id":
                named[name] = self.studies(values)
            elif name in _ROW_IDS:
                named[name] = [self.row(value) for value in values]
            elif name in _LISTS_OF_IDS:
                named[name] = [[self.row(value) for value in listed] for listed in values]
            else:
                named[name] = values
        return table.frame(named)


def findings_frame(outcome: Outcome, names: Names) -> pd.DataFrame:
    """READ_FINDINGS, in the order of LUNGUAGE_PLUS_PLUS."""
    rows = outcome.resolution.rows
    stored = set(LUNGUAGE_PLUS_PLUS.names)
    columns: dict[str, Sequence[Any]] = {
        name: column_values(rows, _RENAMED.get(name, name))
        for name in READ_FINDINGS.names
        if _RENAMED.get(name, name) in stored
    }
    phrases = _phrases(outcome)
    implied_by = _values_by_row(outcome.expansion.expansions, "parent_pathway_id")
    ids = columns["finding_id"]
    columns["source"] = [_SOURCES[source] for source in columns["source"]]
    columns["phrase"] = ["; ".join(phrases.get(own, ())) for own in ids]
    columns["implied_by"] = [implied_by.get(own, "") for own in ids]
    return names.frame(READ_FINDINGS, columns)


def left_out_frame(findings: pd.DataFrame, outcome: Outcome, names: Names) -> pd.DataFrame:
    """LEFT_OUT: the resolution log without lost references, with the words of the rows."""
    log = outcome.resolution.log
    log = log[(log["event"] != "reference lost").to_numpy(dtype=bool)]
    wanted = {"section": "section", "sent_idx": "sent_idx", "ent": "ent", "place": "location"}
    columns: dict[str, Sequence[Any]] = {
        name: column_values(log, name) for name in LEFT_OUT.names if name not in wanted
    }
    columns["source"] = [_SOURCES[source] for source in columns["source"]]
    for name, stored in wanted.items():
        known = _values_by_row(findings, stored) | _values_by_row(outcome.expansion.expansions, stored)
        columns[name] = [known[own] for own in columns["finding_id"]]
    return names.frame(LEFT_OUT, columns)


def conflicts_frame(outcome: Outcome, names: Names) -> pd.DataFrame:
    """READ_CONFLICTS, with the rows of each that are left."""
    conflicts = outcome.resolution.conflicts
    living = set(outcome.resolution.rows["finding_id"].tolist())
    columns: dict[str, Sequence[Any]] = {
        name: column_values(conflicts, name) for name in READ_CONFLICTS.names if name != "kept_ids"
    }
    columns["kept_ids"] = [[own for own in listed if own in living] for listed in columns["finding_ids"]]
    return names.frame(READ_CONFLICTS, columns)


def labels_frame(outcome: Outcome, names: Names) -> pd.DataFrame:
    """READ_LABELS."""
    return names.frame(
        READ_LABELS, {name: column_values(outcome.labels, name) for name in READ_LABELS.names}
    )


def sentences_frame(sentences: pd.DataFrame, accounts: pd.DataFrame, names: Names) -> pd.DataFrame:
    """READ_SENTENCES from REPORT_SENTENCES and SENTENCE_ACCOUNTS; what has no account states no finding."""
    key = ("study_id", "section", "sent_idx")
    told = dict(
        zip(
            zip(*(accounts[name].tolist() for name in key), strict=True),
            zip(accounts["account"].tolist(), accounts["reason"].tolist(), strict=True),
            strict=True,
        )
    )
    columns: dict[str, Sequence[Any]] = {
        name: sentences[name].tolist() for name in READ_SENTENCES.names if name not in ("account", "reason")
    }
    found = [
        told.get(place, ("nothing stated", "")) for place in zip(*(columns[name] for name in key), strict=True)
    ]
    columns["account"], columns["reason"] = [account for account, _ in found], [reason for _, reason in found]
    return names.frame(READ_SENTENCES, columns)


def spans_frame(found: Read, outcome: Outcome, names: Names) -> pd.DataFrame:
    """READ_SPANS: the spans of the structured rows, and those of the hedging phrases of their sentences."""
    structured, findings, sentences = found.structured, found.intake.findings, found.sentences
    texts = dict(zip(found.texts["study_id"].tolist(), found.texts["report"].tolist(), strict=True))
    place = ("study_id", "section", "ent_idx")
    spans = dict(
        zip(zip(*(structured[name].tolist() for name in place), strict=True), structured["spans"], strict=True)
    )
    begins = dict(
        zip(
            zip(*(sentences[name].tolist() for name in ("study_id", "section", "sent_idx")), strict=True),
            sentences["begin"].tolist(),
            strict=True,
        )
    )
    phrases = _phrases(outcome)
    rows: list[tuple[str, str, str, str, str, int, int]] = []
    read = ("finding_id", "study_id", "section", "status", "sent_idx", "ent_idx", "sent")
    for own, study, section, status, sent_idx, ent_idx, sent in zip(
        *(findings[name].tolist() for name in read), strict=True
    ):
        ent = 0
        for column, begin, end in written_spans(spans.get((study, section, ent_idx), "")):
            ent = begin if column == "ent" else ent
            rows.append((study, own, section, status, column, begin, end))
        first = begins.get((study, section, sent_idx), 0)
        for phrase in phrases.get(own, ()):
            rows += [
                (study, own, section, status, PHRASE, first + begin, first + end)
                for begin, end in nearest(phrase, sent, ent - first)
            ]
    columns: dict[str, Sequence[Any]] = {
        name: [row[number] for row in rows]
        for number, name in enumerate(("study_id", "finding_id", "section", "status", "column", "begin", "end"))
    }
    columns["words"] = [texts[row[0]][row[5] : row[6]] for row in rows]
    return names.frame(READ_SPANS, columns)


def written_spans(cell: str) -> Iterable[tuple[str, int, int]]:
    """(column, begin, end) of every part of a `spans` cell of STRUCTURED_FINDINGS."""
    for value in cell.split("; ") if cell else ():
        column, parts = value.split(" ", 1)
        for begin, end in _SPAN.findall(parts):
            yield column, int(begin), int(end)


def nearest(phrase: str, sentence: str, place: int) -> list[tuple[int, int]]:
    """Where the sentence has the phrase in whole words, nearest to a character; nothing when it has not."""
    found = [match.span() for match in _words(phrase).finditer(sentence)]
    return [min(found, key=lambda span: (abs(span[0] - place), span[0]))] if found else []


@lru_cache(maxsize=4096)
def _words(phrase: str) -> re.Pattern[str]:
    return re.compile(
        r"(?<!\w)" + r"\s+".join(re.escape(word) for word in phrase.split()) + r"(?!\w)", re.IGNORECASE
    )


def _phrases(outcome: Outcome) -> dict[str, tuple[str, ...]]:
    """Hedging phrases of every tentative row."""
    return {own: tuple(phrases) for own, phrases in _values_by_row(outcome.hedges, "phrases").items()}


def _values_by_row(frame: pd.DataFrame, name: str) -> dict[str, Any]:
    return dict(zip(frame["finding_id"].tolist(), column_values(frame, name), strict=True))
