"""The plan of a run: which partitions have to be made, each after what it reads.

`lunguage run` executes it, `lunguage status` shows it. What is current is Dagster's
answer (`current.py`); a stage whose inputs come out the same is left out while the plan
is executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.current import Current
from lunguage_assets.orchestration.jobs import JOBS, REBUILT
from lunguage_assets.tables import TABLES

_FIT = JOBS["refit"].steps[0]


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
    def partition(self) -> str:
        """Its keys, as text."""
        return " x ".join(self.keys)

    @property
    def reason(self) -> str:
        """The first reason, and how many more there are."""
        if len(self.because) > 1:
            return f"{self.because[0]} and {len(self.because) - 1} more"
        return "".join(self.because) or "what it reads is made again"

    def reasons(self, current: Current) -> list[str]:
        """Say why it is to be made; none: all that it makes is current."""
        reasons: list[str] = []
        for step in JOBS[self.job].steps:
            reasons += current.reasons(step, *self.keys)
        return list(dict.fromkeys(reasons))

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
        return f"{self.job} ({self.partition})"


def plan(
    configuration: Configuration,
    current: Current,
    ranker: str,
    *,
    rebuild: bool = False,
) -> list[Stage]:
    """List the stages to the results and the release of a ranker, upstream first.

    Args:
        configuration: of the home.
        current: what is current in it.
        ranker: whose results are wanted.
        rebuild: make the reference scale again, although it is current.

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
    for stage in _all_stages(configuration, ranker):
        reasons = stage.reasons(current)
        if rebuild and stage.job in REBUILT:
            reasons.append("the scale is to be made again")
        follows = any(map(stage.follows, stages))
        if not (reasons or follows):
            continue
        job = stage.job
        # A fit is not made again where only what follows from it is stale.
        if job == "refit" and not follows and current.is_current(_FIT, *stage.keys):
            job = "expand"
        stages.append(Stage(job, stage.keys, (*reasons,)))
    return stages


def _all_stages(configuration: Configuration, ranker: str) -> Iterator[Stage]:
    """Yield all stages to the release of a ranker, upstream first."""
    judges = configuration.judges
    batches = configuration.home.registered()
    for batch in batches:
        if batch.kind == "text":
            yield Stage("read_reports", (batch.key,))
            yield Stage("structure", (judges.structurer, batch.key))
        yield Stage("ingest", (batch.key,))
        yield Stage("extract_hedges", (judges.extractor, batch.key))
    yield Stage("build_vocabulary", (judges.extractor,))
    for judge in judges.members(ranker):
        yield Stage("compare", (judge,))
    yield Stage("rank", (ranker,))
    for batch in batches:
        yield Stage("refit", (ranker, batch.key))
    yield Stage("release", (ranker,))
