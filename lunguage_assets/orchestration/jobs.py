"""The jobs: which assets one run makes, for one partition.

`lunguage run` launches them in the order of its plan (`run.py`); in the UI a
person does, and for the first job of a batch the landing sensor.
"""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

COSTS = (
    "Asks judges: paid for where these are language models. `lunguage estimate` says "
    "before what it would cost and how long it takes; answers that are in the ledger "
    "are not asked again."
)
"""What whoever launches such a job should know first."""

JUDGES_POOL = "judges"
"""Pool of the assets that ask judges: of the runs in the queue one at a time asks,
because a budget holds by process. Rules wait for nobody.
"""


JOBS: Mapping[str, tuple[str, ...]] = {
    "read_reports": ("report_texts",),
    "structure": ("structured_findings",),
    "ingest": ("findings",),
    "extract_hedges": ("hedge_phrases",),
    # New phrases do not renew the reference scale, which would ask every judge again.
    "build_vocabulary": ("hedge_vocabulary",),
    "compare": ("comparison_matches",),
    "rank": ("reference_ranking",),
    "expand": ("deduplicated_findings", "expansions", "lunguage_plus_plus"),
    "refit": (
        "fitted_probabilities",
        "deduplicated_findings",
        "expansions",
        "lunguage_plus_plus",
    ),
    "distill": ("distilled_scorer",),
    "analyse": ("judge_agreement",),
    "release": ("release_inputs", "release"),
}
"""Job -> the assets that it makes, upstream first, with what is made together with
each. That is stored before it: where a step is current, it is. All share their
partitions.
"""

REBUILT = ("build_vocabulary", "compare", "rank")
"""Jobs that make the reference scale: on request again although it is current."""

ASKING = ("structure", "extract_hedges", "compare", "refit")
"""Jobs that ask judges, and may cost money."""


def asset_jobs() -> list[dg.UnresolvedAssetJobDefinition]:
    """Return the jobs as Dagster knows them; those that ask judges say so."""
    jobs = []
    for name, steps in JOBS.items():
        selection = dg.AssetSelection.assets(*steps).required_multi_asset_neighbors()
        description = COSTS if name in ASKING else None
        jobs.append(dg.define_asset_job(name, selection, description=description))
    return jobs
