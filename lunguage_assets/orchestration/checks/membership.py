"""The check that names judges which could join the panel: they have played all comparisons and are not
pooled.

A candidate ranks alone and changes nothing of the panel; a person decides whether it joins.
"""

from lunguage_assets.judges.configuration import PANEL
from lunguage_assets.orchestration.checks.explicit import INVALID_SHARE
from lunguage_assets.orchestration.checks.look import Found, Look, check


def new_members(look: Look) -> list[str]:
    """Active judges outside the panel with current matches, nearly all of them valid."""
    now, judges = look.resource.standings(), look.resource.judges
    outside = [judge for judge in judges.active_judges if judge not in judges.members(PANEL)]
    played = [judge for judge in outside if now.is_current("comparison_matches", judge)]
    return [judge for judge in played if _answers(look, judge)]


def _answers(look: Look, judge: str) -> bool:
    matches = look.table("comparison_matches", judge=judge)
    return len(matches) > 0 and bool((matches["answer"] == "invalid").mean() <= INVALID_SHARE)


@check(
    "reference_ranking",
    "panel_complete",
    "Every active judge that has played all comparisons is pooled by the panel. (Rankings of single judges "
    "always pass.)",
)
def panel_complete(look: Look) -> Found:
    outside = new_members(look) if look.keys["ranker"] == PANEL else []
    return Found(
        not outside,
        {"could_join": ", ".join(outside) or "none"},
        "To pool them, add them to members = [...] of the preset's [panels...] table in the judges file and "
        "take them out of candidates; then `lunguage run` ranks the panel again and fits every batch again "
        "(ask `lunguage estimate` first when language models judge). To keep the panel as it is, leave it "
        "so: this check only warns.",
    )
