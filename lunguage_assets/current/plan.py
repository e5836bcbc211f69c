"""The plan of a run: which partitions have to be made, in an order in which each finds what it reads.

`lunguage run` and the estimate share this plan. Nothing is executed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
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
    "analyse": (
        "judge_agreement",
        "fit_validation",
        "pathway_audit",
    ),
    "release": (RELEASE,),
}
"""Job -> assets that it makes, upstream first; all of a job share their partitions."""


def first_job(table: str) -> str:
    """The first of the jobs that make a table."""
    return next(job for job, steps in STEPS_OF_JOB.items() if STEP_OF[table] in steps)


def not_there(table: str, keys: Sequence[str]) -> str:
    """The message about a table that a step reads and nobody has made."""
    return f"{table} ({', '.join(keys)}) is not there. Launch the job `{first_job(table)}` for it first."


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
        rebuild: make the measuring stick (vocabulary, comparisons, ranking) again although it is current.
        release: folder of the release; None: the home's.
    """

    ranker: str
    batches: Collection[str] | None = None
    rebuild: bool = False
    release: Path | None = None


def plan(standings: Standings, wanted: Wanted) -> list[Stage]:
    """The stages, upstream first; none when everything is current.

    Raises:
        ConfigurationError: no batch is registered, or no such batch or judge.
    """
    return list(_Planning(standings, wanted).stages())


def is_current(now: Standings, step: str, keys: Keys, wanted: Wanted) -> bool:
    """Whether what a step makes is current; of the release, in the folder where it is wanted."""
    if step == RELEASE:
        return now.of_release(keys[0], wanted.release or now.home.release / keys[0]).state == "current"
    return all(now.is_current(table, *keys) for table in RECIPES[step].tables)


class _Planning:
    """One look at the standings, and which steps are going to be made."""

    def __init__(self, standings: Standings, wanted: Wanted) -> None:
        self._now, self._wanted, self._judges = standings, wanted, standings.judges
        self._to_make: set[tuple[str, Keys]] = set()
        self._batches = _chosen(standings, wanted.batches)

    def stages(self) -> Iterator[Stage]:
        extractor, ranker, rebuild = self._judges.extractor, self._wanted.ranker, self._wanted.rebuild
        ranks = ranker in self._judges.rankers
        members = self._judges.members(ranker) if ranks else (ranker,)
        # a missing vocabulary is collected from all batches, a kept one needs none of them
        read = self._now.batches if self._needs("hedge_vocabulary", (extractor,), rebuild) else self._batches
        for batch in read:
            if self._now.is_text(batch):
                yield from self._if_needed("read_reports", (batch,))
                yield from self._if_needed("structure", (self._judges.structurer, batch))
            yield from self._if_needed("ingest", (batch,))
            yield from self._if_needed("extract_hedges", (extractor, batch))
        yield from self._if_needed("build_vocabulary", (extractor,), force=rebuild)
        for judge in members:
            yield from self._if_needed("compare", (judge,), force=rebuild)
        if not ranks:
            return
        yield from self._if_needed("rank", (ranker,), force=rebuild)
        for batch in self._batches:
            if self._needs("fitted_probabilities", (ranker, batch)):
                yield from self._if_needed("refit", (ranker, batch))
            else:
                yield from self._if_needed("expand", (ranker, batch))
        yield from self._if_needed("release", (ranker,))

    def _if_needed(self, job: str, keys: Keys, *, force: bool = False) -> Iterator[Stage]:
        if any(self._needs(step, keys, force) for step in STEPS_OF_JOB[job]):
            self._to_make.update((step, keys) for step in STEPS_OF_JOB[job])
            yield Stage(job, keys, self._because(STEPS_OF_JOB[job], keys))

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

    def _because(self, steps: Sequence[str], keys: Keys) -> tuple[str, ...]:
        """Reasons of stored tables; nobody needs to be told why a missing one is made."""
        tables = (table for step in steps for table in RECIPES[step].tables)
        found = chain.from_iterable(self._now.of(table, *keys).because for table in tables)
        return tuple(dict.fromkeys(found))


def _chosen(standings: Standings, batches: Collection[str] | None) -> list[str]:
    known = standings.batches
    unknown = sorted(set(batches or ()) - set(known))
    if unknown or not known:
        named = f"batch {unknown[0]!r} is not registered" if unknown else "no batch is registered"
        raise ConfigurationError(
            f"{named}; registered: {', '.join(known) or 'none'}. `lunguage register --data DIR` "
            "registers one."
        )
    return [key for key in known if batches is None or key in batches]
