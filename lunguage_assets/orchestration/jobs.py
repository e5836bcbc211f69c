"""Jobs by name: each materialises, with their checks, the assets that share its partitions."""

from __future__ import annotations

import dagster as dg

from lunguage_assets.orchestration.assets.analysis import TABLES_OF_ANALYSIS
from lunguage_assets.orchestration.assets.corpus import TABLES_OF_INTAKE
from lunguage_assets.orchestration.assets.explicit import TABLES_OF_FIT
from lunguage_assets.orchestration.assets.implicit import TABLES_OF_EXPANSION, TABLES_OF_RESOLUTION
from lunguage_assets.orchestration.checks.stale import FITS_CURRENT

STAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "ingest": ("Read and validate a delivered batch.", TABLES_OF_INTAKE),
    "extract_hedges": ("Find the hedging phrases of a batch with one judge.", ("hedge_phrases",)),
    "build_vocabulary": ("Collect one judge's hedging phrases over all batches.", ("hedge_vocabulary",)),
    "compare": ("Have one judge play all comparisons of the vocabulary.", ("comparison_matches",)),
    "rank": ("Rank the phrases from the matches of a judge or panel.", ("reference_ranking",)),
    "fit": ("Give every tentative finding of a batch its probability.", ("fitted_probabilities", "fit_log")),
    "analyse": (
        "Agreement of judges and experts, robustness of the ranking, validation of the fit.",
        TABLES_OF_ANALYSIS,
    ),
    "expand": (
        "Merge duplicates, expand diagnoses, resolve contradictions.",
        ("deduplicated_findings", *TABLES_OF_EXPANSION, *TABLES_OF_RESOLUTION),
    ),
    "refit": (
        "Fit a batch again with the present ranking, and redo all that follows from its "
        "probabilities. For the batches that the check "
        "`fits_current` of reference_ranking names.",
        (*TABLES_OF_FIT, "deduplicated_findings", *TABLES_OF_EXPANSION, *TABLES_OF_RESOLUTION),
    ),
    "draw_pathways": ("Check the pathway file and draw it.", ("pathways",)),
    "release": ("Write the bundle of a ranker over all its batches.", ("release",)),
}
"""Job -> what it does and the assets it materialises."""

CHECKED_AGAIN = {"release": dg.AssetSelection.checks(FITS_CURRENT)}
"""Job -> checks of other assets that it evaluates: whether a batch is stale can change after the ranking was
made.
"""


def stage_jobs() -> list[dg.UnresolvedAssetJobDefinition]:
    return [
        dg.define_asset_job(name, selection=_selected(name, assets), description=description)
        for name, (description, assets) in STAGES.items()
    ]


def _selected(name: str, assets: tuple[str, ...]) -> dg.AssetSelection:
    selection: dg.AssetSelection = dg.AssetSelection.assets(*assets)
    return selection | CHECKED_AGAIN[name] if name in CHECKED_AGAIN else selection
