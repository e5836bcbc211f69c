"""What is to be done for a home, as Dagster runs: a job on a partition each. Nothing is executed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import dagster as dg


@dataclass(frozen=True)
class Stage:
    """One Dagster run to come: a job on a partition ('' for a job without partitions); `changed` says what
    asks for it, where nobody has.
    """

    job: str
    partition: str | dict[str, str]
    changed: Sequence[str] = field(default=(), compare=False)

    @property
    def key(self) -> str | dg.MultiPartitionKey | None:
        return (
            (self.partition or None)
            if isinstance(self.partition, str)
            else dg.MultiPartitionKey(self.partition)
        )

    @property
    def label(self) -> str:
        return (
            (self.partition or "this home")
            if isinstance(self.partition, str)
            else " x ".join(self.partition.values())
        )

    @property
    def announced(self) -> str:
        """How a person is told that it begins."""
        return f"{self.job} ({self.label})" + (
            f", changed: {', '.join(self.changed)}" if self.changed else ""
        )


def on_batch(job: str, dimension: str, key: str, batch: str, changed: Sequence[str] = ()) -> Stage:
    """A job on (judge or ranker) x batch."""
    return Stage(job, {dimension: key, "report_batch": batch}, changed)
