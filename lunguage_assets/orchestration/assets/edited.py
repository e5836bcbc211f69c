"""Group `edited`: what a person edits and steps read, as external assets with data versions.

Dagster shows a table as stale when one of these has another version than the one that the table was made with,
and names it. Their versions are the fingerprints of `current.reads`; a sensor notes a changed one, and so does
every command before it runs anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import dagster as dg

from lunguage_assets.current.recipes import BATCH, RECIPES
from lunguage_assets.current.standing import Standings
from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.metadata import OWNERS
from lunguage_assets.orchestration.partitions import REPORT_BATCH, Partitions

GROUP = "edited"
SETTINGS = {
    "corpus settings": "corpus",
    "vocabulary settings": "vocabulary",
    "comparison settings": "comparison",
    "ranking settings": "ranking",
    "fit settings": "fit",
    "merge settings": "merge",
    "release settings": "release",
}
"""Name of a read -> partition of the asset `settings`."""

FILES = {
    "pathways": "pathways.yaml in the home, else the packaged one: which sub-findings a diagnosis implies.",
    "blacklist": "blacklist.yaml in the home, else the packaged one: which findings never merge.",
    "anchors": "anchor_ratings.csv in the home, else the published ratings: where the ranking meets probabilities.",
}


def edited_assets(partitions: Partitions) -> list[dg.AssetSpec]:
    """External assets; nothing is materialised by them."""

    def spec(key: str, description: str, parts: dg.PartitionsDefinition | None = None) -> dg.AssetSpec:
        return dg.AssetSpec(
            key,
            group_name=GROUP,
            owners=OWNERS,
            description=description,
            partitions_def=parts,
            kinds={"file"},
        )

    groups = dg.StaticPartitionsDefinition(list(SETTINGS.values()))
    return [
        spec("settings", "Options of settings.toml in the home, by the step that reads them.", groups),
        *(spec(key, description) for key, description in FILES.items()),
        spec(
            "corrections",
            "A person's corrections of extracted phrases, corrections.csv in the home.",
            REPORT_BATCH,
        ),
        spec("judges", "Model, parameters and prompts of every judge.", partitions.by_dimensions[("judge",)]),
    ]


def edited_deps(step: str) -> Iterator[dg.AssetDep]:
    """The external assets that a step reads."""
    recipe = RECIPES[step]
    groups = [SETTINGS[name] for name in recipe.reads if name in SETTINGS]
    if groups:
        yield dg.AssetDep("settings", partition_mapping=dg.SpecificPartitionsPartitionMapping(groups))
    for name in recipe.reads:
        if name in FILES:
            yield dg.AssetDep(name)
        elif name == "corrections":
            yield dg.AssetDep(name, partition_mapping=dg.MultiToSingleDimensionPartitionMapping(BATCH))
        elif name == "judge":
            mapping = (
                dg.IdentityPartitionMapping()
                if recipe.dimensions == ("judge",)
                else dg.MultiToSingleDimensionPartitionMapping("judge")
            )
            yield dg.AssetDep("judges", partition_mapping=mapping)


@dataclass(frozen=True)
class Edited:
    """One external asset's partition and its present version."""

    asset: str
    partition: str | None
    version: str


def present_versions(standings: Standings) -> list[Edited]:
    """Versions of everything in the group as it is now; a file that cannot be used has a version of its own."""

    def version(name: str, keys: Mapping[str, str] | None = None) -> str:
        try:
            return standings.reads.of(name, keys or {})
        except LunguageError as error:
            return f"unusable: {type(error).__name__}"

    return [
        *(Edited("settings", group, version(name)) for name, group in SETTINGS.items()),
        *(Edited(name, None, version(name)) for name in FILES),
        *(
            Edited("corrections", batch, version("corrections", {BATCH: batch}))
            for batch in standings.batches
        ),
        *(
            Edited("judges", judge, version("judge", {"judge": judge}))
            for judge in standings.judges.active_judges
        ),
    ]


def changed(instance: dg.DagsterInstance, standings: Standings) -> list[dg.AssetObservation]:
    """Observations of what has another version than the instance knows."""
    found = []
    for edited in present_versions(standings):
        key = dg.AssetKey(edited.asset)
        records = instance.fetch_observations(
            dg.AssetRecordsFilter(
                asset_key=key, asset_partitions=[edited.partition] if edited.partition else None
            ),
            limit=1,
        ).records
        tags = (records[0].asset_observation.tags if records and records[0].asset_observation else None) or {}
        if tags.get("dagster/data_version") != edited.version:
            found.append(
                dg.AssetObservation(
                    key, partition=edited.partition, tags={"dagster/data_version": edited.version}
                )
            )
    return found


def note_changed(instance: dg.DagsterInstance, standings: Standings) -> int:
    """Note changed versions in the instance; returns how many."""
    observations = changed(instance, standings)
    for observation in observations:
        instance.report_runless_asset_event(observation)
    return len(observations)
