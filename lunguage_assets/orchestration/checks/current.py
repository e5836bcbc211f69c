"""The check that names stale batches of a ranker, and why they are stale; `current` decides, this only
reports.

A changed setting or a new ranking makes no batch be fitted again by itself: that may cost money, and a person
decides.
"""

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
