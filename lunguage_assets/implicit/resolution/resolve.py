"""Joins what is implied to what is stated, and resolves every study.

The rules are in implicit.md section 5. The way of a study: its rows and sub-findings
meet here; `study.py` keeps one row for each key, by the rules of `rules.py`;
`conflicts.py` counts where they disagreed; `log.py` says what became of all others.
What must hold afterwards is in `guarantees.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from lunguage_assets.implicit.resolution.conflicts import (
    Conflict,
    conflicts_of_keys,
    stated_contradictions,
    suppressed_conflicts,
)
from lunguage_assets.implicit.resolution.log import Event, events_before
from lunguage_assets.implicit.resolution.study import StudyResolver
from lunguage_assets.implicit.rows import (
    ALREADY_STATED,
    BARE,
    GENERATED,
    SPOKEN_AGAINST,
    Row,
    by_study,
    natural,
    read_rows,
    united_tokens,
    write_rows,
)
from lunguage_assets.implicit.statements.label_file import LabelList
from lunguage_assets.tables import CONFLICTS, LUNGUAGE_PLUS_PLUS
from lunguage_assets.tables.implicit import RESOLUTION_LOG
from lunguage_assets.tables.values import values_of


class Resolution(NamedTuple):
    """LUNGUAGE_PLUS_PLUS, RESOLUTION_LOG and CONFLICTS."""

    rows: pd.DataFrame
    log: pd.DataFrame
    conflicts: pd.DataFrame


def resolve(
    deduplicated: pd.DataFrame,
    matches: pd.DataFrame,
    expansions: pd.DataFrame,
    labels: LabelList,
    ranking_version: str = "",
) -> Resolution:
    """Resolve findings and what they imply to one row per key, with a log.

    Args:
        deduplicated: DEDUPLICATED_FINDINGS of whole studies, in any order.
        matches: PATHWAY_MATCHES of them.
        expansions: EXPANSIONS of them.
        labels: what findings mean, and whose pathways they follow.
        ranking_version: noted in every row.

    Returns:
        Rows sorted by study and `idx`, which starts at 1 in every study; log;
        conflicts.
    """
    children = sorted(read_rows(expansions), key=_by_id)
    by_id = {row.finding_id: row for row in (*read_rows(deduplicated), *children)}
    for child in children:
        _join_to_parent(child, by_id)
    _note_matches(matches, by_id, ranking_version)
    resolved: list[Row] = []
    log: list[Event] = []
    conflicts: list[Conflict] = []
    for study in by_study(by_id.values()):
        living = [
            row
            for row in study
            if row.outcome == GENERATED and row.disposition == "kept"
        ]
        resolver = StudyResolver(living, labels.dictionary)
        study_rows = resolver.run()
        not_generated = (row for row in study if row.outcome != GENERATED)
        suppressed = sorted(not_generated, key=_by_id)
        conflicts += conflicts_of_keys(resolver.groups)
        conflicts += suppressed_conflicts(suppressed, by_id)
        conflicts += stated_contradictions(study_rows, labels)
        resolved += study_rows
        events = [*events_before(study, suppressed), *resolver.log]
        # Only now is it known which rows are left: a survivor may have been merged on.
        for event in events:
            event["survivor_id"] = resolver.survivor_id(event["survivor_id"])
        log += events
    for records in (log, conflicts):
        for number, record in enumerate(records):
            record["number"] = number
    return Resolution(
        rows=write_rows(LUNGUAGE_PLUS_PLUS, resolved),
        log=RESOLUTION_LOG.frame(log),
        conflicts=CONFLICTS.frame(conflicts),
    )


def _by_id(row: Row) -> tuple[int, str]:
    return natural(row.finding_id)


def _note_matches(
    matches: pd.DataFrame, by_id: Mapping[str, Row], ranking_version: str
) -> None:
    """Note in every row its pathway, or why it has none, and its ranking."""
    columns = values_of(matches, "finding_id", "pathway_id", "pathway", "reason")
    for finding_id, pathway_id, pathway, reason in columns:
        row = by_id[finding_id]
        row.pathway_id = pathway_id
        row.pathway = pathway
        row.match_reason = reason
        row.ranking_version = ranking_version
        row.root_id = row.root_id or finding_id


def _join_to_parent(child: Row, by_id: dict[str, Row]) -> None:
    """Give a sub-finding what its parent has, and the parent its evidence.

    The evidence is the sub-finding itself, or the row that states it already.
    """
    parent = by_id[child.parent_id or ""]
    child.source = "expansion"
    child.encoder = parent.encoder
    child.mode = parent.mode
    token = child.finding_id
    if child.outcome == ALREADY_STATED:
        stating = by_id[child.linked_to or ""]
        # A history row is no row of the result: its bare name is left of it.
        is_excluded = stating.disposition == "excluded"
        token = BARE + stating.name if is_excluded else stating.finding_id
    if child.outcome != SPOKEN_AGAINST and token != parent.finding_id:
        parent.evidence = united_tokens(parent.evidence, (token,))
