"""Joins expansions to the report's rows and resolves contradictions (implicit.md section 5).

Reading, joining and writing frames is here; one study is resolved in `study_resolver.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.merging.apart import Apart, Blacklist, load_blacklist
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary, load_dictionary
from lunguage_assets.implicit.resolution.conflicts import (
    PAPER_RULES,
    RULES,
    Conflict,
    Rule,
    detect,
    stated_contradictions,
    suppressed,
)
from lunguage_assets.implicit.resolution.study_resolver import LogEntry, StudyResolver, entry, kept_apart
from lunguage_assets.implicit.rows import (
    ATTRIBUTE_NAMES,
    BARE,
    PAPER,
    Row,
    by_study,
    cell_parts,
    collapsed,
    natural,
    read_rows,
    values_of,
    write_rows,
)
from lunguage_assets.implicit.statements.label_file import load_label_list
from lunguage_assets.tables import CONFLICTS, LUNGUAGE_PLUS_PLUS, RESOLUTION_LOG

GENERATED, STATED, AGAINST = "generated", "already stated", "spoken against"


class Resolution(NamedTuple):
    """LUNGUAGE_PLUS_PLUS, RESOLUTION_LOG and CONFLICTS."""

    rows: pd.DataFrame
    log: pd.DataFrame
    conflicts: pd.DataFrame


def resolution_tools(
    terms: pd.DataFrame, version: str, pathways: Path | None, blacklist: Path | None
) -> tuple[PathwayDictionary, str, Blacklist]:
    """What `resolve` needs beside its frames: files of the home, and the version of the ranking."""
    return load_dictionary(pathways, Vocabulary.from_terms(terms)), version, load_blacklist(blacklist)


def resolve(
    deduplicated: pd.DataFrame,
    matches: pd.DataFrame,
    expansions: pd.DataFrame,
    dictionary: PathwayDictionary,
    ranking_version: str = "",
    blacklist: Blacklist | None = None,
    rules: Sequence[Rule] | None = None,
) -> Resolution:
    """DEDUPLICATED_FINDINGS, PATHWAY_MATCHES and EXPANSIONS to one row per key, with a log of all other rows.

    `rules` are the rules of resolution in order, by default those of the mode that the rows were merged in.
    `blacklist` keeps words of attributes apart, by default the packaged one. Rows are sorted by study and
    `idx`, which starts at 1 in every study. Independent of the order of the input rows.
    """
    delivered = read_rows(deduplicated)
    by_id = {row.finding_id: row for row in delivered}
    children = _join(read_rows(expansions), by_id)
    known = {own: rest for own, *rest in values_of(matches, "finding_id", "pathway_id", "pathway", "reason")}
    apart, listed = apart_by(dictionary, blacklist), load_label_list(dictionary=dictionary)
    living: dict[str, list[Row]] = {}
    linked: dict[str, list[Row]] = {}
    for row in (*delivered, *children):
        if row.outcome != GENERATED:
            linked.setdefault(row.study_id, []).append(row)
            continue
        row.pathway_id, row.pathway, row.match_reason = known[row.finding_id]
        row.ranking_version, row.root_id = ranking_version, row.root_id or row.finding_id
        if row.disposition == "kept":
            living.setdefault(row.study_id, []).append(row)
    resolved: list[Row] = []
    log: list[LogEntry] = []
    conflicts: list[Conflict] = []
    for study in by_study(delivered):
        own, links = study[0].study_id, linked.get(study[0].study_id, [])
        by_mode = PAPER_RULES if study[0].mode == PAPER else RULES
        resolver = StudyResolver(living.get(own, []), dictionary, by_mode if rules is None else rules, apart)
        conflicts += detect(resolver.groups)
        for child in links:
            stating = by_id[child.linked_to or ""]
            if child.outcome == STATED and stating.disposition != "excluded":
                conflicts += suppressed(child, stating)
        study_rows = resolver.run()
        conflicts += stated_contradictions(study_rows, listed)
        resolved += study_rows
        log += _log_of(study, links, by_id, resolver)
    return resolution_of(resolved, log, conflicts)


def _join(children: Sequence[Row], by_id: dict[str, Row]) -> list[Row]:
    """The children in the order of the pathways, with mode and encoder of their parents.

    They join `by_id`; the evidence of the parents gains them, or the rows that state them.
    """
    by_id |= {child.finding_id: child for child in children}
    in_order = sorted(children, key=lambda child: natural(child.finding_id))
    for child in in_order:
        parent, stating = by_id[child.parent_id or ""], by_id.get(child.linked_to or "")
        child.source, child.encoder, child.mode = "expansion", parent.encoder, parent.mode
        if child.outcome == GENERATED:
            _support(parent, child.finding_id)
        if stating is not None and child.outcome != AGAINST:
            excluded = stating.disposition == "excluded"
            _support(parent, BARE + stating.name if excluded else stating.finding_id)
    return in_order


def _support(parent: Row, evidence: str) -> None:
    if evidence != parent.finding_id and evidence not in parent.evidence:
        parent.evidence = (*parent.evidence, evidence)


def apart_by(dictionary: PathwayDictionary, blacklist: Blacklist | None) -> Apart:
    """Cells exclude each other by the blacklist, or by the directions that they state."""
    separates = (blacklist or load_blacklist()).separates
    return lambda one, other: separates(one, other) or dictionary.contradictory(one, other)


def _log_of(
    study: Sequence[Row], linked: Sequence[Row], by_id: dict[str, Row], resolver: StudyResolver
) -> list[LogEntry]:
    """The log of a study's rows at every stage; survivors are the rows that stand for them in the end."""
    log = []
    for row in study:
        if row.merged_into is not None:
            survivor = resolver.stand_in(row.merged_into)
            rule = "same statement" if row.merge_similarity is None else "same meaning"
            log.append(entry(row, "merged", "deduplicate", rule, survivor_id=survivor))
            log += _cells_kept_apart(row, by_id[row.merged_into])
        elif row.disposition == "excluded":
            log.append(entry(row, "excluded", "deduplicate", "history section"))
    for child in linked:
        rule = "stated against" if child.outcome == AGAINST else STATED
        survivor = resolver.stand_in(child.linked_to or "")
        log.append(entry(child, child.outcome, "expand", rule, survivor_id=survivor))
    return log + resolver.log


def _cells_kept_apart(row: Row, survivor: Row) -> list[LogEntry]:
    """What a merged row says and its survivor did not take over, column by column."""
    lost = []
    for name in ATTRIBUTE_NAMES:
        kept, cell = getattr(survivor, name), getattr(row, name)
        if cell and cell != kept:
            own = {collapsed(part) for part in cell_parts(kept)}
            parts = [part for part in cell_parts(cell) if collapsed(part) not in own]
            if parts:
                lost.append(kept_apart(row, survivor, "deduplicate", f"{name}: {', '.join(parts)}"))
    return lost


def resolution_of(
    resolved: Sequence[Row], log: Sequence[dict[str, Any]], conflicts: Sequence[dict[str, Any]]
) -> Resolution:
    """Rows, events and conflicts as tables, in their order."""
    for events in (log, conflicts):
        for number, event in enumerate(events):
            event["number"] = number
    rows = write_rows(LUNGUAGE_PLUS_PLUS, resolved)
    return Resolution(rows, RESOLUTION_LOG.frame(log), CONFLICTS.frame(conflicts))
