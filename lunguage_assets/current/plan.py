"""The plan of a run: which partitions have to be made, in an order in which each finds what it reads.

`lunguage run` and the estimate share this plan. Nothing is executed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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


@dataclass(frozen=True)
class Wanted:
    """What somebody wants to be there.

    Args:
        ranker: whose results and release; a judge that is no ranker ends with its comparisons.
        batches: registered batches; None: all.
        rebuild: make the reference scale (vocabulary, comparisons, ranking) again although it is current.
        release: folder of the release; None: the home's.
    """

    ranker: str
    batches: Collection[str] | None = None
    rebuild: bool = False
    release: Path | None = None


def plan(now: Standings, wanted: Wanted) -> list[Stage]:
    """The stages, upstream first; none when everything is current.

    Raises:
        ConfigurationError: no batch is registered, or no such batch or judge.
    """
    return list(_Planning(now, wanted).stages())


def is_current(now: Standings, step: str, keys: Keys, wanted: Wanted) -> bool:
    """Whether what a step makes is current; of the release, in the folder where it is wanted."""
    if step == RELEASE:
        return now.of_release(keys[0], wanted.release or now.home.release / keys[0]).state == "current"
    return all(now.is_current(table, *keys) for table in RECIPES[step].tables)


class _Planning:
    """One look at the standings, and which steps are going to be made."""

    def __init__(self, now: Standings, wanted: Wanted) -> None:
        self._now, self._wanted = now, wanted
        self._to_make: set[tuple[str, Keys]] = set()
        self._batches = _chosen(now.batches, wanted.batches)

    def stages(self) -> Iterator[Stage]:
        now, judges, rebuild, ranker = self._now, self._now.judges, self._wanted.rebuild, self._wanted.ranker
        extractor, ranks = judges.extractor, ranker in judges.rankers
        # a missing vocabulary is collected from all batches, a kept one needs none of them
        read = now.batches if self._needs("hedge_vocabulary", (extractor,), rebuild) else self._batches
        for batch in read:
            if now.is_text(batch):
                yield from self._if_needed("read_reports", batch)
                yield from self._if_needed("structure", judges.structurer, batch)
            yield from self._if_needed("ingest", batch)
            yield from self._if_needed("extract_hedges", extractor, batch)
        yield from self._if_needed("build_vocabulary", extractor, force=rebuild)
        for judge in judges.members(ranker) if ranks else (ranker,):
            yield from self._if_needed("compare", judge, force=rebuild)
        if not ranks:
            return
        yield from self._if_needed("rank", ranker, force=rebuild)
        for batch in self._batches:
            fits = self._needs("fitted_probabilities", (ranker, batch))
            yield from self._if_needed("refit" if fits else "expand", ranker, batch)
        yield from self._if_needed("release", ranker)

    def _if_needed(self, job: str, *keys: str, force: bool = False) -> Iterator[Stage]:
        steps = STEPS_OF_JOB[job]
        if any(self._needs(step, keys, force) for step in steps):
            self._to_make.update((step, keys) for step in steps)
            # nobody needs to be told why a missing table is made
            tables = [table for step in steps for table in RECIPES[step].tables]
            because = [reason for table in tables for reason in self._now.of(table, *keys).because]
            yield Stage(job, keys, tuple(dict.fromkeys(because)))

    def _needs(self, step: str, keys: Keys, force: bool = False) -> bool:
        if force or (step, keys) in self._to_make or not is_current(self._now, step, keys, self._wanted):
            return True
        # a batch that is not complete yet is no input of the release, but will be
        if step == RELEASE and any(made == RESULT and of[0] == keys[0] for made, of in self._to_make):
            return True
        return any(
            (STEP_OF[wanted.table], place) in self._to_make
            for wanted, place in self._now.inputs(step, keys)
            if not wanted.on_request
        )


def _chosen(known: Sequence[str], batches: Collection[str] | None) -> list[str]:
    unknown = sorted(set(batches or ()) - set(known))
    if unknown or not known:
        named = f"batch {unknown[0]!r} is not registered" if unknown else "no batch is registered"
        raise ConfigurationError(
            f"{named}; registered: {', '.join(known) or 'none'}. `lunguage register --data DIR` "
            "registers one."
        )
    return [key for key in known if batches is None or key in batches]
