"""Conflicts between rows of a study: types and sources (implicit.md section 5).

They are counted, whatever resolution does about them; what it does is in `rules.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

from lunguage_assets.implicit.rows import ALREADY_STATED, Row
from lunguage_assets.implicit.statements.contradictions import Key, Statements
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.tables.columns import CONFLICT_SOURCES, CONFLICT_TYPES

Conflict = dict[str, Any]
"""A row of CONFLICTS without its number."""

_STATED_ONLY, _STATED_AND_IMPLIED, _ = CONFLICT_SOURCES
_TYPE_OF_EQUALS = {
    "tp": "duplicate_pos",
    "tn": "duplicate_neg",
    "dp": "repeat_dp",
    "dn": "repeat_dn",
}


def type_of(first_status: str, second_status: str) -> str:
    """Name the type of a conflict of two statuses: polarity, certainty, repetition."""
    if first_status[1] != second_status[1]:
        return "polarity"
    if first_status != second_status:
        return "certainty_pos" if first_status[1] == "p" else "certainty_neg"
    return _TYPE_OF_EQUALS[first_status]


def conflicts_of_keys(groups: Mapping[Key, Sequence[Row]]) -> Iterator[Conflict]:
    """Yield every kind of conflict of every group of two or more, by key."""
    for key in sorted(groups):
        rows = groups[key]
        if len(rows) < 2:
            continue
        ids_by_conflict = _ids_by_conflict(rows)
        for number_of_type, number_of_source in sorted(ids_by_conflict):
            ids = ids_by_conflict[number_of_type, number_of_source]
            conflict_type = CONFLICT_TYPES[number_of_type]
            source = CONFLICT_SOURCES[number_of_source]
            conflict = _conflict(rows[0], conflict_type, source, ids)
            yield conflict | {"location_parts": key.location}


def _ids_by_conflict(rows: Sequence[Row]) -> dict[tuple[int, int], set[str]]:
    """Find the conflicts of the rows of one key, with all rows that take part in each.

    Rows with one status and one source are compared as one: a study may have thousands.

    Returns:
        The ids, by the positions of type and source in CONFLICT_TYPES and
        CONFLICT_SOURCES, in whose order conflicts are listed.
    """
    equals: dict[tuple[str, bool], list[Row]] = {}
    for row in rows:
        equals.setdefault((row.status, row.is_generated), []).append(row)
    ids_by_conflict: dict[tuple[int, int], set[str]] = {}
    for first, second in combinations_with_replacement(equals.values(), 2):
        # One row alone is no conflict with itself.
        if first is second and len(first) == 1:
            continue
        conflict_type = type_of(first[0].status, second[0].status)
        # The sources are listed by how many of the two rows are implied.
        number_of_source = first[0].is_generated + second[0].is_generated
        conflict = CONFLICT_TYPES.index(conflict_type), number_of_source
        ids = ids_by_conflict.setdefault(conflict, set())
        ids.update(row.finding_id for row in (*first, *second))
    return ids_by_conflict


def suppressed_conflicts(
    suppressed: Iterable[Row], by_id: Mapping[str, Row]
) -> Iterator[Conflict]:
    """Yield conflicts between sub-findings and the rows that state them already.

    The report says "possible opacity", the pathway implies a definite one: it was not
    generated, and still they disagree. The paper counts only rows that there are.
    """
    for child in suppressed:
        if not child.policy.departs:
            continue
        stating = by_id[child.linked_to or ""]
        if child.outcome != ALREADY_STATED or stating.disposition == "excluded":
            continue
        if child.status != stating.status:
            conflict_type = type_of(child.status, stating.status)
            ids = child.finding_id, stating.finding_id
            conflict = _conflict(child, conflict_type, _STATED_AND_IMPLIED, ids)
            yield conflict | {"suppressed": True}


def stated_contradictions(rows: Sequence[Row], labels: LabelList) -> Iterator[Conflict]:
    """Yield stated rows that contradict each other by containment; both stay."""
    # "Opacity at the left base" and "no opacity": two keys, which no rule resolves.
    stated = [row for row in rows if not row.is_generated]
    polarities = {row.positive for row in stated}
    if len(polarities) < 2 or not stated[0].policy.departs:
        return
    presence_by_ids: dict[tuple[str, ...], Row] = {}
    for denial, presence in Statements(labels, stated).contradictions():
        ids = sorted((denial.finding_id, presence.finding_id))
        presence_by_ids.setdefault(tuple(ids), presence)
    for ids_of_pair in sorted(presence_by_ids):
        presence = presence_by_ids[ids_of_pair]
        yield _conflict(presence, "stated_contradiction", _STATED_ONLY, ids_of_pair)


def _conflict(
    row: Row, conflict_type: str, source: str, finding_ids: Iterable[str]
) -> Conflict:
    """Note a conflict about the finding of a row, between the rows of these ids."""
    return {
        "study_id": row.study_id,
        "currency": row.currency,
        "name": row.name,
        "location_parts": row.location_parts,
        "conflict_type": conflict_type,
        "source": source,
        "finding_ids": sorted(finding_ids),
        "suppressed": False,
    }
