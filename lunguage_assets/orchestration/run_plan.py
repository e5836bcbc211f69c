"""The plan of a run: which partitions have to be made, each after what it reads.

`lunguage run` executes it, `lunguage status` shows it. What is current is Dagster's
answer (`current.py`); a stage whose inputs come out the same is left out while the plan
is executed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.orchestration.current import Current
from lunguage_assets.orchestration.jobs import JOBS, REBUILT
from lunguage_assets.tables import TABLES

MISSING = "missing"


@dataclass(frozen=True)
class Stage:
    """One Dagster run to come; as text `job (partition)`.

    Attributes:
        job: that is launched.
        keys: of the partition that it makes.
        because: why it is needed; empty where only what it reads is made again.
    """

    job: str
    keys: tuple[str, ...]
    because: tuple[str, ...] = field(default=(), compare=False)

    @property
    def reason(self) -> str:
        """The first reason, and how many more there are; none of a missing table."""
        if not self.because:
            return "what it reads is made again"
        reasons = [reason for reason in self.because if reason != MISSING]
        if len(reasons) > 1:
            return f"{reasons[0]} and {len(reasons) - 1} more"
        return "".join(reasons)

    def __str__(self) -> str:
        return f"{self.job} ({' x '.join(self.keys)})"


def plan(
    current: Current,
    judges: JudgesConfiguration,
    ranker: str,
    *,
    rebuild: bool = False,
    fit_again: Collection[str] = (),
) -> list[Stage]:
    """List the stages to the results and the release of a ranker, upstream first.

    Args:
        current: what is current in the home.
        judges: as they are configured.
        ranker: whose results are wanted; a judge that is no ranker ends with its
            comparisons.
        rebuild: make the reference scale again, although it is current.
        fit_again: batches that the judges are asked to fit, although they are current.

    Returns:
        The stages; none when everything is current.

    Raises:
        ConfigurationError: no batch is registered.
    """
    if not current.batches:
        raise ConfigurationError(
            "no batch is registered. `lunguage register --data DIR` registers one."
        )
    run_plan = _RunPlan(current, rebuild=rebuild)
    for batch in current.home.registered():
        if batch.kind == "text":
            run_plan.add("read_reports", batch.key)
            run_plan.add("structure", judges.structurer, batch.key)
        run_plan.add("ingest", batch.key)
        run_plan.add("extract_hedges", judges.extractor, batch.key)
    run_plan.add("build_vocabulary", judges.extractor)
    is_ranker = ranker in judges.rankers
    for judge in judges.members(ranker) if is_ranker else (ranker,):
        run_plan.add("compare", judge)
    if is_ranker:
        run_plan.add("rank", ranker)
        for batch_key in current.batches:
            # A fit is not made again where only what follows from it is stale.
            is_asked_for = batch_key in fit_again
            if not run_plan.add("refit", ranker, batch_key, is_asked_for=is_asked_for):
                run_plan.add("expand", ranker, batch_key)
        run_plan.add("release", ranker)
    return run_plan.stages


class _RunPlan:
    """Grows stage by stage; a stage that is added makes stale what follows from it."""

    def __init__(self, current: Current, *, rebuild: bool) -> None:
        self.stages: list[Stage] = []
        self._current = current
        self._is_rebuild = rebuild

    def add(self, job: str, *keys: str, is_asked_for: bool = False) -> bool:
        """Add a job on a partition if it is needed, and tell whether it is.

        Args:
            job: its name.
            keys: of the partition.
            is_asked_for: it is added although its tables are current.
        """
        steps = JOBS[job].steps
        # What follows from a fit alone is the job `expand`.
        asked = steps[:1] if job == "refit" else steps
        reasons: dict[str, None] = {}
        for step in asked:
            reasons |= dict.fromkeys(self._current.reasons(step, *keys))
        is_rebuilt = self._is_rebuild and job in REBUILT
        if is_asked_for:
            reasons["the judges are to fit it"] = None
        is_needed = is_rebuilt or bool(reasons) or self._follows(job, keys)
        if is_needed:
            self.stages.append(Stage(job, keys, tuple(reasons)))
        return is_needed

    def _follows(self, job: str, keys: tuple[str, ...]) -> bool:
        """Whether something that a job reads is made again."""
        batch = _batch_of(job, keys)
        for stage in self.stages:
            if stage.job not in JOBS[job].after:
                continue
            # Of the same batch, of no batch, or read over all batches.
            stage_batch = _batch_of(stage.job, stage.keys)
            if stage_batch is None or batch is None or stage_batch == batch:
                return True
        return False


def _batch_of(job: str, keys: tuple[str, ...]) -> str | None:
    """Return the batch of a partition that a job makes, if it is of one."""
    table = TABLES.get(JOBS[job].steps[0])
    has_batch = table is not None and "report_batch" in table.partitioned_by
    return keys[-1] if has_batch else None
