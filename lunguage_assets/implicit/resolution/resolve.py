"""Joins expansions to the report's rows and resolves contradictions (implicit.md section 5): three rules for
the rows of one key, and what happens to the rows that lose, their sub-findings and all that refers to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.merging.merge_constraints import (
    Blacklist,
    load_blacklist,
    unite_attributes,
)
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    load_dictionary,
)
from lunguage_assets.implicit.rows import (
    ATTRIBUTE_NAMES,
    BARE,
    PAPER,
    Row,
    by_study,
    cell_parts,
    collapsed,
    natural,
    priority,
    read_rows,
    report_position,
    united_tokens,
    values_of,
    write_rows,
)
from lunguage_assets.implicit.statements.contradictions import Key, Statements, grouped
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.tables import CONFLICTS, LUNGUAGE_PLUS_PLUS
from lunguage_assets.tables.columns import CONFLICT_SOURCES, CONFLICT_TYPES
from lunguage_assets.tables.implicit import RESOLUTION_LOG

Event = dict[str, Any]
"""A row of RESOLUTION_LOG, or of CONFLICTS (a type and source of disagreement in one group), unnumbered."""

Rule = tuple[str, Callable[[Sequence[Row]], list[Row]]]

GENERATED, STATED, AGAINST = "generated", "already stated", "spoken against"
_STATUS_ORDER = {"dp": 0, "tp": 1, "tn": 2, "dn": 3}
_SAME_STATUS = {
    "tp": "duplicate_pos",
    "tn": "duplicate_neg",
    "dp": "repeat_dp",
    "dn": "repeat_dn",
}


class Resolution(NamedTuple):
    """LUNGUAGE_PLUS_PLUS, RESOLUTION_LOG and CONFLICTS."""

    rows: pd.DataFrame
    log: pd.DataFrame
    conflicts: pd.DataFrame


def resolution_tools(
    terms: pd.DataFrame, version: str, pathways: Path | None, blacklist: Path | None
) -> tuple[PathwayDictionary, str, Blacklist, LabelList]:
    """What `resolve` needs beside its frames: files of the home, and the version of the ranking."""
    dictionary = load_dictionary(pathways, Vocabulary.from_terms(terms))
    return (
        dictionary,
        version,
        load_blacklist(blacklist),
        load_label_list(dictionary=dictionary),
    )


def resolve(
    deduplicated: pd.DataFrame,
    matches: pd.DataFrame,
    expansions: pd.DataFrame,
    dictionary: PathwayDictionary,
    ranking_version: str = "",
    blacklist: Blacklist | None = None,
    labels: LabelList | None = None,
) -> Resolution:
    """DEDUPLICATED_FINDINGS, PATHWAY_MATCHES and EXPANSIONS to one row per key, with a log of all other rows.

    `blacklist` keeps words of attributes apart; it and `labels` are by default the packaged ones. Rows are
    sorted by study and `idx`, which starts at 1 in every study. Independent of the order of the input rows.
    """
    delivered = read_rows(deduplicated)
    by_id = {row.finding_id: row for row in delivered}
    children = _join(read_rows(expansions), by_id)
    known = {
        own: rest
        for own, *rest in values_of(
            matches, "finding_id", "pathway_id", "pathway", "reason"
        )
    }
    blacklist, listed = (
        blacklist or load_blacklist(),
        labels or load_label_list(dictionary=dictionary),
    )
    living: dict[str, list[Row]] = {}
    linked: dict[str, list[Row]] = {}
    for row in (*delivered, *children):
        if row.outcome != GENERATED:
            linked.setdefault(row.study_id, []).append(row)
            continue
        row.pathway_id, row.pathway, row.match_reason = known[row.finding_id]
        row.ranking_version, row.root_id = (
            ranking_version,
            row.root_id or row.finding_id,
        )
        if row.disposition == "kept":
            living.setdefault(row.study_id, []).append(row)
    resolved, log, conflicts = list[Row](), list[Event](), list[Event]()
    for study in by_study(delivered):
        own, links = study[0].study_id, linked.get(study[0].study_id, [])
        resolver = StudyResolver(living.get(own, []), dictionary, blacklist)
        conflicts += [*detect(resolver.groups), *_suppressed(links, by_id)]
        study_rows = resolver.run()
        conflicts += _stated_contradictions(study_rows, listed)
        resolved += study_rows
        log += [*resolver.log_before(study, links, by_id), *resolver.log]
    return resolution_of(resolved, log, conflicts)


def _join(children: Sequence[Row], by_id: dict[str, Row]) -> list[Row]:
    """The children in the order of the pathways, with mode and encoder of their parents; they join `by_id`,
    and the evidence of the parents gains them, or the rows that state them.
    """
    by_id |= {child.finding_id: child for child in children}
    in_order = sorted(children, key=lambda child: natural(child.finding_id))
    for child in in_order:
        parent, stating = by_id[child.parent_id or ""], by_id.get(child.linked_to or "")
        child.source, child.encoder, child.mode = (
            "expansion",
            parent.encoder,
            parent.mode,
        )
        evidence = [child.finding_id] if child.outcome == GENERATED else []
        if stating is not None and child.outcome != AGAINST:
            excluded = stating.disposition == "excluded"
            evidence.append(BARE + stating.name if excluded else stating.finding_id)
        new = [
            one
            for one in evidence
            if one != parent.finding_id and one not in parent.evidence
        ]
        parent.evidence = (*parent.evidence, *new)
    return in_order


def detect(groups: dict[Key, list[Row]]) -> Iterator[Event]:
    """Every type and source of conflict of every group of two or more, in the order of the keys."""
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
            taking_part.setdefault((kind, source), set()).update(
                row.finding_id for row in (*some, *others)
            )
        for (kind, source), ids in sorted(taking_part.items()):
            conflict = _conflict(
                groups[key][0], CONFLICT_TYPES[kind], CONFLICT_SOURCES[source], ids
            )
            yield conflict | {"location_parts": key[2]}


def _suppressed(links: Iterable[Row], by_id: Mapping[str, Row]) -> Iterator[Event]:
    """Conflicts of certainty between a child that was not generated and the row that states it."""
    for child in links:
        stating = by_id[child.linked_to or ""]
        stated = child.outcome == STATED and stating.disposition != "excluded"
        if stated and child.status != stating.status:
            kind, ids = (
                type_of(child.status, stating.status),
                (child.finding_id, stating.finding_id),
            )
            yield _conflict(child, kind, CONFLICT_SOURCES[1], ids) | {
                "suppressed": True
            }


def _stated_contradictions(rows: Sequence[Row], listed: LabelList) -> Iterator[Event]:
    """Stated rows that contradict each other by containment: both stay. None in mode `paper`."""
    stated = [row for row in rows if row.source == "original"]
    if (
        not stated
        or stated[0].mode == PAPER
        or all(row.positive == stated[0].positive for row in stated)
    ):
        return
    found: dict[tuple[str, ...], Row] = {}
    for denial, presence in Statements(listed, stated).contradictions():
        found.setdefault(
            tuple(sorted((denial.finding_id, presence.finding_id))), presence
        )
    for ids, presence in sorted(found.items()):
        yield _conflict(presence, "stated_contradiction", CONFLICT_SOURCES[0], ids)


def _conflict(row: Row, kind: str, source: str, ids: Iterable[str]) -> Event:
    """A conflict about the finding of a row, between the rows of these ids."""
    return {
        "study_id": row.study_id,
        "currency": row.currency,
        "name": row.name,
        "location_parts": row.location_parts,
        "conflict_type": kind,
        "source": source,
        "finding_ids": sorted(ids),
        "suppressed": False,
    }


def resolution_of(
    resolved: Sequence[Row], log: Sequence[Event], conflicts: Sequence[Event]
) -> Resolution:
    """Rows, events and conflicts as tables, in their order."""
    events, contested = (
        [{"number": number, **one} for number, one in enumerate(listed)]
        for listed in (log, conflicts)
    )
    rows = write_rows(LUNGUAGE_PLUS_PLUS, resolved)
    return Resolution(rows, RESOLUTION_LOG.frame(events), CONFLICTS.frame(contested))


def type_of(status: str, other: str) -> str:
    """The type of a conflict between two statuses: polarity, else certainty, else repetition."""
    if status[1] != other[1]:
        return "polarity"
    if status != other:
        return "certainty_pos" if status[1] == "p" else "certainty_neg"
    return _SAME_STATUS[status]


def originals_outrank_expansions(rows: Sequence[Row]) -> list[Row]:
    """Rule 1: where originals and expansions meet, the expansions go."""
    return [row for row in rows if row.source == "original"] or list(rows)


def definite_contradiction(rows: Sequence[Row]) -> list[Row]:
    """Rule 2: at least one dp and at least one dn, and nothing tentative: all go."""
    return [] if {row.status for row in rows} == {"dp", "dn"} else list(rows)


def strongest_claim(rows: Sequence[Row]) -> list[Row]:
    """Rule 3: the row with the highest support, in mode `paper` with the highest p; then dp > tp > tn > dn,
    then impression before findings, then report order.
    """
    return sorted(rows, key=lambda row: priority(row, _STATUS_ORDER[row.status]))[:1]


RULES: tuple[Rule, ...] = (
    ("rule 1: originals outrank expansions", originals_outrank_expansions),
    ("rule 2: definite contradiction", definite_contradiction),
    ("rule 3: highest support", strongest_claim),
)
"""Rules by their name in the resolution log, in the order in which they apply."""

PAPER_RULES: tuple[Rule, ...] = (*RULES[:2], ("rule 3: highest p", strongest_claim))
"""The same in mode `paper`, where a confident denial loses to a weak suspicion (`Row.claim`)."""


def _entry(row: Row, event: str, stage: str, rule: str, **options: str | None) -> Event:
    """The log entry of an event about a row; `options` are `conflict_type`, `survivor_id` and `reference`."""
    return {
        "study_id": row.study_id,
        "finding_id": row.finding_id,
        "event": event,
        "stage": stage,
        "rule": rule,
        "conflict_type": "none",
        "source": row.source,
        "survivor_id": None,
        "name": row.name,
        "status": row.status,
        "currency": row.currency,
        "location_parts": row.location_parts,
        "support": row.support,
        "reference": "",
        **options,
    }


def _kept_apart(row: Row, survivor: Row, stage: str, cell: str) -> Event:
    """The log entry of a cell ("column: words") that the survivor of a merged row did not take over."""
    rule = "attributes exclude each other"
    return _entry(
        row,
        "cell kept apart",
        stage,
        rule,
        survivor_id=survivor.finding_id,
        reference=cell,
    )


class StudyResolver:
    """Resolves the rows of one study to one row per key, in topological order of their finding: every parent
    is final, and the subtrees of removed rows are gone, before a child's key is resolved.
    """

    def __init__(
        self, rows: Sequence[Row], dictionary: PathwayDictionary, blacklist: Blacklist
    ) -> None:
        self._dictionary, self._blacklist = dictionary, blacklist
        self._rules = PAPER_RULES if rows and rows[0].mode == PAPER else RULES
        in_order = sorted(rows, key=report_position)
        self.living: dict[str, Row] = {row.finding_id: row for row in in_order}
        self._children: dict[str, list[Row]] = {}
        for row in in_order:
            if row.parent_id is not None:
                self._children.setdefault(row.parent_id, []).append(row)
        self.groups = grouped(in_order)
        self._merged_into: dict[str, str] = {}
        self._unlinked: set[str] = set()
        self.log: list[Event] = []

    def run(self) -> list[Row]:
        """The resolved rows with their numbers, stated rows first, every generated row after its parent."""
        contested = {key: rows for key, rows in self.groups.items() if len(rows) > 1}
        for key in sorted(contested, key=lambda key: (self._rank(contested[key]), key)):
            self.apply_rules(
                [row for row in contested[key] if row.finding_id in self.living]
            )
        for row in self.living.values():
            self._redirect_references(row)
        for event in self.log:
            if event["event"] == "merged":
                event["survivor_id"] = self.survivor_id(event["finding_id"])
        return self._numbered()

    def survivor_id(self, finding_id: str) -> str | None:
        """The living row that stands for a row now, possibly itself; None without one."""
        while finding_id in self._merged_into:
            finding_id = self._merged_into[finding_id]
        return finding_id if finding_id in self.living else None

    def _rank(self, rows: Sequence[Row]) -> int:
        return min(self._dictionary.rank(row.name, row.ent) for row in rows)

    def apply_rules(self, rows: Sequence[Row]) -> None:
        """Keep what the rules keep of the rows of one key."""
        remaining, lost = list(rows), list[tuple[Row, str]]()
        for name, keep in self._rules if len(rows) > 1 else ():
            kept = keep(remaining)
            staying = {row.finding_id for row in kept}
            lost += [(row, name) for row in remaining if row.finding_id not in staying]
            remaining = kept
        for survivor in remaining[:1]:
            merged = set(survivor.merged_ids)
            for row, rule in lost:
                if row.positive == survivor.positive:
                    self._merge(row, survivor, rule)
                    merged.update((row.finding_id, *row.merged_ids))
            survivor.merged_ids = tuple(
                sorted(merged)
            )  # once: a study may have thousands of rows
        for row, rule in lost:
            if (
                row.finding_id in self.living
            ):  # it was not merged: it loses to the other polarity
                self._remove(row, rule, "polarity")

    def _merge(self, loser: Row, survivor: Row, rule: str) -> None:
        """Merge a row into the survivor, which keeps its wording and p; the loser's sub-findings go."""
        contradictory, separates = (
            self._dictionary.contradictory,
            self._blacklist.separates,
        )
        unlinked = contradictory(survivor.measurement, loser.measurement)
        apart = unite_attributes(
            survivor,
            loser,
            lambda one, other: separates(one, other) or contradictory(one, other),
        )
        own = {child.finding_id for child in self._children.get(loser.finding_id, ())}
        evidence = tuple(token for token in loser.evidence if token not in own)
        survivor.evidence = united_tokens(survivor.evidence, evidence)
        survivor.associate = united_tokens(survivor.associate, loser.associate)
        del self.living[loser.finding_id]
        self._merged_into[loser.finding_id] = survivor.finding_id
        if (
            unlinked and loser.source == "expansion"
        ):  # its survivor is no evidence for its parent
            self._unlinked.add(loser.finding_id)
        kind = type_of(survivor.status, loser.status)
        self.log.append(_entry(loser, "merged", "resolve", rule, conflict_type=kind))
        self.log += [
            _kept_apart(loser, survivor, "resolve", f"{column}: {cell}")
            for column, cell in apart
        ]
        self._remove_children(loser, "parent merged")

    def _remove(self, row: Row, rule: str, conflict_type: str) -> None:
        """Remove a row and its generated subtree."""
        del self.living[row.finding_id]
        event = "removed" if row.source == "original" else "discarded"
        self.log.append(
            _entry(row, event, "resolve", rule, conflict_type=conflict_type)
        )
        self._remove_children(row, "parent gone")

    def _remove_children(self, row: Row, rule: str) -> None:
        for child in self._living_children(row):
            self._remove(child, rule, "none")

    def _living_children(self, row: Row) -> list[Row]:
        return [
            child
            for child in self._children.get(row.finding_id, ())
            if child.finding_id in self.living
        ]

    def _redirect_references(self, row: Row) -> None:
        """Redirect references to merged rows, token by token; one to a removed row is dropped and logged."""
        row.evidence = self._redirected(row, row.evidence)
        row.associate = self._redirected(row, row.associate)
        if row.parent_id is not None and row.parent_id not in row.associate:
            row.associate = (row.parent_id, *row.associate)

    def _redirected(self, row: Row, references: tuple[str, ...]) -> tuple[str, ...]:
        kept: dict[str, None] = {}
        for token in references:
            gone = token in self._unlinked
            target = (
                token
                if token.startswith(BARE)
                else None
                if gone
                else self.survivor_id(token)
            )
            if target is None:
                self.log.append(
                    _entry(
                        row, "reference lost", "resolve", "target gone", reference=token
                    )
                )
            elif target != row.finding_id:
                kept[target] = None
        return tuple(kept)

    def _numbered(self) -> list[Row]:
        stated = [
            row for row in self.living.values() if row.parent_id is None
        ]  # in report order
        resolved = [*stated, *(child for row in stated for child in self._below(row))]
        for number, row in enumerate(resolved, start=1):
            row.idx = number
        return resolved

    def _below(self, row: Row) -> Iterator[Row]:
        for child in sorted(
            self._living_children(row), key=lambda child: natural(child.finding_id)
        ):
            yield child
            yield from self._below(child)

    def log_before(
        self, study: Sequence[Row], linked: Sequence[Row], by_id: Mapping[str, Row]
    ) -> Iterator[Event]:
        """What became of rows before resolution; survivors are the rows that stand for them in the end."""
        for row in study:
            if row.merged_into is not None:
                survivor = self.survivor_id(row.merged_into)
                rule = (
                    "same statement" if row.merge_similarity is None else "same meaning"
                )
                yield _entry(row, "merged", "deduplicate", rule, survivor_id=survivor)
                yield from _cells_kept_apart(row, by_id[row.merged_into])
            elif row.disposition == "excluded":
                yield _entry(row, "excluded", "deduplicate", "history section")
        for child in linked:
            rule = "stated against" if child.outcome == AGAINST else STATED
            survivor = self.survivor_id(child.linked_to or "")
            yield _entry(child, child.outcome, "expand", rule, survivor_id=survivor)


def _cells_kept_apart(row: Row, survivor: Row) -> Iterator[Event]:
    """What a merged row says and its survivor did not take over, column by column."""
    for name in ATTRIBUTE_NAMES:
        own = set(map(collapsed, cell_parts(getattr(survivor, name))))
        parts = [
            part
            for part in cell_parts(getattr(row, name))
            if collapsed(part) not in own
        ]
        if parts:
            yield _kept_apart(
                row, survivor, "deduplicate", f"{name}: {', '.join(parts)}"
            )
