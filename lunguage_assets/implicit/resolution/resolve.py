"""Joins expansions to the report's rows and resolves contradictions (implicit.md section 5): frames,
conflicts and the log. One study is resolved in `study_resolver.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.merging.apart import Blacklist, load_blacklist
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary, load_dictionary
from lunguage_assets.implicit.resolution.study_resolver import (
    AGAINST,
    GENERATED,
    STATED,
    LogEntry,
    StudyResolver,
    type_of,
)
from lunguage_assets.implicit.rows import (
    BARE,
    PAPER,
    Row,
    by_study,
    natural,
    read_rows,
    values_of,
    write_rows,
)
from lunguage_assets.implicit.statements.against import Key, Statements
from lunguage_assets.implicit.statements.label_file import LabelList, load_label_list
from lunguage_assets.tables import CONFLICTS, LUNGUAGE_PLUS_PLUS
from lunguage_assets.tables.columns import CONFLICT_SOURCES, CONFLICT_TYPES
from lunguage_assets.tables.implicit import RESOLUTION_LOG

Conflict = dict[str, Any]
"""One type and source of disagreement in one group: a row of CONFLICTS."""


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
) -> Resolution:
    """DEDUPLICATED_FINDINGS, PATHWAY_MATCHES and EXPANSIONS to one row per key, with a log of all other rows.

    `blacklist` keeps words of attributes apart, by default the packaged one. Rows are sorted by study and
    `idx`, which starts at 1 in every study. Independent of the order of the input rows.
    """
    delivered = read_rows(deduplicated)
    by_id = {row.finding_id: row for row in delivered}
    children = _join(read_rows(expansions), by_id)
    known = {own: rest for own, *rest in values_of(matches, "finding_id", "pathway_id", "pathway", "reason")}
    blacklist, listed = blacklist or load_blacklist(), load_label_list(dictionary=dictionary)
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


# conflicts


def detect(groups: dict[Key, list[Row]]) -> Iterator[Conflict]:
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
            taking_part.setdefault((kind, source), set()).update(row.finding_id for row in (*some, *others))
        for (kind, source), ids in sorted(taking_part.items()):
            conflict = _conflict(groups[key][0], CONFLICT_TYPES[kind], CONFLICT_SOURCES[source], ids)
            yield conflict | {"location_parts": key[2]}


def _suppressed(links: Iterable[Row], by_id: Mapping[str, Row]) -> Iterator[Conflict]:
    """Conflicts of certainty between a child that was not generated and the row that states it."""
    for child in links:
        stating = by_id[child.linked_to or ""]
        stated = child.outcome == STATED and stating.disposition != "excluded"
        if stated and child.status != stating.status:
            kind, ids = type_of(child.status, stating.status), (child.finding_id, stating.finding_id)
            yield _conflict(child, kind, CONFLICT_SOURCES[1], ids) | {"suppressed": True}


def _stated_contradictions(rows: Sequence[Row], listed: LabelList) -> Iterator[Conflict]:
    """Stated rows of a resolved study that contradict each other by containment: both stay. None in mode
    `paper`.
    """
    stated = [row for row in rows if row.source == "original"]
    if not stated or stated[0].mode == PAPER or all(row.positive == stated[0].positive for row in stated):
        return
    found: dict[tuple[str, ...], Row] = {}
    for denial, presence in Statements(listed, stated).contradictions():
        found.setdefault(tuple(sorted((denial.finding_id, presence.finding_id))), presence)
    for ids, presence in sorted(found.items()):
        yield _conflict(presence, "stated_contradiction", CONFLICT_SOURCES[0], ids)


def _conflict(row: Row, kind: str, source: str, ids: Iterable[str]) -> Conflict:
    """A conflict about the finding of a row, between the rows of these ids."""
    return {
        "number": 0,
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
    resolved: Sequence[Row], log: Sequence[LogEntry], conflicts: Sequence[Conflict]
) -> Resolution:
    """Rows, events and conflicts as tables, in their order."""
    for events in (log, conflicts):
        for number, event in enumerate(events):
            event["number"] = number
    rows = write_rows(LUNGUAGE_PLUS_PLUS, resolved)
    return Resolution(rows, RESOLUTION_LOG.frame(log), CONFLICTS.frame(conflicts))
