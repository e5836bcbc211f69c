"""Resolves one study: what happens to the rows that lose (implicit.md section 5).

Their sub-findings go with them, and what refers to them is redirected. Which rows lose
is decided by `rules.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lunguage_assets.implicit.merging.merge_constraints import (
    Blacklist,
    unite_attributes,
)
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.policy import METHOD
from lunguage_assets.implicit.resolution.conflicts import type_of
from lunguage_assets.implicit.resolution.log import Event, cell_kept_apart, event_of
from lunguage_assets.implicit.resolution.rules import rules_of
from lunguage_assets.implicit.rows import (
    BARE,
    Row,
    natural,
    report_position,
    united_tokens,
)
from lunguage_assets.implicit.statements.contradictions import Key, grouped

_STAGE = "resolve"


class _Loser(NamedTuple):
    """A row that a rule did not keep."""

    row: Row
    rule: str


class StudyResolver:
    """Resolves the rows of one study to one row per key.

    Keys are taken in topological order of their findings: before a child's key is
    resolved, every parent is final, and the subtrees of removed rows are gone.
    """

    def __init__(
        self, rows: Sequence[Row], dictionary: PathwayDictionary, blacklist: Blacklist
    ) -> None:
        self._dictionary = dictionary
        self._blacklist = blacklist
        # All rows of a study are of one mode; without a row no rule is applied.
        policy = rows[0].policy if rows else METHOD
        self._rules = rules_of(policy)
        in_order = sorted(rows, key=report_position)
        self.living: dict[str, Row] = {row.finding_id: row for row in in_order}
        self._children: dict[str, list[Row]] = {}
        for row in in_order:
            if row.parent_id is not None:
                self._children.setdefault(row.parent_id, []).append(row)
        self.groups = grouped(in_order)
        self._merged_into: dict[str, str] = {}
        self._unlinked: set[str] = set()
        """Merged rows whose survivor is no evidence of their parent."""
        self.log: list[Event] = []

    def run(self) -> list[Row]:
        """Resolve, and number the rows: stated ones first, children after parents."""
        # "Loculated" and "no loculated" effusion first: what stays of the two meets
        # the other effusions afterwards.
        denied_kinds = {
            key: rows
            for key, rows in self.groups.items()
            if key.kind and len({row.positive for row in rows}) > 1
        }
        if denied_kinds:
            self._resolve(denied_kinds)
            self.groups = grouped(self.living.values())
        self._resolve(self.groups)
        self.groups |= denied_kinds
        for row in self.living.values():
            self.redirect_references(row)
        # Only now is it known which rows are left: a survivor may have been merged on.
        for event in self.log:
            if event["event"] == "merged":
                event["survivor_id"] = self.survivor_id(event["finding_id"])
        return self.numbered()

    def _resolve(self, groups: dict[Key, list[Row]]) -> None:
        """Resolve the rows of each key, parents first."""
        # What stands alone passes through (the printed algorithm would drop it).
        contested = {key: rows for key, rows in groups.items() if len(rows) > 1}
        parents_first = sorted(
            contested, key=lambda key: (self.rank_of(contested[key]), key)
        )
        for key in parents_first:
            # A key before may have taken rows of this one away with their parent.
            rows = [row for row in contested[key] if row.finding_id in self.living]
            self.apply_rules(rows)

    def survivor_id(self, finding_id: str) -> str | None:
        """Find the living row that stands for a row now; None without one."""
        while finding_id in self._merged_into:
            finding_id = self._merged_into[finding_id]
        return finding_id if finding_id in self.living else None

    def rank_of(self, rows: Sequence[Row]) -> int:
        """Rank the rows of a key by their findings: what implies others comes first."""
        return min(self._dictionary.rank(row.name, row.ent) for row in rows)

    def apply_rules(self, rows: Sequence[Row]) -> None:
        """Keep what the rules keep of the rows of one key."""
        if len(rows) < 2:
            return
        remaining = list(rows)
        losers: list[_Loser] = []
        for rule in self._rules:
            kept = rule.keep(remaining)
            kept_ids = {row.finding_id for row in kept}
            for row in remaining:
                if row.finding_id not in kept_ids:
                    losers.append(_Loser(row, rule.name))
            remaining = kept
        if remaining:
            self._merge_losers(losers, remaining[0])
        # What says the opposite of the survivor is not merged into it.
        for loser in losers:
            if loser.row.finding_id in self.living:
                self._remove(loser.row, loser.rule, "polarity")

    def _merge_losers(self, losers: Sequence[_Loser], survivor: Row) -> None:
        """Merge the losers of the survivor's polarity into it."""
        merged_ids = set(survivor.merged_ids)
        for loser in losers:
            if loser.row.positive == survivor.positive:
                self._merge(loser.row, survivor, loser.rule)
                merged_ids.update((loser.row.finding_id, *loser.row.merged_ids))
        # Sorted once at the end: a study may have thousands of rows.
        survivor.merged_ids = tuple(sorted(merged_ids))

    def _merge(self, loser: Row, survivor: Row, rule: str) -> None:
        """Merge a row into the survivor, which keeps its wording and p."""
        # "enlarged" and "normal" of one heart: the survivor is no evidence of what
        # implied the loser. Read before the survivor's attributes change.
        is_opposite = self._dictionary.contradictory(
            survivor.measurement, loser.measurement
        )
        kept_cells = unite_attributes(survivor, loser, self._exclude_each_other)
        children_ids = {
            child.finding_id for child in self._children.get(loser.finding_id, ())
        }
        # The loser's sub-findings go with it: they are no evidence of the survivor.
        evidence = tuple(token for token in loser.evidence if token not in children_ids)
        survivor.evidence = united_tokens(survivor.evidence, evidence)
        survivor.associate = united_tokens(survivor.associate, loser.associate)
        del self.living[loser.finding_id]
        self._merged_into[loser.finding_id] = survivor.finding_id
        if is_opposite and loser.is_generated:
            self._unlinked.add(loser.finding_id)
        conflict = type_of(survivor.status, loser.status)
        self.log.append(event_of(loser, "merged", _STAGE, rule, conflict_type=conflict))
        for cell in kept_cells:
            self.log.append(cell_kept_apart(loser, survivor, _STAGE, cell))
        # The survivor has sub-findings of its own, with its own support: no row may be
        # surer than its parent.
        self._remove_children(loser, "parent merged")

    def _exclude_each_other(self, first_cell: str, second_cell: str) -> bool:
        if self._blacklist.separates(first_cell, second_cell):
            return True
        return self._dictionary.contradictory(first_cell, second_cell)

    def _remove(self, row: Row, rule: str, conflict_type: str) -> None:
        """Remove a row and its generated subtree."""
        del self.living[row.finding_id]
        event = "discarded" if row.is_generated else "removed"
        self.log.append(event_of(row, event, _STAGE, rule, conflict_type=conflict_type))
        self._remove_children(row, "parent gone")

    def _remove_children(self, row: Row, rule: str) -> None:
        for child in self.living_children(row):
            self._remove(child, rule, "none")

    def living_children(self, row: Row) -> list[Row]:
        """List the sub-findings of a row that are left."""
        return [
            child
            for child in self._children.get(row.finding_id, ())
            if child.finding_id in self.living
        ]

    def redirect_references(self, row: Row) -> None:
        """Redirect references to merged rows; one to a removed row is lost."""
        row.evidence = self._redirected(row, row.evidence)
        row.associate = self._redirected(row, row.associate)
        if row.parent_id is not None and row.parent_id not in row.associate:
            row.associate = (row.parent_id, *row.associate)

    def _redirected(self, row: Row, references: tuple[str, ...]) -> tuple[str, ...]:
        kept: dict[str, None] = {}
        for token in references:
            target = self._target_of(token)
            if target is None:
                lost = event_of(
                    row, "reference lost", _STAGE, "target gone", reference=token
                )
                self.log.append(lost)
            elif target != row.finding_id:
                kept[target] = None
        return tuple(kept)

    def _target_of(self, token: str) -> str | None:
        """Find what a reference points to now: a bare name, or a living row."""
        if token.startswith(BARE):
            return token
        return None if token in self._unlinked else self.survivor_id(token)

    def numbered(self) -> list[Row]:
        """Number the rows that are left, stated ones first, and each row's below it."""
        # The living are in report order.
        stated = [row for row in self.living.values() if row.parent_id is None]
        resolved = list(stated)
        for row in stated:
            resolved.extend(self._below(row))
        for number, row in enumerate(resolved, start=1):
            row.idx = number
        return resolved

    def _below(self, row: Row) -> Iterator[Row]:
        children = self.living_children(row)
        for child in sorted(children, key=lambda child: natural(child.finding_id)):
            yield child
            yield from self._below(child)
