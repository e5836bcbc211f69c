"""The jobs: which assets one run makes, for one partition.

`lunguage run` launches them in the order of its plan; in the UI a person does, and for
the first job of a batch the landing sensor. Which assets a job has is declared in
`lineage.recipes.STEPS_OF_JOB`, because the plan rests on it; what a person reads of it
stands here.
"""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from lunguage_assets.lineage.recipes import RECIPES, STEPS_OF_JOB
from lunguage_assets.orchestration.metadata import COSTS

STEP_DESCRIPTIONS: Mapping[str, str] = {
    "report_texts": "Read the raw reports of a batch, and cut them into sentences.",
    "structured_findings": "Read findings in the raw reports of a batch with one "
    "structurer.",
    "findings": "Read and validate the registered files of a batch, or take in what "
    "was read in its raw reports.",
    "hedge_phrases": "Find the hedging phrases of a batch's tentative findings with "
    "one judge.",
    "hedge_vocabulary": "Collect one judge's hedging phrases over all batches.",
    "comparison_matches": "Have one judge play all comparisons of the vocabulary.",
    "reference_ranking": "Rank the phrases from the matches of a judge or panel; where "
    "no probability can be read off their ranking, it is shown, and the published one "
    "is used.",
    "fitted_probabilities": "Place every tentative finding in the ranking and map its "
    "place to a probability.",
    "distilled_scorer": "Let a small model learn the judgement of a ranker's judges "
    "from their stored answers; hold it against them, on sentences and phrases that it "
    "had not seen.",
    "deduplicated_findings": "Merge duplicate findings of a study.",
    "expansions": "Match every finding to a pathway and generate the sub-findings that "
    "it implies.",
    "lunguage_plus_plus": "Resolve every contradiction; a study that breaks a "
    "guarantee is set aside.",
    "structuring_agreement": "Hold the structurers of a batch against each other, and "
    "against rows that people coded.",
    "judge_agreement": "How far judges agree with each other, with themselves, with "
    "the pooled ranking, and with the human experts whose answers `lunguage survey "
    "import` has brought.",
    "fit_validation": "Rank again with half of the comparisons, and fit the phrases of "
    "the ranking back into it.",
    "release": "Write the bundle of a ranker over all its batches.",
}
"""Step -> what it does, for whoever launches a job; the asset's own description says
what its table holds.
"""


def asset_jobs() -> list[dg.UnresolvedAssetJobDefinition]:
    """Return a job per entry of `STEPS_OF_JOB`; those that ask judges say so."""
    jobs = []
    for name, steps in STEPS_OF_JOB.items():
        sentences = [STEP_DESCRIPTIONS[step] for step in steps]
        if any(RECIPES[step].asks_judges for step in steps):
            sentences.append(COSTS)
        selection = dg.AssetSelection.assets(*steps)
        job = dg.define_asset_job(name, selection, description=" ".join(sentences))
        jobs.append(job)
    return jobs
