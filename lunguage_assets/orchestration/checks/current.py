"""The check that names stale batches of a ranker, and why they are stale; `current` decides, this only
reports.

A changed setting or a new ranking makes no batch be fitted again by itself: that may cost money, and a person
decides.
"""

import dagster as dg

from lunguage_assets.orchestration.checks.report import markdown, result_for
from lunguage_assets.orchestration.metadata import plain_failures
from lunguage_assets.orchestration.partitions import Partitions, partition_of
from lunguage_assets.orchestration.resources import HomeResource

FITS_CURRENT = dg.AssetCheckKey(dg.AssetKey("reference_ranking"), "fits_current")

SHOWN = 50
"""Batches listed in a report."""

REMEDY = (
    "Launch the job `everything`, or run `lunguage run`: both make again what is stale, and nothing else. Ask"
    " `lunguage estimate` first when language models judge. Until then a release of these batches is refused."
)


def current_checks(partitions: Partitions) -> list[dg.AssetChecksDefinition]:
    """`fits_current`; it warns, because every table by itself is right."""

    @dg.asset_check(
        asset=FITS_CURRENT.asset_key,
        name=FITS_CURRENT.name,
        description="No result of this ranker is stale: ranking, settings, pathways, corrections and judges "
        "are"
        " those that every batch was made with.",
        partitions_def=partitions.of("reference_ranking"),
    )
    def fits_current(context: dg.AssetCheckExecutionContext, home: HomeResource) -> dg.AssetCheckResult:
        ranker = partition_of(context)
        with plain_failures():
            now = home.standings()
            complete, stale = now.complete_batches(ranker), now.stale_batches(ranker)
        rows = [(batch, ", ".join(causes)) for batch, causes in stale.items()]
        more = [(f"and {len(stale) - SHOWN} more", "")] if len(stale) > SHOWN else []
        metadata = {
            "batches": len(complete),
            "stale": len(stale),
            "not_complete": len(now.batches) - len(complete),
            "report": markdown(["batch", "stale because of"], rows[:SHOWN] + more, "No batch is stale."),
        }
        return result_for(ranker, not stale, metadata, REMEDY)

    return [fits_current]
