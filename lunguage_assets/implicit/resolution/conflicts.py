"""Conflicts between rows of one key, by type and source, and the three rules that keep one row of a key, each
on what the previous one left (implicit.md section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations_with_replacement
from typing import Any

from lunguage_assets.implicit.rows import PAPER, Row, claim_preference
from lunguage_assets.implicit.statements.against import Key, Statements
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.tables import CONFLICT_SOURCES, CONFLICT_TYPES

Conflict = dict[str, Any]
"""One type and source of disagreement in one group: a row of CONFLICTS."""

Rule = tuple[str, Callable[[Sequence[Row]], list[Row]]]

_STATUS_ORDER = {"dp": 0, "tp": 1, "tn": 2, "dn": 3}
_SAME_STATUS = {"tp": "duplicate_pos", "tn": "duplicate_neg", "dp": "repeat_dp", "dn": "repeat_dn"}


def _conflict(
    row: Row, parts: tuple[str, ...], kind: str, source: str, ids: Iterable[str], suppressed: bool = False
) -> Conflict:
    """A conflict about the finding of a row at a place, between the rows of these ids."""
    return {
        "number": 0,
        "study_id": row.study_id,
        "currency": row.currency,
        "name": row.name,
        "location_parts": parts,
        "conflict_type": kind,
        "source": source,
        "finding_ids": sorted(ids),
        "suppressed": suppressed,
    }


def type_of(status: str, other: str) -> str:
    """The type of a conflict between two statuses: polarity, else certainty, else repetition."""
    if status[1] != other[1]:
        return "polarity"
    if status != other:
        return "certainty_pos" if status[1] == "p" else "certainty_neg"
    return _SAME_STATUS[status]


def detect(groups: dict[Key, list[Row]]) -> list[Conflict]:
    """Every type and source of conflict of every group of two or more, in the order of the keys."""
    found: list[Conflict] = []
    for key in sorted(key for key, rows in groups.items() if len(rows) > 1):
        alike: dict[tuple[str, str], list[Row]] = {}
        for row in groups[key]:
            alike.setdefault((row.status, row.source), []).append(row)
        taking_part: dict[tuple[int, int], set[str]] = {}
        for some, others in combinations_with_replacement(alike.values(), 2):
            if some is others and len(some) == 1:
                continue
            kind = CONFLICT_TYPES.index(type_of(some[0].status, others[0].status))
            source = (some[0].source == "expansion") + (others[0].source == "expansion")
            taking_part.setdefault((kind, source), set()).update(row.finding_id for row in (*some, *others))
        for (kind, source), ids in sorted(taking_part.items()):
            kinds = CONFLICT_TYPES[kind], CONFLICT_SOURCES[source]
            found.append(_conflict(groups[key][0], key[2], *kinds, ids))
    return found


def suppressed(child: Row, stating: Row) -> list[Conflict]:
    """The conflict of certainty between a child that was not generated and the row that states it."""
    if child.status == stating.status:
        return []
    kind, ids = type_of(child.status, stating.status), (child.finding_id, stating.finding_id)
    return [_conflict(child, child.location_parts, kind, CONFLICT_SOURCES[1], ids, suppressed=True)]


def stated_contradictions(rows: Sequence[Row], listed: LabelList) -> list[Conflict]:
    """Stated rows of a resolved study that contradict each other by containment: both stay (implicit.md
    section 5).

    A denial everywhere beside a presence somewhere, or a size beside a diagnosis. None in mode `paper`.
    """
    stated = [row for row in rows if row.source == "original"]
    if not stated or stated[0].mode == PAPER or all(row.positive == stated[0].positive for row in stated):
        return []
    found: dict[tuple[str, ...], Row] = {}
    for denial, presence in Statements(listed, stated).contradictions():
        found.setdefault(tuple(sorted((denial.finding_id, presence.finding_id))), presence)
    return [
        _conflict(presence, presence.location_parts, "stated_contradiction", CONFLICT_SOURCES[0], ids)
        for ids, presence in sorted(found.items())
    ]


def originals_outrank_expansions(rows: Sequence[Row]) -> list[Row]:
    """Rule 1: where originals and expansions meet, the expansions go."""
    return [row for row in rows if row.source == "original"] or list(rows)


def definite_contradiction(rows: Sequence[Row]) -> list[Row]:
    """Rule 2: at least one dp and at least one dn, and nothing tentative: all go."""
    return [] if {row.status for row in rows} == {"dp", "dn"} else list(rows)


def strongest_claim(rows: Sequence[Row]) -> list[Row]:
    """Rule 3: the row with the highest support, in mode `paper` with the highest p.

    Ties: dp > tp > tn > dn, then impression before findings, then report order.
    """
    return sorted(rows, key=lambda row: claim_preference(row, _STATUS_ORDER[row.status]))[:1]


RULES: tuple[Rule, ...] = (
    ("rule 1: originals outrank expansions", originals_outrank_expansions),
    ("rule 2: definite contradiction", definite_contradiction),
    ("rule 3: highest support", strongest_claim),
)
"""Rules by their name in the resolution log, in the order in which they apply."""

PAPER_RULES: tuple[Rule, ...] = (*RULES[:2], ("rule 3: highest p", strongest_claim))
"""The same in mode `paper`, where a confident denial loses to a weak suspicion (`Row.claim`)."""


def decide(rows: Sequence[Row], rules: Sequence[Rule] = RULES) -> tuple[list[Row], list[tuple[Row, str]]]:
    """The rows of a group that the rules keep, and every lost row with the deciding rule."""
    remaining, lost = list(rows), []
    for name, rule in rules:
        kept = rule(remaining)
        staying = {row.finding_id for row in kept}
        lost += [(row, name) for row in remaining if row.finding_id not in staying]
        remaining = kept
    return remaining, lost
