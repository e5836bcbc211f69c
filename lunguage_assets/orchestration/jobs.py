"""Jobs by name: each materialises, with their checks, the assets that share its partitions."""

from __future__ import annotations

import dagster as dg

from lunguage_assets.current.plan import STEPS_OF_JOB
from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.orchestration.metadata import COSTS

DESCRIPTIONS = {
    "read_reports": "Read the raw reports of a batch, and cut them into sentences.",
    "structure": "Read findings in the raw reports of a batch with one structurer.",
    "ingest": "Read and validate a delivered batch.",
    "extract_hedges": "Find the hedging phrases of a batch with one judge.",
    "build_vocabulary": "Collect one judge's hedging phrases over all batches.",
    "compare": "Have one judge play all comparisons of the vocabulary.",
    "rank": "Rank the phrases from the matches of a judge or panel.",
    "fit": "Give every tentative finding of a batch its probability.",
    "expand": "Merge duplicates, expand diagnoses, resolve contradictions.",
    "refit": "Fit a batch with the present ranking, and redo all that follows from its probabilities.",
    "analyse_structuring": "Agreement of the structurers of a batch, and with rows that people coded.",
    "analyse": "Agreement of judges and experts, robustness of the ranking, validation of the fit, findings"
    " over time.",
    "release": "Write the bundle of a ranker over all its batches.",
}


def asset_jobs() -> list[dg.UnresolvedAssetJobDefinition]:
    """One job per entry of `STEPS_OF_JOB`."""
    return [
        dg.define_asset_job(
            job,
            selection=dg.AssetSelection.assets(*steps),
            description=" ".join(
                [DESCRIPTIONS[job], *([COSTS] if any(RECIPES[step].asks_judges for step in steps) else [])]
            ),
        )
        for job, steps in STEPS_OF_JOB.items()
    ]
