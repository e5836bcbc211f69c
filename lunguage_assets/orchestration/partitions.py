"""Partitions and how they map to each other, from the judges file and the recipes.

Dagster's page is "Partitioning assets" (https://docs.dagster.io).

Which partitions a step reads is not decided here but in `lineage.staleness`; these
mappings are what the UI draws and the sensor follows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import dagster as dg

from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.lineage.recipes import (
    BATCH,
    RECIPES,
    STEP_OF,
    STRUCTURER,
    Input,
    dimensions_of,
)
from lunguage_assets.workspace.home import Home

REPORT_BATCH = dg.DynamicPartitionsDefinition(name=BATCH)


class Partitions:
    """The partitions by judge, ranker, structurer and batch, and their mappings.

    Args:
        judges: in force.
    """

    def __init__(self, judges: JudgesConfiguration) -> None:
        # Partition mappings, partitioned checks and data versions warn at every use.
        # The range of Dagster's versions in pyproject.toml bounds what may change.
        warnings.filterwarnings("ignore", category=dg.BetaWarning)
        warnings.filterwarnings("ignore", category=dg.PreviewWarning)
        self.judges = judges
        keys_of = {
            "judge": judges.active_judges,
            "ranker": judges.rankers,
            STRUCTURER: judges.structurers,
        }
        self._by_dimensions: dict[tuple[str, ...], dg.PartitionsDefinition[str]] = {
            (BATCH,): REPORT_BATCH
        }
        for dimension, keys in keys_of.items():
            alone = dg.StaticPartitionsDefinition(list(keys))
            with_batch = dg.MultiPartitionsDefinition(
                {dimension: alone, BATCH: REPORT_BATCH}
            )
            self._by_dimensions[dimension,] = alone
            self._by_dimensions[dimension, BATCH] = with_batch

    def by(self, *dimensions: str) -> dg.PartitionsDefinition[str]:
        """Return the partitions by these dimensions, in the order of the store."""
        return self._by_dimensions[dimensions]

    def deps(self, step: str) -> list[dg.AssetDep]:
        """Return the assets that a step reads, or of which it reads a side table."""
        mappings = {
            STEP_OF[step_input.table]: self._mapping(step, step_input)
            for step_input in RECIPES[step].inputs
        }
        return [
            dg.AssetDep(asset, partition_mapping=mapping)
            for asset, mapping in mappings.items()
        ]

    def _mapping(self, step: str, step_input: Input) -> dg.PartitionMapping:
        dimensions = RECIPES[step].dimensions
        dimensions_read = dimensions_of(step_input.table)
        if step_input.judge == "members":
            return self._judges_of_rankers()
        # Phrases are found, and the vocabulary is collected, by one judge alone.
        if step_input.judge == "extractor" and BATCH in dimensions_read:
            return self._extractor_of_same_batch()
        if step_input.judge == "extractor":
            extractor = self.judges.extractor
            return dg.SpecificPartitionsPartitionMapping([extractor])
        if dimensions == dimensions_read:
            return dg.IdentityPartitionMapping()
        shared = set(dimensions) & set(dimensions_read)
        if not shared:
            return dg.AllPartitionMapping()
        # Every ranker's fits read the findings of their batch, for instance.
        return dg.MultiToSingleDimensionPartitionMapping(*shared)

    def _judges_of_rankers(self) -> dg.PartitionMapping:
        """A ranker reads the partitions of its members."""
        rankers_of_judge: dict[str, list[str]] = {}
        for ranker in self.judges.rankers:
            for judge in self.judges.members(ranker):
                rankers_of_judge.setdefault(judge, []).append(ranker)
        return dg.StaticPartitionMapping(rankers_of_judge)

    def _extractor_of_same_batch(self) -> dg.PartitionMapping:
        """Whichever ranker reads a batch, it reads the phrases of the extractor."""
        rankers_of_extractor = dg.StaticPartitionMapping(
            {self.judges.extractor: list(self.judges.rankers)}
        )
        return dg.MultiPartitionMapping(
            {
                BATCH: dg.DimensionPartitionMapping(
                    BATCH, dg.IdentityPartitionMapping()
                ),
                "judge": dg.DimensionPartitionMapping("ranker", rankers_of_extractor),
            }
        )


def forget_removed(instance: dg.DagsterInstance, home: Home) -> None:
    """Take the partitions of removed batches out of an instance."""
    registered = {batch.key for batch in home.registered()}
    removed = {removal.key for removal in home.removed()} - registered
    if not removed:  # asking the instance waits for its database
        return
    for key in removed.intersection(instance.get_dynamic_partitions(BATCH)):
        instance.delete_dynamic_partition(BATCH, key)


def partition_key(
    dimensions: Sequence[str], keys: Sequence[str]
) -> str | dg.MultiPartitionKey:
    """Return Dagster's key of a partition, from the keys in the order of the store."""
    if len(keys) == 1:
        return keys[0]
    return dg.MultiPartitionKey(dict(zip(dimensions, keys, strict=True)))


def store_keys(key: str, dimensions: Sequence[str]) -> tuple[str, ...]:
    """Return the keys in the order of the store, from Dagster's key of a partition.

    Dagster joins them by `|`, with the dimensions in alphabetical order.
    """
    by_dimension = dict(zip(sorted(dimensions), str(key).split("|"), strict=True))
    return tuple(by_dimension[dimension] for dimension in dimensions)
