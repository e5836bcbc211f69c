"""The check that names judges which could join the panel: they have played all comparisons and are not
pooled.

A candidate ranks alone and changes nothing of the panel; a person decides whether it joins.
"""

import dagster as dg

from lunguage_assets.current.standing import Standings
from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.judges.configuration import PANEL
from lunguage_assets.orchestration.checks.explicit import INVALID_SHARE
from lunguage_assets.orchestration.checks.report import result_for
from lunguage_assets.orchestration.partitions import Partitions, partition_of
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.tables import COMPARISON_MATCHES

REMEDY = (
    "To pool them, add them to members = [...] of the preset's [panels...] table in the "
    "judges file and take them"
    " out of candidates; then `lunguage run` ranks the panel again and fits every batch again (ask"
    " `lunguage estimate` first when language models judge). To keep the panel as it is, "
    "leave it so: this check"
    " only warns."
)


def new_members(standings: Standings) -> list[str]:
    """Active judges outside the panel with current matches, nearly all of them valid."""
    pooled = standings.judges.members(PANEL)
    return [
        judge
        for judge in standings.judges.active_judges
        if judge not in pooled
        and standings.is_current("comparison_matches", judge)
        and _answers(standings, judge)
    ]


def _answers(standings: Standings, judge: str) -> bool:
    path = partition_path(standings.home.tables, "comparison_matches", judge)
    matches = read_table(COMPARISON_MATCHES, path)
    return len(matches) > 0 and bool((matches["answer"] == "invalid").mean() <= INVALID_SHARE)


def membership_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    """`panel_complete` on rankings."""

    @dg.asset_check(
        asset=dg.AssetKey("reference_ranking"),
        name="panel_complete",
        description="Every active judge that has played all comparisons is pooled by the panel. (Rankings of"
        " single judges always pass.)",
        partitions_def=partitions.of("reference_ranking"),
    )
    def panel_complete(context: dg.AssetCheckExecutionContext, home: HomeResource) -> dg.AssetCheckResult:
        ranker = partition_of(context)
        outside = new_members(home.standings()) if ranker == PANEL else []
        return result_for(ranker, not outside, {"could_join": ", ".join(outside) or "none"}, REMEDY)

    return [panel_complete]
