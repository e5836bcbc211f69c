"""Joins what is implied to what is stated, and resolves every study.

The rules are in implicit.md section 5. The way of a study: its rows and sub-findings
meet here; `conflicts.py` counts where they disagree; `study.py` keeps one row for each
key, by the rules of `rules.py`; `log.py` says what became of all others. What must hold
afterwards is in `guarantees.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.merging.merge_constraints import (
    Blacklist,
    load_blacklist,
)
from lunguage_assets.implicit.pathways.pathways import (
    PathwayDictionary,
    load_dictionary,
)
from lunguage_assets.implicit.resolution.conflicts import (
    Conflict,
    conflicts_of_keys,
    stated_contradictions,
    suppressed_conflicts,
)
from lunguage_assets.implicit.resolution.log import Event, events_before
from lunguage_assets.implicit.resolution.study import StudyResolver
from lunguage_assets.implicit.rows import (
    BARE,
    GENERATED,
    SPOKEN_AGAINST,
    Row,
    by_study,
    natural,
    read_rows,
    values_of,
    write_rows,
)
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.tables import CONFLICTS, LUNGUAGE_PLUS_PLUS
from lunguage_assets.tables.implicit import RESOLUTION_LOG


class Resolution(NamedTuple):
    """LUNGUAGE_PLUS_PLUS, RESOLUTION_LOG and CONFLICTS."""

    rows: pd.DataFrame
    log: pd.DataFrame
    conflicts: pd.DataFrame


class ResolutionTools(NamedTuple):
    """What `resolve` needs beside its frames, in the order of its parameters."""

    dictionary: PathwayDictionary
    ranking_version: str
    blacklist: Blacklist
    labels: LabelList


def resolution_tools(
    terms: pd.DataFrame, version: str, pathways: Path | None, blacklist: Path | None
) -> ResolutionTools:
    """Load what `resolve` needs beside its frames.

    Args:
        terms: TERMS of the batch.
        version: of the ranking.
        pathways: file of the home, if there is one.
        blacklist: file of the home, if there is one.
    """
    dictionary = load_dictionary(pathways, Vocabulary.from_terms(terms))
    labels = load_label_list(dictionary=dictionary)
    return ResolutionTools(dictionary, version, load_blacklist(blacklist), labels)


def resolve(
    deduplicated: pd.DataFrame,
    matches: pd.DataFrame,
    expansions: pd.DataFrame,
    dictionary: PathwayDictionary,
    ranking_version: str = "",
    blacklist: Blacklist | None = None,
    labels: LabelList | None = None,
) -> Resolution:
    """Resolve findings and what they imply to one row per key, with a log.

    Args:
        deduplicated: DEDUPLICATED_FINDINGS of whole studies, in any order.
        matches: PATHWAY_MATCHES of them.
        expansions: EXPANSIONS of them.
        dictionary: whose pathways they follow.
        ranking_version: noted in every row.
        blacklist: keeps words of attributes apart; by default the packaged one.
        labels: what findings mean; by default the packaged list.

    Returns:
        Rows sorted by study and `idx`, which starts at 1 in every study; log;
        conflicts.
    """
    blacklist = blacklist or load_blacklist()
    labels = labels or load_label_list(dictionary=dictionary)
    delivered = read_rows(deduplicated)
    children = sorted(
        read_rows(expansions), key=lambda child: natural(child.finding_id)
    )
    by_id = {row.finding_id: row for row in (*delivered, *children)}
    for child in children:
        _join_to_parent(child, by_id)
    _note_pathways((*delivered, *children), matches, ranking_version)
    living: dict[str, list[Row]] = {}
    suppressed: dict[str, list[Row]] = {}
    for row in (*delivered, *children):
        if row.outcome != GENERATED:
            suppressed.setdefault(row.study_id, []).append(row)
        elif row.disposition == "kept":
            living.setdefault(row.study_id, []).append(row)

    resolved: list[Row] = []
    log: list[Event] = []
    conflicts: list[Conflict] = []
    for study in by_study(delivered):
        study_id = study[0].study_id
        not_generated = suppressed.get(study_id, [])
        resolver = StudyResolver(living.get(study_id, []), dictionary, blacklist)
        study_rows = resolver.run()
        conflicts += conflicts_of_keys(resolver.groups)
        conflicts += suppressed_conflicts(not_generated, by_id)
        conflicts += stated_contradictions(study_rows, labels)
        resolved += study_rows
        log += events_before(study, not_generated, by_id, resolver.survivor_id)
        log += resolver.log
    return resolution_of(resolved, log, conflicts)


def _join_to_parent(child: Row, by_id: dict[str, Row]) -> None:
    """Give a sub-finding what its parent has, and the parent its evidence.

    The evidence is the sub-finding itself, or the row that states it already.
    """
    parent = by_id[child.parent_id or ""]
    child.source = "expansion"
    child.encoder = parent.encoder
    child.mode = parent.mode
    token = _evidence_for_parent(child, by_id)
    if token and token != parent.finding_id and token not in parent.evidence:
        parent.evidence = (*parent.evidence, token)


def _evidence_for_parent(child: Row, by_id: dict[str, Row]) -> str:
    """Name the row that shows the parent's finding; empty without one."""
    if child.outcome == GENERATED:
        return child.finding_id
    stating = by_id.get(child.linked_to or "")
    if stating is None or child.outcome == SPOKEN_AGAINST:
        return ""
    # A history row is no row of the result: its bare name is left of it.
    is_excluded = stating.disposition == "excluded"
    return BARE + stating.name if is_excluded else stating.finding_id


def _note_pathways(
    rows: Sequence[Row], matches: pd.DataFrame, ranking_version: str
) -> None:
    """Note in every row its pathway or the reason for none, its ranking, its root."""
    columns = values_of(matches, "finding_id", "pathway_id", "pathway", "reason")
    match_by_id = {finding_id: match for finding_id, *match in columns}
    for row in rows:
        if row.outcome != GENERATED:
            continue
        row.pathway_id, row.pathway, row.match_reason = match_by_id[row.finding_id]
        row.ranking_version = ranking_version
        row.root_id = row.root_id or row.finding_id


def resolution_of(
    resolved: Sequence[Row], log: Sequence[Event], conflicts: Sequence[Conflict]
) -> Resolution:
    """Write rows, events and conflicts as tables, in their order."""
    return Resolution(
        rows=write_rows(LUNGUAGE_PLUS_PLUS, resolved),
        log=RESOLUTION_LOG.frame(_numbered(log)),
        conflicts=CONFLICTS.frame(_numbered(conflicts)),
    )


def _numbered(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"number": number, **record} for number, record in enumerate(records)]
