"""The plan of a run: which partitions have to be made, each after what it reads.

`lunguage run` executes it, `lunguage status` shows it. What is current is Dagster's
answer (`current.py`); a stage whose inputs come out the same is left out while the plan
is executed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.current import MISSING, Current
from lunguage_assets.orchestration.jobs import JOBS, REBUILT
from lunguage_assets.tables import TABLES


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

    @property
    def batch(self) -> str | None:
        """The batch of the partition, if it is of one."""
        table = TABLES.get(JOBS[self.job].steps[0])
        has_batch = table is not None and "report_batch" in table.partitioned_by
        return self.keys[-1] if has_batch else None

    def follows(self, earlier: Stage) -> bool:
        """Whether what an earlier stage makes is read: of its batch, or over all."""
        if earlier.job not in JOBS[self.job].after:
            return False
        return None in (self.batch, earlier.batch) or self.batch == earlier.batch

    def __str__(self) -> str:
        return f"{self.job} ({' x '.join(self.keys)})"


def plan(
    configuration: Configuration,
    current: Current,
    ranker: str,
    *,
    rebuild: bool = False,
    fit_again: Collection[str] = (),
) -> list[Stage]:
    """List the stages to the results and the release of a ranker, upstream first.

    Args:
        configuration: of the home.
        current: what is current in it.
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
    stages: list[Stage] = []
    for job, *keys in _all_stages(configuration, ranker):
        if job == "expand" and Stage("refit", (*keys,)) in stages:
            continue
        reasons = _reasons(current, job, keys)
        if job == "refit" and keys[-1] in fit_again:
            reasons.append("the judges are to fit it")
        stage = Stage(job, (*keys,), (*reasons,))
        is_rebuilt = rebuild and job in REBUILT
        if reasons or is_rebuilt or any(map(stage.follows, stages)):
            stages.append(stage)
    return stages


def _reasons(current: Current, job: str, keys: Sequence[str]) -> list[str]:
    steps = JOBS[job].steps
    # A fit is not made again where only what follows from it is stale.
    if job == "refit":
        steps = steps[:1]
    reasons: dict[str, None] = {}
    for step in steps:
        reasons |= dict.fromkeys(current.reasons(step, *keys))
    return list(reasons)


def _all_stages(configuration: Configuration, ranker: str) -> Iterator[tuple[str, ...]]:
    """Yield all jobs with the keys of their partitions, upstream first."""
    judges = configuration.judges
    batches = configuration.home.registered()
    for batch in batches:
        if batch.kind == "text":
            yield "read_reports", batch.key
            yield "structure", judges.structurer, batch.key
        yield "ingest", batch.key
        yield "extract_hedges", judges.extractor, batch.key
    yield "build_vocabulary", judges.extractor
    if ranker not in judges.rankers:
        yield "compare", ranker
        return
    for judge in judges.members(ranker):
        yield "compare", judge
    yield "rank", ranker
    for batch in batches:
        yield "refit", ranker, batch.key
        yield "expand", ranker, batch.key
    yield "release", ranker
