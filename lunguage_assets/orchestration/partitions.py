"""Partitions and how they map to each other; built from the judges file, so that a new judge touches no
existing panel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pandas as pd

from lunguage_assets.home.store import PARTITIONED_BY
from lunguage_assets.judges.configuration import JudgesConfiguration

REPORT_BATCH = dg.DynamicPartitionsDefinition(name="report_batch")


@dataclass(frozen=True)
class Partitions:
    """The partition dimensions `judge`, `ranker`, `report_batch`, and the mappings between assets."""

    by_dimensions: dict[tuple[str, ...], dg.PartitionsDefinition]
    extractor: str
    panel_members: dict[str, tuple[str, ...]]

    def of(self, table: str) -> dg.PartitionsDefinition:
        """Partitions of a table, as the store lays it out."""
        return self.by_dimensions[PARTITIONED_BY[table]]

    def of_dimensions(self, *dimensions: str) -> dg.PartitionsDefinition:
        return self.by_dimensions[dimensions]

    @property
    def batch_only(self) -> dg.PartitionMapping:
        """A table of the batch, read by an asset of (ranker or judge) x batch."""
        return dg.MultiToSingleDimensionPartitionMapping("report_batch")

    @property
    def ranker_only(self) -> dg.PartitionMapping:
        """The ranker's ranking, read by (ranker x batch); all of a ranker's batches, read by the release."""
        return dg.MultiToSingleDimensionPartitionMapping("ranker")

    @property
    def judge_only(self) -> dg.PartitionMapping:
        """All batches of a judge, read by its vocabulary."""
        return dg.MultiToSingleDimensionPartitionMapping("judge")

    @property
    def extractors_vocabulary(self) -> dg.PartitionMapping:
        """The configured extractor's vocabulary, whichever judge or ranker reads it."""
        return dg.SpecificPartitionsPartitionMapping([self.extractor])

    @property
    def members_of_ranker(self) -> dg.PartitionMapping:
        """Matches of the judges that a ranker pools: judge -> itself and the panels it is a member of."""
        rankers: dict[str, list[str]] = {}
        for ranker, members in self.panel_members.items():
            for judge in members:
                rankers.setdefault(judge, []).append(ranker)
        return dg.StaticPartitionMapping(rankers)

    @property
    def extractors_phrases(self) -> dg.PartitionMapping:
        """The extractor's phrases of the same batch, whichever ranker reads them."""
        return dg.MultiPartitionMapping(
            {
                "report_batch": dg.DimensionPartitionMapping("report_batch", dg.IdentityPartitionMapping()),
                "judge": dg.DimensionPartitionMapping(
                    "ranker", dg.StaticPartitionMapping({self.extractor: list(self.panel_members)})
                ),
            }
        )

    @property
    def all_batches(self) -> dg.PartitionMapping:
        """All batches, read by an asset without batches."""
        return dg.AllPartitionMapping()


def build_partitions(judges: JudgesConfiguration) -> Partitions:
    """Partition definitions for the judges and panels of a configuration."""
    judge = dg.StaticPartitionsDefinition(list(judges.active_judges))
    ranker = dg.StaticPartitionsDefinition(list(judges.rankers))
    return Partitions(
        by_dimensions={
            ("report_batch",): REPORT_BATCH,
            ("judge",): judge,
            ("ranker",): ranker,
            ("judge", "report_batch"): dg.MultiPartitionsDefinition(
                {"judge": judge, "report_batch": REPORT_BATCH}
            ),
            ("ranker", "report_batch"): dg.MultiPartitionsDefinition(
                {"ranker": ranker, "report_batch": REPORT_BATCH}
            ),
        },
        extractor=judges.extractor,
        panel_members={key: judges.members(key) for key in judges.rankers},
    )


def partition_frames(value: Any, keys: list[str]) -> dict[str, pd.DataFrame]:
    """Frames by partition key, whether the input spans no, one or many partitions (Dagster hands one over
    bare).
    """
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return dict(value)
    return {keys[0]: value}


def partition_of(context: dg.AssetCheckExecutionContext) -> str:
    """The partition that a check looks at; empty for an asset without partitions."""
    return context.partition_key if context.has_partition_key else ""


def dimension_keys(key: str | dg.MultiPartitionKey, table: str) -> dict[str, str]:
    """Keys of a partition of a table by dimension. A run launched by its tag alone has a plain key:
    dimensions in the order of their names.
    """
    if isinstance(key, dg.MultiPartitionKey):
        return dict(key.keys_by_dimension)
    return dict(zip(sorted(PARTITIONED_BY[table]), key.split("|"), strict=True))
