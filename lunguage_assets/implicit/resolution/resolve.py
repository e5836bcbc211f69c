"""Joins expansions to the report's rows and resolves contradictions (implicit.md section 5).

Reading, joining and writing frames is here; one study is resolved in `study_resolver.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.implicit.expansion.expand import Expansion
from lunguage_assets.implicit.merging.blacklist import Blacklist, load_blacklist
from lunguage_assets.implicit.merging.distinctions import Apart
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.implicit.resolution.conflicts import (
    Conflict,
    Rule,
    detect,
    rules_for,
    stated_contradictions,
    suppressed,
)
from lunguage_assets.implicit.resolution.study_resolver import LogEntry, StudyResolver, entry, kept_apart
from lunguage_assets.implicit.rows import (
    ATTRIBUTE_NAMES,
    BARE,
    Row,
    by_study,
    natural,
    read_rows,
    values_of,
    write_rows,
)
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.implicit.words import cell_parts, collapsed
from lunguage_assets.tables import (
    CONFLICTS,
    DEDUPLICATED_FINDINGS,
    FINDING_COLUMNS,
    LUNGUAGE_PLUS_PLUS,
    RESOLUTION_LOG,
)

GENERATED, STATED, AGAINST = "generated", "already stated", "spoken against"
_BELIEF_COLUMNS = ("prob", "p_low", "p_high", "support", "p_source", "prob_is_bound")
_EXPANDED_COLUMNS = (*FINDING_COLUMNS, *_BELIEF_COLUMNS, "parent_id", "root_id")


@dataclass(frozen=True)
class Resolution:
    """LUNGUAGE_PLUS_PLUS, RESOLUTION_LOG and CONFLICTS."""

    rows: pd.DataFrame
    log: pd.DataFrame
    conflicts: pd.DataFrame


def resolve(
    deduplicated: pd.DataFrame,
    expansion: Expansion,
    dictionary: PathwayDictionary,
    ranking_version: str = "",
    *,
    rules: Sequence[Rule] | None = None,
    blacklist: Blacklist | None = None,
) -> Resolution:
    """DEDUPLICATED_FINDINGS and an `Expansion` to one row per key, with a log of all other rows.

    `rules` are the rules of resolution in order, by default those of the mode that the rows were merged in.
    `blacklist` keeps words of attributes apart, by default the packaged one. Rows are sorted by study and
    `idx`, which starts at 1 in every study. Independent of the order of the input rows.
    """
    delivered = read_rows(deduplicated, DEDUPLICATED_FINDINGS.names)
    generated, linked_rows = _expanded_rows(expansion.expansions, delivered)
    apart = _apart(dictionary, blacklist)
    listed = load_label_list(dictionary=dictionary)
    _note_matches([*delivered, *generated], expansion.matches)
    for row in delivered:
        row.root_id = row.finding_id
    living: dict[str, list[Row]] = {}
    for row in (*(row for row in delivered if row.disposition == "kept"), *generated):
        row.ranking_version = ranking_version
        living.setdefault(row.study_id, []).append(row)
    links: dict[str, list[_Link]] = {}
    for link in linked_rows:
        links.setdefault(link.child.study_id, []).append(link)
    resolved: list[Row] = []
    log: list[LogEntry] = []
    conflicts: list[Conflict] = []
    for study in by_study(delivered):
        study_id = study[0].study_id
        rows, linked = living.get(study_id, []), links.get(study_id, [])
        resolver = StudyResolver(
            rows, dictionary, rules_for(study[0].mode) if rules is None else rules, apart
        )
        conflicts += detect(resolver.groups)
        conflicts += suppressed(
            (one.child, one.stating)
            for one in linked
            if one.outcome == STATED and one.stating.disposition != "excluded"
        )
        study_rows = resolver.run()
        conflicts += stated_contradictions(study_rows, listed)
        resolved += study_rows
        log += _log_of(study, linked, resolver)
    return _resolution(resolved, log, conflicts)


@dataclass(frozen=True, slots=True)
class _Link:
    """A sub-finding that is not a row, and the stated row that says so, or speaks against it."""

    child: Row
    stating: Row
    outcome: str


def _expanded_rows(expansions: pd.DataFrame, delivered: Sequence[Row]) -> tuple[list[Row], list[_Link]]:
    """The generated rows, and every other child with its stated row.

    The parents' evidence gains the children and the rows that state them.
    """
    children = read_rows(expansions, _EXPANDED_COLUMNS)
    said = {own: rest for own, *rest in values_of(expansions, "finding_id", "outcome", "linked_to")}
    by_id = {row.finding_id: row for row in (*delivered, *children)}
    generated, linked = [], []
    # evidence in the order of the pathway
    for child in sorted(children, key=lambda child: natural(child.finding_id)):
        outcome, link = said[child.finding_id]
        child.source = "expansion"
        assert child.parent_id is not None
        parent = by_id[child.parent_id]
        child.encoder, child.mode = parent.encoder, parent.mode
        if outcome == GENERATED:
            generated.append(child)
            _support(parent, child.finding_id)
        else:
            linked.append(_Link(child, by_id[link], outcome))
        if link is not None and outcome != AGAINST:
            stating = by_id[link]
            _support(parent, BARE + stating.name if stating.disposition == "excluded" else link)
    return generated, linked


def _support(parent: Row, evidence: str) -> None:
    if evidence != parent.finding_id and evidence not in parent.evidence:
        parent.evidence = (*parent.evidence, evidence)


def _apart(dictionary: PathwayDictionary, blacklist: Blacklist | None) -> Apart:
    """Cells exclude each other by the blacklist, or by the directions that they state."""
    separates = (blacklist or load_blacklist()).separates_phrases
    return lambda one, other: separates(one, other) or dictionary.contradictory(one, other)


def _note_matches(rows: Sequence[Row], matches: pd.DataFrame) -> None:
    names = ("finding_id", "pathway_id", "pathway", "reason")
    found = {own: rest for own, *rest in values_of(matches, *names)}
    for row in rows:
        row.pathway_id, row.pathway, row.match_reason = found[row.finding_id]


def _log_of(study: Sequence[Row], linked: Sequence[_Link], resolver: StudyResolver) -> list[LogEntry]:
    """The log of a study's rows at every stage; survivors are the rows that stand for them in the end."""
    log = []
    by_id = {row.finding_id: row for row in study}
    for row in study:
        if row.merged_into is not None:
            survivor = resolver.stand_in(row.merged_into)
            rule = "same statement" if row.merge_similarity is None else "same meaning"
            log.append(entry(row, "merged", "deduplicate", rule, survivor_id=survivor))
            log += _cells_kept_apart(row, by_id[row.merged_into])
        elif row.disposition == "excluded":
            log.append(entry(row, "excluded", "deduplicate", "history section"))
    for link in linked:
        rule = "stated against" if link.outcome == AGAINST else STATED
        survivor = resolver.stand_in(link.stating.finding_id)
        log.append(entry(link.child, link.outcome, "expand", rule, survivor_id=survivor))
    return log + resolver.log


def _cells_kept_apart(row: Row, survivor: Row) -> list[LogEntry]:
    """What a merged row says and its survivor did not take over, column by column."""
    lost = []
    for name in ATTRIBUTE_NAMES:
        kept, cell = getattr(survivor, name), getattr(row, name)
        if not cell or cell == kept:
            continue
        own = {collapsed(part) for part in cell_parts(kept)}
        parts = [part for part in cell_parts(cell) if collapsed(part) not in own]
        if parts:
            lost.append(kept_apart(row, survivor, "deduplicate", f"{name}: {', '.join(parts)}"))
    return lost


def _resolution(
    resolved: Sequence[Row], log: Sequence[LogEntry], conflicts: Sequence[Conflict]
) -> Resolution:
    for number, event in enumerate(log):
        event.number = number
    for number, conflict in enumerate(conflicts):
        conflict.number = number
    return Resolution(
        write_rows(LUNGUAGE_PLUS_PLUS, resolved),
        write_rows(RESOLUTION_LOG, log),
        write_rows(CONFLICTS, conflicts),
    )
