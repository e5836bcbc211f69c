"""Findings as plain objects for the work between two frames, and the words of their cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import chain, repeat
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.caches import remembered
from lunguage_assets.tables import ATTRIBUTES, SECTIONS
from lunguage_assets.tables.schema import Table

CLAIM_DECIMALS = 12

PAPER = "paper"
"""The mode that follows the paper where the method departs from it (implicit.md section 6)."""

BARE = "~"
"""First character of a reference that is a bare name and resolves to no row."""

POSITIVE = frozenset({"dp", "tp"})
ATTRIBUTE_NAMES = tuple(ATTRIBUTES)
CLINICAL_ATTRIBUTES = (
    "morphology", "distribution", "measurement", "severity", "onset", "improved", "no_change", "worsened",
)  # fmt: skip
"""The clinical attributes of implicit.md section 2, in the order in which they are linearised."""

_SECTION_ORDER = {section: number for number, section in enumerate(SECTIONS)}
_SECTION_PREFERENCE = {"impr": 0, "find": 1, "hist": 2}
_TOKEN = re.compile(r"[^\W_]+(?:\.\d+)?")


def rounded(p: float) -> float:
    """A probability as it is stored and compared: 1 - 0.9 must tie with 0.1."""
    return round(p, CLAIM_DECIMALS)


@dataclass(slots=True, eq=False)
class Row:
    """One finding with its belief; the field names are the columns of the tables, lists are tuples."""

    finding_id: str
    subject_id: str
    study_id: str
    sequence: int
    section: str
    sent_idx: int
    sent: str
    ent_idx: int
    ent: str
    name: str
    cat: str
    status: str
    location: str
    location_parts: tuple[str, ...]
    placement: str
    morphology: str
    distribution: str
    measurement: str
    severity: str
    comparison: str
    onset: str
    no_change: str
    improved: str
    worsened: str
    past_hx: str
    other_source: str
    assessment_limitations: str
    evidence: tuple[str, ...]
    associate: tuple[str, ...]
    currency: str
    view_information: str
    cues: str = ""
    prob: float = 0.5
    p_low: float = 0.0
    p_high: float = 1.0
    support: float = 0.5
    p_source: str = "none"
    prob_is_bound: bool = False
    disposition: str = "kept"
    merged_into: str | None = None
    merge_similarity: float | None = None
    merged_ids: tuple[str, ...] = ()
    encoder: str = ""
    mode: str = "method"
    source: str = "original"
    parent_id: str | None = None
    root_id: str = ""
    pathway_id: str = ""
    pathway: str = ""
    match_reason: str = ""
    idx: int = 0
    ranking_version: str = ""
    outcome: str = "generated"
    linked_to: str | None = None
    parent_pathway_id: str = ""
    edge: int = 0
    depth: int = 1

    @property
    def positive(self) -> bool:
        return self.status in POSITIVE

    @property
    def claim(self) -> float:
        """The number by which rows are preferred: support, or in mode `paper` the probability."""
        return rounded(self.prob) if self.mode == PAPER else self.support


_FIELDS = fields(Row)
_CELLS_OF = attrgetter(*(one.name for one in _FIELDS))


class Content(NamedTuple):
    """What of a row decides which labels it means: equal contents are read once."""

    name: str
    ent: str
    status: str
    location: str
    location_parts: tuple[str, ...]
    measurement: str
    morphology: str
    distribution: str
    severity: str
    onset: str


content_of = attrgetter(*Content._fields)


def copied(row: Row) -> Row:
    """A row with the same values."""
    return Row(*_CELLS_OF(row))


def read_rows(frame: pd.DataFrame) -> list[Row]:
    """The frame's rows; what is no column keeps its default. Missing text is None, lists are tuples."""
    read: list[Iterable[Any]] = [
        column_values(frame, one.name)
        if one.name in frame or one.default is MISSING
        else repeat(one.default, len(frame))
        for one in _FIELDS
    ]
    return list(map(Row, *read))


def column_values(frame: pd.DataFrame, name: str) -> list[Any]:
    """A column as Python values: None where it is missing, and a tuple for every list."""
    column = frame[name]
    values: list[Any] = column.tolist()
    if column.dtype == object and values and isinstance(values[0], (list, np.ndarray)):
        return list(map(tuple, values))
    if column.hasnans:
        return [None if value is pd.NA or value != value else value for value in values]
    return values


def values_of(frame: pd.DataFrame, *names: str) -> Iterator[tuple[Any, ...]]:
    """The values of several columns, row by row."""
    return zip(*(column_values(frame, name) for name in names), strict=True)


def write_rows(table: Table, rows: Sequence[Row]) -> pd.DataFrame:
    """A typed frame of the table, of whose columns rows have a field each."""
    return table.frame(
        {name: list(map(attrgetter(name), rows)) for name in table.names}
    )


def by_study(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of each study in report order, studies sorted by their id."""
    studies: dict[str, list[Row]] = {}
    for row in rows:
        studies.setdefault(row.study_id, []).append(row)
    return [sorted(studies[study], key=report_position) for study in sorted(studies)]


def natural(finding_id: str) -> tuple[int, str]:
    """Sort key of the ids of a study: s1:2 before s1:11, a parent before its children."""
    return len(finding_id), finding_id


def report_position(row: Row) -> tuple[int, int, int, int, str]:
    """The position of a row in the report: section, sentence, finding, id."""
    return (
        _SECTION_ORDER[row.section],
        row.sent_idx,
        row.ent_idx,
        *natural(row.finding_id),
    )


def priority(row: Row, status: int = 0) -> tuple[bool, float, int, int, Any]:
    """Sort key, preferred row first (implicit.md section 2): a row without information (p 0.5 in [0, 1])
    never wins against an estimate; then highest claim, impression before findings, report order.
    """
    uninformed = row.p_source == "none" and row.mode != PAPER
    return (
        uninformed,
        -row.claim,
        status,
        _SECTION_PREFERENCE[row.section],
        report_position(row),
    )


@remembered
def tokens(text: str) -> tuple[str, ...]:
    """Lower-case words in order; all punctuation splits, but a decimal number stays whole."""
    return tuple(_TOKEN.findall(text.lower()))


@remembered
def collapsed(text: str) -> str:
    """Lower case, runs of white space as one blank: the form in which two wordings are compared."""
    return " ".join(text.lower().split())


def cell_parts(cell: str) -> list[str]:
    """Non-empty comma parts of an attribute or location cell, in order."""
    return [part for part in (piece.strip() for piece in cell.split(",")) if part]


def united_cells(cells: Iterable[str]) -> str:
    """Comma-separated cells as one, in order and without repeats; the first wording of a part stays."""
    present = list(dict.fromkeys(cell for cell in cells if cell))
    if len(present) < 2:
        return "".join(present)
    kept: dict[str, str] = {}
    for part in chain.from_iterable(map(cell_parts, present)):
        kept.setdefault(collapsed(part), part)
    return ", ".join(kept.values())


def united_tokens(*lists: tuple[str, ...]) -> tuple[str, ...]:
    """Reference lists as one, in order and without repeats."""
    return tuple(dict.fromkeys(chain(*lists)))
