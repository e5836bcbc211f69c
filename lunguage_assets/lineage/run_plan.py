"""The plan of a run: which partitions have to be made, each after what it reads.

`lunguage run` executes it and `lunguage estimate` prices it, so that both speak of the
same runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.lineage.recipes import (
    REBUILT,
    RECIPES,
    RELEASE,
    RESULT,
    STEP_OF,
    STEPS_OF_JOB,
)
from lunguage_assets.lineage.staleness import Keys, StalenessChecker


@dataclass(frozen=True)
class Stage:
    """One Dagster run to come; as text `job (partition)`.

    Attributes:
        job: that is launched.
        keys: of the partition that it makes.
        because: why it is needed; empty where a table is missing, which needs no
            reason.
    """

    job: str
    keys: Keys
    because: tuple[str, ...] = field(default=(), compare=False)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions of its keys, in their order."""
        first_step = STEPS_OF_JOB[self.job][0]
        return RECIPES[first_step].dimensions

    @property
    def reason(self) -> str:
        """The first reason, and how many more there are."""
        if len(self.because) > 1:
            return f"{self.because[0]} and {len(self.because) - 1} more"
        return "".join(self.because)

    def __str__(self) -> str:
        return f"{self.job} ({' x '.join(self.keys)})"


def plan(
    staleness: StalenessChecker, ranker: str, *, rebuild: bool = False
) -> list[Stage]:
    """List the stages to the results and the release of a ranker, upstream first.

    Args:
        staleness: what is current in the home.
        ranker: whose results are wanted; a judge that is no ranker ends with its
            comparisons.
        rebuild: make the reference scale again, although it is current.

    Returns:
        The stages; none when everything is current.

    Raises:
        ConfigurationError: no batch is registered, or there is no such judge.
    """
    if not staleness.batches:
        raise ConfigurationError(
            "no batch is registered. `lunguage register --data DIR` registers one."
        )
    run_plan = _RunPlan(staleness, rebuild=rebuild)
    run_plan.add_corpus()
    is_ranker = ranker in staleness.judges.rankers
    judges = staleness.judges.members(ranker) if is_ranker else (ranker,)
    run_plan.add_comparisons(judges)
    if is_ranker:
        run_plan.add_results(ranker)
    return run_plan.stages


class _RunPlan:
    """Grows stage by stage; a stage that is added makes stale what follows from it."""

    def __init__(self, staleness: StalenessChecker, *, rebuild: bool) -> None:
        self.stages: list[Stage] = []
        self._staleness = staleness
        self._is_rebuild = rebuild
        self._to_make: set[tuple[str, Keys]] = set()

    def add_corpus(self) -> None:
        """Add what takes in the batches and extracts their hedging phrases."""
        judges = self._staleness.judges
        for batch in self._staleness.batches:
            if self._staleness.is_text(batch):
                self._add("read_reports", batch)
                self._add("structure", judges.structurer, batch)
            self._add("ingest", batch)
            self._add("extract_hedges", judges.extractor, batch)

    def add_comparisons(self, judges: tuple[str, ...] | list[str]) -> None:
        """Add the vocabulary, and the comparisons of its phrases by some judges."""
        self._add("build_vocabulary", self._staleness.judges.extractor)
        for judge in judges:
            self._add("compare", judge)

    def add_results(self, ranker: str) -> None:
        """Add the reference scale of a ranker, its results and its release."""
        self._add("rank", ranker)
        for batch in self._staleness.batches:
            # A fit is not made again where only what follows from it is stale.
            needs_fit = self._needs("fitted_probabilities", ranker, batch)
            self._add("refit" if needs_fit else "expand", ranker, batch)
        self._add("release", ranker)

    def _add(self, job: str, *keys: str) -> None:
        """Add a job on a partition, if one of its steps is needed."""
        steps = STEPS_OF_JOB[job]
        is_rebuilt = self._is_rebuild and job in REBUILT
        if not is_rebuilt and not any(self._needs(step, *keys) for step in steps):
            return
        reasons: dict[str, None] = {}
        for step in steps:
            self._to_make.add((step, keys))
            # A reason may be that of a side table alone; each is told once.
            for table in RECIPES[step].tables:
                reasons |= dict.fromkeys(self._staleness.of(table, *keys).because)
        self.stages.append(Stage(job, keys, tuple(reasons)))

    def _needs(self, step: str, *keys: str) -> bool:
        """Whether a step's partition is not current, or will not be."""
        if (step, keys) in self._to_make or not self._staleness.is_made(step, *keys):
            return True
        # A batch that is not complete yet is no input of the release, but will be.
        if step == RELEASE:
            for made_step, made_keys in self._to_make:
                if made_step == RESULT and made_keys[0] == keys[0]:
                    return True
        for source, source_keys in self._staleness.inputs(step, keys):
            # New phrases do not renew the reference scale, which asks every judge.
            if source.on_request:
                continue
            if (STEP_OF[source.table], source_keys) in self._to_make:
                return True
        return False
