"""The jobs: which assets one run makes, for one partition.

`lunguage run` launches them in the order of its plan (`run.py`); in the UI a
person does, and for the first job of a batch the landing sensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import dagster as dg

from lunguage_assets.judges.configuration import JudgesConfiguration

COSTS = (
    "Asks judges: paid for where these are language models. `lunguage estimate` says "
    "before what it would cost and how long it takes; answers that are in the ledger "
    "are not asked again."
)
"""What whoever launches such a job should know first."""

JUDGES_POOL = "judges"
"""Pool of the assets that ask judges: of the runs in the queue one at a time asks,
because a budget holds by process.
"""


def pool_of_judges(judges: JudgesConfiguration) -> str | None:
    """Name the pool of the assets that ask judges; None: rules wait for nobody."""
    return JUDGES_POOL if judges.models else None


class Job(NamedTuple):
    """A job.

    Attributes:
        steps: the assets that it makes, upstream first, with what is made together with
            each. That is stored before it: where a step is current, it is.
        description: what it does.
        asks_judges: whether it may cost money.
    """

    steps: tuple[str, ...]
    description: str
    asks_judges: bool = False


JOBS: Mapping[str, Job] = {
    "read_reports": Job(
        ("report_texts",),
        "Read the raw reports of a batch, and cut them into sentences.",
    ),
    "structure": Job(
        ("structured_findings",),
        "Read findings in the raw reports of a batch with one structurer.",
        asks_judges=True,
    ),
    "ingest": Job(
        ("findings",),
        "Read and validate the registered files of a batch, or take in what was read "
        "in its raw reports.",
    ),
    "extract_hedges": Job(
        ("hedge_phrases",),
        "Find the hedging phrases of a batch's tentative findings with one judge.",
        asks_judges=True,
    ),
    # New phrases do not renew the reference scale, which would ask every judge again.
    "build_vocabulary": Job(
        ("hedge_vocabulary",),
        "Collect one judge's hedging phrases over all batches.",
    ),
    "compare": Job(
        ("comparison_matches",),
        "Have one judge play all comparisons of the vocabulary.",
        asks_judges=True,
    ),
    "rank": Job(
        ("reference_ranking",),
        "Rank the phrases from the matches of a judge or panel; where no probability "
        "can be read off their ranking, it is shown, and the published one is used.",
    ),
    "fit": Job(
        ("fitted_probabilities",),
        "Place every tentative finding in the ranking and map its place to a "
        "probability.",
        asks_judges=True,
    ),
    "expand": Job(
        ("deduplicated_findings", "expansions", "lunguage_plus_plus"),
        "Merge duplicate findings, expand diagnoses with what they imply, resolve "
        "every contradiction.",
    ),
    "refit": Job(
        (
            "fitted_probabilities",
            "deduplicated_findings",
            "expansions",
            "lunguage_plus_plus",
        ),
        "Place every tentative finding in the ranking, then merge, expand and resolve.",
        asks_judges=True,
    ),
    "distill": Job(
        ("distilled_scorer",),
        "Let a small model learn the judgement of a ranker's judges from their stored "
        "answers, and hold it against them.",
    ),
    "analyse": Job(
        ("judge_agreement", "fit_validation"),
        "How far judges agree, with each other and with human experts, and how well "
        "ranking and fit repeat.",
    ),
    "release": Job(
        ("release_inputs", "release"),
        "Write the bundle of a ranker over all its batches.",
    ),
}
"""Job -> what it makes, upstream first; all assets of a job share their partitions."""

REBUILT = ("build_vocabulary", "compare", "rank")
"""Jobs that make the reference scale: on request again although it is current."""


def not_there(table: str, keys: Sequence[str]) -> str:
    """Write the message about a table that a step reads and nobody has made."""
    jobs = [name for name, job in JOBS.items() if table in job.steps]
    launched = f"Launch the job `{jobs[0]}` for it" if jobs else "Materialise it"
    return (
        f"{table} ({', '.join(keys)}) is not there. {launched} first, or say `lunguage "
        "run`, with another --ranker where it is of one."
    )


def asset_jobs() -> list[dg.UnresolvedAssetJobDefinition]:
    """Return the jobs as Dagster knows them; those that ask judges say so."""
    jobs = []
    for name, job in JOBS.items():
        made = dg.AssetSelection.assets(*job.steps).required_multi_asset_neighbors()
        costs = f" {COSTS}" if job.asks_judges else ""
        jobs.append(
            dg.define_asset_job(name, made, description=f"{job.description}{costs}")
        )
    return jobs
