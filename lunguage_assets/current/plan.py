"""The plan of a run: which partitions have to be made, in an order in which each finds what it reads.

`lunguage run` and the estimate share this plan. Nothing is executed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lunguage_assets.current.recipes import RECIPES, RELEASE, STEP_OF
from lunguage_assets.current.standing import Keys, Standings, in_short
from lunguage_assets.errors import ConfigurationError

RESULT = "lunguage_plus_plus"

STEPS_OF_JOB: dict[str, tuple[str, ...]] = {
    "read_reports": ("report_texts",),
    "structure": ("structured_findings",),
    "ingest": ("findings",),
    "extract_hedges": ("hedge_phrases",),
    "build_vocabulary": ("hedge_vocabulary",),
    "compare": ("comparison_matches",),
    "rank": ("reference_ranking",),
    "fit": ("fitted_probabilities",),
    "expand": ("deduplicated_findings", "expansions", RESULT),
    "refit": ("fitted_probabilities", "deduplicated_findings", "expansions", RESULT),
    "analyse_structuring": ("structuring_agreement",),
    "analyse": ("judge_agreement", "fit_validation", "pathway_audit"),
    "release": (RELEASE,),
}
"""Job -> assets that it makes, upstream first; all of a job share their partitions."""

REBUILT = ("build_vocabulary", "compare", "rank")
"""Jobs that make the reference scale: on request again although it is current."""


def not_there(table: str, keys: Sequence[str]) -> str:
    """The message about a table that a step reads and nobody has made."""
    job = next(job for job, steps in STEPS_OF_JOB.items() if STEP_OF[table] in steps)
    return f"{table} ({', '.join(keys)}) is not there. Launch the job `{job}` for it first."


@dataclass(frozen=True)
class Stage:
    """One Dagster run to come: a job on a partition, and why it is needed."""

    job: str
    keys: Keys
    because: tuple[str, ...] = field(default=(), compare=False)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """What its keys are of, in their order."""
        return RECIPES[STEPS_OF_JOB[self.job][0]].dimensions

    @property
    def label(self) -> str:
        """The partition as a person reads it."""
        return " x ".join(self.keys)

    @property
    def announced(self) -> str:
        """The line that a person sees when it begins."""
        return f"{self.job} ({self.label})" + (f", {in_short(self.because)}" if self.because else "")


def plan(now: Standings, ranker: str, *, rebuild: bool = False) -> list[Stage]:
    """The stages to the results and the release of a ranker, upstream first; none when everything is current.
    A judge that is no ranker ends with its comparisons; `rebuild` makes the reference scale again although it
    is current. Raises `ConfigurationError` when no batch is registered, or there is no such judge.
    """
    if not now.batches:
        raise ConfigurationError("no batch is registered. `lunguage register --data DIR` registers one.")
    judges, extractor = now.judges, now.judges.extractor
    stages: list[Stage] = []
    to_make: set[tuple[str, Keys]] = set()

    def needs(step: str, *keys: str) -> bool:
        if (step, keys) in to_make or not now.is_made(step, *keys):
            return True
        # a batch that is not complete yet is no input of the release, but will be
        if step == RELEASE and any(made == RESULT and of[0] == keys[0] for made, of in to_make):
            return True
        return any(
            (STEP_OF[wanted.table], place) in to_make
            for wanted, place in now.inputs(step, keys)
            if not wanted.on_request
        )

    def add(job: str, *keys: str) -> None:
        steps = STEPS_OF_JOB[job]
        if (rebuild and job in REBUILT) or any(needs(step, *keys) for step in steps):
            to_make.update((step, keys) for step in steps)
            # nobody needs to be told why a missing table is made
            tables = [table for step in steps for table in RECIPES[step].tables]
            because = [reason for table in tables for reason in now.of(table, *keys).because]
            stages.append(Stage(job, keys, tuple(dict.fromkeys(because))))

    for batch in now.batches:
        if now.is_text(batch):
            add("read_reports", batch)
            add("structure", judges.structurer, batch)
        add("ingest", batch)
        add("extract_hedges", extractor, batch)
    add("build_vocabulary", extractor)
    ranks = ranker in judges.rankers
    for judge in judges.members(ranker) if ranks else (ranker,):
        add("compare", judge)
    if ranks:
        add("rank", ranker)
        for batch in now.batches:
            add("refit" if needs("fitted_probabilities", ranker, batch) else "expand", ranker, batch)
        add("release", ranker)
    return stages
