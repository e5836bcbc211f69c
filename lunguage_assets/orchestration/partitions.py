"""Partitions and how they map to each other; built from the judges file, so that a new judge touches no
existing panel.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import dagster as dg

from lunguage_assets.current.recipes import BATCH, RECIPES, STEP_OF, STRUCTURER, Input, dimensions_of
from lunguage_assets.home.home import Home
from lunguage_assets.judges.configuration import JudgesConfiguration

REPORT_BATCH = dg.DynamicPartitionsDefinition(name=BATCH)


@dataclass(frozen=True)
class Partitions:
    """The partition dimensions `judge`, `ranker`, `structurer`, `report_batch`, and the mappings between
    assets.
    """

    by_dimensions: dict[tuple[str, ...], dg.PartitionsDefinition]
    extractor: str
    panel_members: dict[str, tuple[str, ...]]

    def of(self, table: str) -> dg.PartitionsDefinition:
        """Partitions of a table, as the store lays it out."""
        return self.by_dimensions[dimensions_of(table)]

    def mapping(self, step: str, wanted: Input) -> dg.PartitionMapping:
        """Which partitions of an input a partition of a step reads, as its recipe says."""
        own, read = RECIPES[step].dimensions, dimensions_of(wanted.table)
        shared = set(own) & set(read)
        if wanted.judge == "members":
            return dg.StaticPartitionMapping(self._rankers_of_members())
        if wanted.judge == "extractor" and BATCH not in read:
            return dg.SpecificPartitionsPartitionMapping([self.extractor])
        if wanted.judge == "extractor":
            return self._extractors_batch()
        if own == read:
            return dg.IdentityPartitionMapping()
        if len(shared) == 1:
            return dg.MultiToSingleDimensionPartitionMapping(*shared)
        return dg.AllPartitionMapping()

    def deps(self, step: str) -> list[dg.AssetDep]:
        """The lines that Dagster draws to the assets that a step reads, or of which it reads a side table."""
        mappings = {STEP_OF[wanted.table]: self.mapping(step, wanted) for wanted in RECIPES[step].inputs}
        return [dg.AssetDep(asset, partition_mapping=mapping) for asset, mapping in mappings.items()]

    def _rankers_of_members(self) -> dict[str, list[str]]:
        """Judge -> itself and the panels that it is a member of."""
        rankers: dict[str, list[str]] = {}
        for ranker, members in self.panel_members.items():
            for judge in members:
                rankers.setdefault(judge, []).append(ranker)
        return rankers

    def _extractors_batch(self) -> dg.PartitionMapping:
        """The extractor's partition of the same batch, whichever ranker reads it."""
        of_ranker = dg.StaticPartitionMapping({self.extractor: list(self.panel_members)})
        return dg.MultiPartitionMapping(
            {
                BATCH: dg.DimensionPartitionMapping(BATCH, dg.IdentityPartitionMapping()),
                "judge": dg.DimensionPartitionMapping("ranker", of_ranker),
            }
        )


def accept_previews() -> None:
    """No warning of what is beta or preview, such as partition mappings, partitioned checks, data versions:
    the dagster range in pyproject.toml bounds what may change.
    """
    warnings.filterwarnings("ignore", category=dg.BetaWarning)
    warnings.filterwarnings("ignore", category=dg.PreviewWarning)


def build_partitions(judges: JudgesConfiguration) -> Partitions:
    """Partition definitions for the judges and panels of a configuration."""
    accept_previews()
    alone: dict[str, dg.PartitionsDefinition] = {
        "judge": dg.StaticPartitionsDefinition(list(judges.active_judges)),
        "ranker": dg.StaticPartitionsDefinition(list(judges.rankers)),
        STRUCTURER: dg.StaticPartitionsDefinition(list(judges.structurers)),
        BATCH: REPORT_BATCH,
    }
    by_dimensions = {(name,): definition for name, definition in alone.items()}
    for name in ("judge", "ranker", STRUCTURER):
        by_dimensions[name, BATCH] = dg.MultiPartitionsDefinition({name: alone[name], BATCH: REPORT_BATCH})
    return Partitions(by_dimensions, judges.extractor, {key: judges.members(key) for key in judges.rankers})


def forget_removed(instance: dg.DagsterInstance, home: Home) -> None:
    """Take the partitions of removed batches out of an instance."""
    gone = {removal.key for removal in home.removed()} - {batch.key for batch in home.registered()}
    for key in gone & set(instance.get_dynamic_partitions(REPORT_BATCH.name) if gone else ()):
        instance.delete_dynamic_partition(REPORT_BATCH.name, key)


def partition_key(dimensions: Sequence[str], keys: Sequence[str]) -> str | dg.MultiPartitionKey:
    """Dagster's key of a partition whose keys are in the order of the store's paths."""
    return keys[0] if len(keys) == 1 else dg.MultiPartitionKey(dict(zip(dimensions, keys, strict=True)))


def store_keys(key: str, dimensions: Sequence[str]) -> tuple[str, ...]:
    """Keys in the order of the store's paths, from Dagster's, which has dimensions in alphabetical order."""
    named = dict(zip(sorted(dimensions), str(key).split("|"), strict=True))
    return tuple(named[dimension] for dimension in dimensions)
