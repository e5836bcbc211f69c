"""Checks that say which judge could join the panel: one that has played all comparisons and is not pooled.

A candidate ranks alone and changes nothing of the panel; a person decides whether it joins. `panel_complete`
is on the panel's ranking, and is evaluated when that is made and whenever a judge has played, so that it is
seen without making the ranking again.
"""

from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.judges.configuration import PANEL
from lunguage_assets.orchestration.checks.explicit import INVALID_SHARE
from lunguage_assets.orchestration.checks.report import note_beside, result, result_for
from lunguage_assets.orchestration.latest import latest_records, notes
from lunguage_assets.orchestration.partitions import Partitions, partition_of
from lunguage_assets.orchestration.withheld import asset_check

PANEL_COMPLETE = dg.AssetCheckKey(dg.AssetKey("reference_ranking"), "panel_complete")

REMEDY = (
    "To pool them, add them to members = [...] of the preset's [panels...] table in the "
    "judges file and take them out of candidates; then "
    "`lunguage run` ranks the panel anew and fits every batch again (ask `lunguage estimate` "
    "first when language models judge). To keep the panel "
    "as it is, leave it so: this check only warns."
)


def new_members(instance: dg.DagsterInstance, partitions: Partitions) -> list[str]:
    """Active judges outside the panel whose recorded matches are of the vocabulary of the panel's ranking,
    and nearly all valid.
    """
    ranking = notes(instance, "reference_ranking", {PANEL}).get(PANEL)
    if ranking is None:
        return []
    played = notes(instance, "comparison_matches")
    judges = partitions.of("comparison_matches").get_partition_keys()
    outside = [judge for judge in judges if judge not in partitions.panel_members[PANEL]]
    return [judge for judge in outside if _has_played(played.get(judge, {}), ranking["vocabulary_version"])]


def _has_played(noted: dict[str, Any], vocabulary: str) -> bool:
    matches = noted.get("matches", 0)
    return (
        noted.get("vocabulary_version") == vocabulary
        and matches > 0
        and noted["invalid"] <= INVALID_SHARE * matches
    )


def membership_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    """`panel_complete` on rankings, and `membership` on matches."""

    @asset_check(
        asset=PANEL_COMPLETE.asset_key,
        name=PANEL_COMPLETE.name,
        description="Every active judge that has played all comparisons is pooled by the panel. (Rankings of "
        "single judges always pass.)",
        partitions_def=partitions.of("reference_ranking"),
    )
    def panel_complete(context: dg.AssetCheckExecutionContext, frame: pd.DataFrame) -> dg.AssetCheckResult:
        ranker = partition_of(context)
        return _told(ranker, new_members(context.instance, partitions) if ranker == PANEL else [])

    @asset_check(
        asset=dg.AssetKey("comparison_matches"),
        name="membership",
        description="Says whether the panel pools this judge; a judge outside with valid matches is noted on "
        "the panel's ranking. Always passes.",
        partitions_def=partitions.of("comparison_matches"),
    )
    def membership(context: dg.AssetCheckExecutionContext, frame: pd.DataFrame) -> dg.AssetCheckResult:
        member = partition_of(context) in partitions.panel_members[PANEL]
        if not member:
            _note_on_panel(context, new_members(context.instance, partitions))
        return result(context, True, {"in_the_panel": "yes" if member else "no"}, "")

    return [panel_complete, membership]


def _note_on_panel(context: dg.AssetCheckExecutionContext, found: list[str]) -> None:
    """The panel's ranking is not made anew for this, so that no run of its own would tell: this run says
    it.
    """
    record = latest_records(context.instance, PANEL_COMPLETE.asset_key.path[-1], {PANEL}).get(PANEL)
    if record is not None:
        note_beside(context.instance, context.run, PANEL_COMPLETE, record, _told(PANEL, found))


def _told(ranker: str, found: list[str]) -> dg.AssetCheckResult:
    return result_for(ranker, not found, {"new_members_available": ", ".join(found) or "none"}, REMEDY)
