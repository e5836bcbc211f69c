"""Conflicts between rows of a study: types and sources (implicit.md section 5).

They are counted, whatever resolution does about them; what it does is in `rules.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from lunguage_assets.implicit.rows import ALREADY_STATED, Row
from lunguage_assets.implicit.statements.contradictions import Key, Statements
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.tables.columns import CONFLICT_SOURCES, CONFLICT_TYPES

Conflict = dict[str, Any]
"""A row of CONFLICTS without its number."""

_STATED_ONLY, _STATED_AND_IMPLIED, _ = CONFLICT_SOURCES
_CONFLICTS = tuple(product(CONFLICT_TYPES, CONFLICT_SOURCES))
"""In the order in which they are listed."""
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
    """Yield every kind of conflict of every group of two or more, by key.

    Each has all rows that take part in it.
    """
    for key in sorted(groups):
        ids_by_conflict: dict[tuple[str, str], set[str]] = defaultdict(set)
        for first, second in combinations(groups[key], 2):
            # The sources are listed by how many of the two rows are implied.
            source = CONFLICT_SOURCES[first.is_generated + second.is_generated]
            conflict = type_of(first.status, second.status), source
            ids_by_conflict[conflict] |= {first.finding_id, second.finding_id}
        row = groups[key][0]
        for conflict in filter(ids_by_conflict.get, _CONFLICTS):
            ids = ids_by_conflict[conflict]
            yield _conflict(row, *conflict, ids, location_parts=key.location)


def suppressed_conflicts(
    suppressed: Iterable[Row], by_id: Mapping[str, Row]
) -> Iterator[Conflict]:
    """Yield conflicts between sub-findings and the rows that state them already.

    The report says "possible opacity", the pathway implies a definite one: it was not
    generated, and still they disagree. The paper counts only rows that there are.
    """
    for child in suppressed:
        if child.outcome != ALREADY_STATED:
            continue
        stating = by_id[child.linked_to or ""]
        is_compared = stating.policy.departs and stating.disposition != "excluded"
        if is_compared and child.status != stating.status:
            conflict_type = type_of(child.status, stating.status)
            ids = child.finding_id, stating.finding_id
            yield _conflict(
                child, conflict_type, _STATED_AND_IMPLIED, ids, suppressed=True
            )


def stated_contradictions(rows: Sequence[Row], labels: LabelList) -> list[Conflict]:
    """List stated rows that contradict each other by containment; both stay."""
    # "Opacity at the left base" and "no opacity": two keys, which no rule resolves.
    stated = [row for row in rows if not row.is_generated and row.policy.departs]
    conflict_by_ids: dict[tuple[str, ...], Conflict] = {}
    for denial, presence in Statements(labels, stated).contradictions():
        ids = denial.row.finding_id, presence.row.finding_id
        conflict = _conflict(presence.row, "stated_contradiction", _STATED_ONLY, ids)
        conflict_by_ids.setdefault(tuple(conflict["finding_ids"]), conflict)
    return [conflict_by_ids[ids] for ids in sorted(conflict_by_ids)]


def _conflict(
    row: Row, conflict_type: str, source: str, ids: Iterable[str], **options: Any
) -> Conflict:
    """Note a conflict about the finding of a row, between the rows of these ids."""
    return {
        "study_id": row.study_id,
        "currency": row.currency,
        "name": row.name,
        "location_parts": row.location_parts,
        "conflict_type": conflict_type,
        "source": source,
        "finding_ids": sorted(ids),
        "suppressed": False,
        **options,
    }
