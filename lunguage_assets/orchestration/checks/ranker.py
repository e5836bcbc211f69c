"""Checks of a ranker: its stale batches with what made them stale, and judges that could join its panel.

`current` decides, these only report. A changed setting or a new ranking makes no batch be fitted again by
itself, and a candidate ranks alone until a person lets it join: both may cost money.
"""

from lunguage_assets.judges.configuration import PANEL
from lunguage_assets.orchestration.checks.explicit import INVALID_SHARE
from lunguage_assets.orchestration.checks.look import Found, Look, check
from lunguage_assets.orchestration.metadata import markdown

SHOWN = 50
"""Batches listed in a report."""


@check(
    "reference_ranking",
    "fits_current",
    "No result of this ranker is stale: ranking, settings, pathways, corrections and judges are those that "
    "every batch was made with.",
)
def fits_current(look: Look) -> Found:
    """It warns, because every table by itself is right."""
    ranker, now = look.keys["ranker"], look.resource.standings()
    complete, stale = now.complete_batches(ranker), now.stale_batches(ranker)
    rows = [(batch, ", ".join(causes)) for batch, causes in stale.items()]
    more = [(f"and {len(stale) - SHOWN} more", "")] if len(stale) > SHOWN else []
    metadata = {
        "batches": len(complete),
        "stale": len(stale),
        "not_complete": len(now.batches) - len(complete),
        "report": markdown(["batch", "stale because of"], rows[:SHOWN] + more, "No batch is stale."),
    }
    return Found(
        not stale,
        metadata,
        "Launch the job `everything`, or run `lunguage run`: both make again what is stale, and nothing "
        "else. Ask `lunguage estimate` first when language models judge. Until then a release of these "
        "batches is refused.",
    )


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
