"""Findings as plain objects for the work between two frames, and their words.

What belongs here: the row, how it is read and written, the orders in which rows stand
and are preferred (implicit.md section 2), and the words of a cell. What does not: what
a row says (`statements/`), and any rule about two rows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from lunguage_assets.caches import remembered
from lunguage_assets.implicit.policy import POLICIES, Policy
from lunguage_assets.tables import ATTRIBUTES, SECTIONS
from lunguage_assets.tables.schema import Table
from lunguage_assets.tables.values import objects_of

Item = TypeVar("Item")

CLAIM_DECIMALS = 12

BARE = "~"
"""First character of a reference that is a bare name and resolves to no row."""

GENERATED = "generated"
ALREADY_STATED = "already stated"
SPOKEN_AGAINST = "spoken against"
"""Outcomes of a sub-finding (implicit.md section 4)."""

POSITIVE = frozenset({"dp", "tp"})
ATTRIBUTE_NAMES = tuple(ATTRIBUTES)
CLINICAL_ATTRIBUTES = (
    "morphology",
    "distribution",
    "measurement",
    "severity",
    "onset",
    "improved",
    "no_change",
    "worsened",
)
"""The clinical attributes of section 2, in the order of a compared phrase."""

_SECTION_ORDER = {section: number for number, section in enumerate(SECTIONS)}
_TOKEN = re.compile(r"[^\W_]+(?:\.\d+)?")


def rounded(p: float) -> float:
    """Round a probability as it is stored and compared: 1 - 0.9 must tie with 0.1."""
    return round(p, CLAIM_DECIMALS)


@dataclass(slots=True, eq=False)
class Row:
    """One finding with its probability; its fields are columns of the tables."""

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
    def policy(self) -> Policy:
        """What the mode of the row decides."""
        return POLICIES[self.mode]

    @property
    def positive(self) -> bool:
        """Whether the row says that its finding is present."""
        return self.status in POSITIVE

    @property
    def is_generated(self) -> bool:
        """Whether a pathway implies the row, and no sentence states it."""
        return self.source == "expansion"

    @property
    def claim(self) -> float:
        """The number by which rows are preferred."""
        return self.support if self.policy.departs else rounded(self.prob)


class Content(NamedTuple):
    """What of a row decides which labels it means: equal contents are read once."""

    name: str
    ent: str
    status: str
    location: str
    location_parts: tuple[str, ...]
    measurement: str
    morphology: str


content_of = attrgetter(*Content._fields)


def read_rows(frame: pd.DataFrame) -> list[Row]:
    """Read the rows of a frame; what is no column of it keeps its default."""
    return objects_of(frame, Row)


def write_rows(table: Table, rows: Sequence[Row]) -> pd.DataFrame:
    """Write rows as a typed frame of a table, whose columns they have as fields."""
    return table.frame(
        {name: list(map(attrgetter(name), rows)) for name in table.names}
    )


def grouped_by(
    key: Callable[[Item], Any], rows: Iterable[Item]
) -> defaultdict[Any, list[Item]]:
    """Group rows, or what is read in them, by what a function finds of each."""
    groups: defaultdict[Any, list[Item]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def by_study(rows: Iterable[Row]) -> list[list[Row]]:
    """Group rows by study, each in report order, the studies sorted by their id."""
    studies = grouped_by(attrgetter("study_id"), rows)
    return [sorted(studies[study], key=report_position) for study in sorted(studies)]


def natural(finding_id: str) -> tuple[int, str]:
    """Sort ids of a study: s1:2 before s1:11, a parent before its children."""
    return len(finding_id), finding_id


def report_position(row: Row) -> tuple[int, int, int, int, str]:
    """Sort rows as they stand in the report: section, sentence, finding, id."""
    return (
        _SECTION_ORDER[row.section],
        row.sent_idx,
        row.ent_idx,
        *natural(row.finding_id),
    )


def priority(row: Row, rule: int = 0) -> tuple[Any, ...]:
    """Rank a row among those of its finding: the lowest is preferred most (section 2).

    A row without information (p 0.5 in [0, 1]) never wins against one that has some. Of
    equal claims the rule decides. Then the impression goes before the findings, and
    then comes the order of the report.

    Args:
        row: of the finding.
        rule: the status in resolution; whether a row names a diagnosis among repeated
            statements.
    """
    is_uninformed = row.p_source == "none"
    # The impression stands last in a report, and is preferred.
    section = -_SECTION_ORDER[row.section]
    return is_uninformed, -row.claim, rule, section, report_position(row)


@remembered
def tokens(text: str) -> tuple[str, ...]:
    """Split into lower-case words at all punctuation; a decimal number stays whole."""
    return tuple(_TOKEN.findall(text.lower()))


@remembered
def collapsed(text: str) -> str:
    """Bring to lower case and single blanks, the form in which wordings compare."""
    return " ".join(text.lower().split())


def cell_parts(cell: str) -> list[str]:
    """Split an attribute or location cell at commas into its non-empty parts."""
    return list(filter(None, map(str.strip, cell.split(","))))


def united_cells(cells: Iterable[str]) -> str:
    """Unite comma-separated cells in order; of equal parts the first wording stays."""
    present = list(dict.fromkeys(cell for cell in cells if cell))
    # Most cells have no other to be united with, and stay as they are written.
    if len(present) < 2:
        return "".join(present)
    wording_by_part: dict[str, str] = {}
    for part in cell_parts(",".join(present)):
        wording_by_part.setdefault(collapsed(part), part)
    return ", ".join(wording_by_part.values())


def united_tokens(*lists: Sequence[str]) -> tuple[str, ...]:
    """Unite reference lists in order and without repeats."""
    return tuple(dict.fromkeys(chain(*lists)))
