"""Conflicts between rows of a study: types and sources (implicit.md section 5).

They are counted, whatever resolution does about them; what it does is in `rules.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

from lunguage_assets.implicit.rows import ALREADY_STATED, Row
from lunguage_assets.implicit.statements.contradictions import Key, Statements
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.tables.columns import CONFLICT_SOURCES, CONFLICT_TYPES

Conflict = dict[str, Any]
"""A row of CONFLICTS without its number."""

_STATED_ONLY, _STATED_AND_IMPLIED, _IMPLIED_ONLY = CONFLICT_SOURCES
_TYPE_OF_EQUALS = {
    "tp": "duplicate_pos",
    "tn": "duplicate_neg",
    "dp": "repeat_dp",
    "dn": "repeat_dn",
}


class _Kind(NamedTuple):
    """Type and source of a conflict."""

    type: str
    source: str

    @property
    def order(self) -> tuple[int, int]:
        return CONFLICT_TYPES.index(self.type), CONFLICT_SOURCES.index(self.source)


def type_of(status: str, other: str) -> str:
    """Name the type of a conflict of two statuses: polarity, certainty, repetition."""
    if status[1] != other[1]:
        return "polarity"
    if status != other:
        return "certainty_pos" if status[1] == "p" else "certainty_neg"
    return _TYPE_OF_EQUALS[status]


def conflicts_of_keys(groups: Mapping[Key, Sequence[Row]]) -> Iterator[Conflict]:
    """Yield every kind of conflict of every group of two or more, by key."""
    for key in sorted(groups):
        rows = groups[key]
        if len(rows) < 2:
            continue
        ids_by_kind = _ids_by_kind(rows)
        for kind in sorted(ids_by_kind, key=lambda kind: kind.order):
            conflict = _conflict(rows[0], kind, ids_by_kind[kind])
            yield conflict | {"location_parts": key.location}


def _ids_by_kind(rows: Sequence[Row]) -> dict[_Kind, set[str]]:
    """Find the conflicts of the rows of one key, with all rows that take part in each.

    Rows with one status and one source are compared as one: a study may have thousands.
    """
    equals: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        equals.setdefault((row.status, row.source), []).append(row)
    ids_by_kind: dict[_Kind, set[str]] = {}
    for some, others in combinations_with_replacement(equals.values(), 2):
        # One row alone is no conflict with itself.
        if some is others and len(some) == 1:
            continue
        kind = _Kind(
            type_of(some[0].status, others[0].status), _source_of(some[0], others[0])
        )
        ids = ids_by_kind.setdefault(kind, set())
        ids.update(row.finding_id for row in (*some, *others))
    return ids_by_kind


def _source_of(row: Row, other: Row) -> str:
    if row.is_generated and other.is_generated:
        return _IMPLIED_ONLY
    if row.is_generated or other.is_generated:
        return _STATED_AND_IMPLIED
    return _STATED_ONLY


def suppressed_conflicts(
    suppressed: Iterable[Row], by_id: Mapping[str, Row]
) -> Iterator[Conflict]:
    """Yield conflicts between sub-findings and the rows that state them already.

    The report says "possible opacity", the pathway implies a definite one: it was not
    generated, and still they disagree.
    """
    for child in suppressed:
        stating = by_id[child.linked_to or ""]
        if child.outcome != ALREADY_STATED or stating.disposition == "excluded":
            continue
        if child.status != stating.status:
            kind = _Kind(type_of(child.status, stating.status), _STATED_AND_IMPLIED)
            ids = child.finding_id, stating.finding_id
            yield _conflict(child, kind, ids) | {"suppressed": True}


def stated_contradictions(rows: Sequence[Row], labels: LabelList) -> Iterator[Conflict]:
    """Yield stated rows that contradict each other by containment; both stay."""
    stated = [row for row in rows if not row.is_generated]
    polarities = {row.positive for row in stated}
    if len(polarities) < 2 or not stated[0].policy.reads_contradictions:
        return
    presence_by_ids: dict[tuple[str, ...], Row] = {}
    for denial, presence in Statements(labels, stated).contradictions():
        ids = sorted((denial.finding_id, presence.finding_id))
        presence_by_ids.setdefault(tuple(ids), presence)
    kind = _Kind("stated_contradiction", _STATED_ONLY)
    for both_ids in sorted(presence_by_ids):
        yield _conflict(presence_by_ids[both_ids], kind, both_ids)


def _conflict(row: Row, kind: _Kind, ids: Iterable[str]) -> Conflict:
    """Note a conflict about the finding of a row, between the rows of these ids."""
    return {
        "study_id": row.study_id,
        "currency": row.currency,
        "name": row.name,
        "location_parts": row.location_parts,
        "conflict_type": kind.type,
        "source": kind.source,
        "finding_ids": sorted(ids),
        "suppressed": False,
    }
