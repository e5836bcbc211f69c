"""The jobs: which assets one run makes, for one partition.

`lunguage run` launches them in the order of its plan (`run_plan.py`); in the UI a
person does, and for the first job of a batch the landing sensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import dagster as dg

from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.tables import TABLES

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
    asked = {judges.extractor, judges.structurer, *judges.active_judges}
    return JUDGES_POOL if asked & judges.models.keys() else None


class Job(NamedTuple):
    """A job.

    Attributes:
        steps: the assets that it makes, upstream first. Each is stored after its side
            tables: where it is current, they are.
        description: what it does.
        side_tables: assets that are made with them.
        after: jobs that make what it reads. Where one of them is run for the same
            batch, or for none, it may have to be run again.
        asks_judges: whether it may cost money.
    """

    steps: tuple[str, ...]
    description: str
    side_tables: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    asks_judges: bool = False


_OF_EXPANSION = (
    "pathway_matches",
    "resolution_log",
    "conflicts",
    "accounting",
    "set_aside",
)

JOBS: Mapping[str, Job] = {
    "read_reports": Job(
        ("report_texts",),
        "Read the raw reports of a batch, and cut them into sentences.",
        side_tables=("report_sentences", "rejected_reports", "reading_notes"),
    ),
    "structure": Job(
        ("structured_findings",),
        "Read findings in the raw reports of a batch with one structurer.",
        side_tables=("sentence_accounts", "refused_values"),
        after=("read_reports",),
        asks_judges=True,
    ),
    "ingest": Job(
        ("findings",),
        "Read and validate the registered files of a batch, or take in what was read "
        "in its raw reports.",
        side_tables=("reports", "rejected", "intake_notes", "terms"),
        after=("read_reports", "structure"),
    ),
    "extract_hedges": Job(
        ("hedge_phrases",),
        "Find the hedging phrases of a batch's tentative findings with one judge.",
        after=("ingest",),
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
        after=("build_vocabulary",),
        asks_judges=True,
    ),
    "rank": Job(
        ("reference_ranking",),
        "Rank the phrases from the matches of a judge or panel; where no probability "
        "can be read off their ranking, it is shown, and the published one is used.",
        after=("build_vocabulary", "compare"),
    ),
    "fit": Job(
        ("fitted_probabilities",),
        "Place every tentative finding in the ranking and map its place to a "
        "probability.",
        side_tables=("fit_log",),
        after=("ingest", "extract_hedges", "build_vocabulary", "rank"),
        asks_judges=True,
    ),
    "expand": Job(
        ("deduplicated_findings", "expansions", "lunguage_plus_plus"),
        "Merge duplicate findings, expand diagnoses with what they imply, resolve "
        "every contradiction.",
        side_tables=_OF_EXPANSION,
        after=("ingest", "rank", "fit"),
    ),
    "refit": Job(
        (
            "fitted_probabilities",
            "deduplicated_findings",
            "expansions",
            "lunguage_plus_plus",
        ),
        "Place every tentative finding in the ranking, then merge, expand and resolve.",
        side_tables=("fit_log", *_OF_EXPANSION),
        after=("ingest", "extract_hedges", "build_vocabulary", "rank"),
        asks_judges=True,
    ),
    "distill": Job(
        ("distilled_scorer",),
        "Let a small model learn the judgement of a ranker's judges from their stored "
        "answers, and hold it against them.",
        after=("refit", "rank"),
    ),
    "analyse_structuring": Job(
        ("structuring_agreement",),
        "Hold the structurers of a batch against each other, and against rows that "
        "people coded.",
        after=("structure",),
    ),
    "analyse": Job(
        ("judge_agreement", "fit_validation"),
        "How far judges agree, with each other and with human experts, and how well "
        "ranking and fit repeat.",
        side_tables=("ranking_correlations", "expert_agreement", "ranking_robustness"),
        after=("compare", "rank"),
    ),
    "release": Job(
        ("release_inputs", "release"),
        "Write the bundle of a ranker over all its batches.",
        after=("ingest", "rank", "refit", "expand"),
    ),
}
"""Job -> what it makes, upstream first; all assets of a job share their partitions."""

REBUILT = ("build_vocabulary", "compare", "rank")
"""Jobs that make the reference scale: on request again although it is current."""


def job_of(table: str) -> str:
    """Return the job that makes a table."""
    return next(
        name for name, job in JOBS.items() if table in (*job.steps, *job.side_tables)
    )


def not_there(table: str, keys: Sequence[str]) -> str:
    """Write the message about a table that a step reads and nobody has made."""
    partition = f"{table} ({', '.join(keys)})"
    if table not in TABLES:  # an asset of somebody else
        return f"{partition} is not there. Materialise it first."
    return (
        f"{partition} is not there. Launch the job `{job_of(table)}` for it first, or "
        "say `lunguage run`, with another --ranker where it is of one."
    )


def asset_jobs() -> list[dg.UnresolvedAssetJobDefinition]:
    """Return the jobs as Dagster knows them; those that ask judges say so."""
    return [
        dg.define_asset_job(
            name,
            dg.AssetSelection.assets(*job.steps, *job.side_tables),
            description=f"{job.description} {COSTS}"
            if job.asks_judges
            else job.description,
        )
        for name, job in JOBS.items()
    ]
