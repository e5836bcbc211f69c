"""Partitions and how they map to each other, from the judges file."""

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
    """The partitions by judge, ranker, structurer and batch, and the mappings between assets."""

    def __init__(self, judges: JudgesConfiguration) -> None:
        # partition mappings, partitioned checks and data versions warn at every use; the dagster range in
        # pyproject.toml bounds what may change
        warnings.filterwarnings("ignore", category=dg.BetaWarning)
        warnings.filterwarnings("ignore", category=dg.PreviewWarning)
        self._judges = judges
        alone: dict[str, dg.PartitionsDefinition] = {
            "judge": dg.StaticPartitionsDefinition(list(judges.active_judges)),
            "ranker": dg.StaticPartitionsDefinition(list(judges.rankers)),
            STRUCTURER: dg.StaticPartitionsDefinition(list(judges.structurers)),
        }
        self._by_dimensions: dict[tuple[str, ...], dg.PartitionsDefinition] = {
            (BATCH,): REPORT_BATCH
        }
        for name, definition in alone.items():
            self._by_dimensions[name,] = definition
            both = {name: definition, BATCH: REPORT_BATCH}
            self._by_dimensions[name, BATCH] = dg.MultiPartitionsDefinition(both)

    def by(self, *dimensions: str) -> dg.PartitionsDefinition[str]:
        """Return the partitions by these dimensions, in the order of the store."""
        return self._by_dimensions[dimensions]

    def deps(self, step: str) -> list[dg.AssetDep]:
        """The lines that Dagster draws to the assets that a step reads, or of which it reads a side table."""
        mappings = {
            STEP_OF[wanted.table]: self._mapping(step, wanted)
            for wanted in RECIPES[step].inputs
        }
        return [
            dg.AssetDep(asset, partition_mapping=mapping)
            for asset, mapping in mappings.items()
        ]

    def _mapping(self, step: str, wanted: Input) -> dg.PartitionMapping:
        judges, own, read = (
            self._judges,
            RECIPES[step].dimensions,
            dimensions_of(wanted.table),
        )
        if wanted.judge == "members":
            rankers_with: dict[str, list[str]] = {}
            for ranker in judges.rankers:
                for judge in judges.members(ranker):
                    rankers_with.setdefault(judge, []).append(ranker)
            return dg.StaticPartitionMapping(rankers_with)
        if wanted.judge == "extractor" and BATCH not in read:
            return dg.SpecificPartitionsPartitionMapping([judges.extractor])
        if (
            wanted.judge == "extractor"
        ):  # its partition of the same batch, whichever ranker reads it
            of_ranker = dg.StaticPartitionMapping(
                {judges.extractor: list(judges.rankers)}
            )
            same = dg.DimensionPartitionMapping(BATCH, dg.IdentityPartitionMapping())
            return dg.MultiPartitionMapping(
                {
                    BATCH: same,
                    "judge": dg.DimensionPartitionMapping("ranker", of_ranker),
                }
            )
        if own == read:
            return dg.IdentityPartitionMapping()
        shared = set(own) & set(read)
        return (
            dg.MultiToSingleDimensionPartitionMapping(*shared)
            if shared
            else dg.AllPartitionMapping()
        )


def forget_removed(instance: dg.DagsterInstance, home: Home) -> None:
    """Take the partitions of removed batches out of an instance."""
    gone = {removal.key for removal in home.removed()} - {
        batch.key for batch in home.registered()
    }
    for key in gone & set(
        instance.get_dynamic_partitions(REPORT_BATCH.name) if gone else ()
    ):
        instance.delete_dynamic_partition(REPORT_BATCH.name, key)


def partition_key(
    dimensions: Sequence[str], keys: Sequence[str]
) -> str | dg.MultiPartitionKey:
    """Dagster's key of a partition whose keys are in the order of the store's paths."""
    return (
        keys[0]
        if len(keys) == 1
        else dg.MultiPartitionKey(dict(zip(dimensions, keys, strict=True)))
    )


def store_keys(key: str, dimensions: Sequence[str]) -> tuple[str, ...]:
    """Keys in the order of the store's paths, from Dagster's, which has dimensions in alphabetical order."""
    named = dict(zip(sorted(dimensions), str(key).split("|"), strict=True))
    return tuple(named[dimension] for dimension in dimensions)
