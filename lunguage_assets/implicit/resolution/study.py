"""Algorithm 3 of the paper: one row for each key of a study (implicit.md section 5).

Which rows of a key stay is decided by `rules.py`. What loses to a row of its own
polarity is merged into it, what loses to another one is removed; the sub-findings of
both go with them, and what refers to them is redirected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from lunguage_assets.implicit.merging.merge_constraints import absorb
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.resolution.conflicts import type_of
from lunguage_assets.implicit.resolution.log import Event, event_of
from lunguage_assets.implicit.resolution.rules import rules_of
from lunguage_assets.implicit.rows import (
    BARE,
    Row,
    grouped_by,
    natural,
    report_position,
)
from lunguage_assets.implicit.statements.contradictions import (
    Key,
    contested_kinds,
    rows_by_key,
)

_STAGE = "resolve"


class StudyResolver:
    """Resolves the rows of one study, in report order, to one row per key.

    Attributes:
        groups: the rows that met, by key.
        log: what became of those that are gone.
    """

    def __init__(self, rows: Sequence[Row], dictionary: PathwayDictionary) -> None:
        self.groups: dict[Key, list[Row]] = {}
        self.log: list[Event] = []
        self._dictionary = dictionary
        self._living = {row.finding_id: row for row in rows}
        self._children = grouped_by(attrgetter("parent_id"), rows)
        self._merged_into: dict[str, str] = {}

    def run(self) -> list[Row]:
        """Resolve, and number the rows: stated ones first, children after parents."""
        # "Loculated" and "no loculated" effusion first: what stays of the two meets
        # the other effusions afterwards.
        groups = rows_by_key(self._living.values())
        contested = contested_kinds(groups)
        if contested:
            self._resolve(contested)
            groups = rows_by_key(self._living.values())
        # What stands alone passes through (the printed algorithm would drop it).
        met = {key: group for key, group in groups.items() if len(group) > 1}
        self._resolve(met)
        self.groups = met | contested
        for row in self._living.values():
            row.evidence = self._redirected(row, row.evidence)
            row.associate = self._redirected(row, row.associate)
        resolved = sorted(self._living.values(), key=_place_in_result)
        for number, row in enumerate(resolved, start=1):
            row.idx = number
        return resolved

    def _resolve(self, groups: Mapping[Key, Sequence[Row]]) -> None:
        def rank(key: Key) -> tuple[int, Key]:
            rank_of = self._dictionary.rank
            return min(rank_of(row.name, row.ent) for row in groups[key]), key

        # In topological order of their findings: before a child's key is resolved,
        # every parent is final, and what was below a row that is gone is gone, too.
        for key in sorted(groups, key=rank):
            group = [row for row in groups[key] if row.finding_id in self._living]
            if len(group) > 1:
                self._resolve_key(group)

    def _resolve_key(self, group: list[Row]) -> None:
        """Apply the rules, each to what the rules before it have left."""
        losers: list[tuple[Row, str]] = []
        remaining = group
        for rule in rules_of(group[0].policy):
            kept = rule.keep(remaining)
            losers += [(row, rule.name) for row in remaining if row not in kept]
            remaining = kept
        for survivor in remaining:
            for row, rule_name in losers:
                if row.positive == survivor.positive:
                    self._merge(row, survivor, rule_name)
        # What says the opposite of the survivor is not merged into it; it may have gone
        # with its parent meanwhile.
        for row, rule_name in losers:
            self._remove(row, rule_name, "polarity")

    def _merge(self, loser: Row, survivor: Row, rule: str) -> None:
        """Merge a row into the survivor, which keeps its wording and p."""
        # The loser's sub-findings go with it: they are no evidence of the survivor,
        # which has its own, and no row may be surer than its parent.
        children = {child.finding_id for child in self._children[loser.finding_id]}
        loser.evidence = tuple(t for t in loser.evidence if t not in children)
        absorb(survivor, loser)
        self._merged_into[loser.finding_id] = survivor.finding_id
        event = event_of(
            loser,
            "merged",
            _STAGE,
            rule,
            conflict_type=type_of(survivor.status, loser.status),
            survivor_id=survivor.finding_id,
        )
        self._take_out(loser, event, "parent merged")

    def _remove(self, row: Row, rule: str, conflict_type: str) -> None:
        """Remove a row and its generated subtree, unless it is gone already."""
        if row.finding_id in self._living:
            verb = "discarded" if row.is_generated else "removed"
            event = event_of(row, verb, _STAGE, rule, conflict_type=conflict_type)
            self._take_out(row, event, "parent gone")

    def _take_out(self, row: Row, event: Event, rule_below: str) -> None:
        """Note what became of a row, and remove the sub-findings below it."""
        self.log.append(event)
        del self._living[row.finding_id]
        for child in self._children[row.finding_id]:
            self._remove(child, rule_below, "none")

    # What refers to rows that are gone

    def survivor_id(self, finding_id: str | None) -> str | None:
        """Find the living row that stands for a row now; None without one."""
        while finding_id in self._merged_into:
            finding_id = self._merged_into[finding_id]
        return finding_id if finding_id in self._living else None

    def _redirected(self, row: Row, references: tuple[str, ...]) -> tuple[str, ...]:
        """Point references to the rows that stand for theirs; the others are lost."""
        kept: dict[str, None] = {}
        for token in references:
            target = token if token.startswith(BARE) else self.survivor_id(token)
            if target is None:
                lost = event_of(
                    row, "reference lost", _STAGE, "target gone", reference=token
                )
                self.log.append(lost)
            elif target != row.finding_id:
                kept[target] = None
        return tuple(kept)


def _place_in_result(row: Row) -> tuple[Any, ...]:
    """Sort stated rows in report order, and implied ones by their path from there.

    An implied row stands in the sentence of its original, and has its id with the
    numbers of the sub-findings that lead to it.
    """
    root_id, *numbers = row.finding_id.split("/")
    in_report = report_position(row)[:3]
    return row.is_generated, in_report, natural(root_id), list(map(int, numbers))
