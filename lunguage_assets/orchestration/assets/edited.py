"""Group `edited`: what a person edits and steps read, as external assets with data versions.

Dagster shows a table as stale when one of these has another version than the one that the table was made
with, and names it. Their versions are the fingerprints of `current.reads`; a sensor notes a changed one, and
so does every command before it runs anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import dagster as dg

from lunguage_assets.current.recipes import BATCH, RECIPES, STRUCTURER
from lunguage_assets.current.standing import Standings
from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.metadata import OWNERS
from lunguage_assets.orchestration.partitions import REPORT_BATCH, Partitions

GROUP = "edited"
VERSION_TAG = "dagster/data_version"

AT_ONCE = 500
"""Events fetched by one query; SQLite takes no more than 999 parameters in one."""

SETTINGS = {
    "corpus settings": "corpus",
    "vocabulary settings": "vocabulary",
    "comparison settings": "comparison",
    "ranking settings": "ranking",
    "fit settings": "fit",
    "merge settings": "merge",
    "pathways": "pathways",
    "blacklist": "blacklist",
    "anchors": "anchors",
}
"""Name of a read -> partition of the asset `settings`."""


def edited_assets(partitions: Partitions) -> list[dg.AssetSpec]:
    """External assets; nothing is materialised by them."""
    described = {
        "settings": (
            dg.StaticPartitionsDefinition(list(SETTINGS.values())),
            "Options of settings.toml by the step that reads them, and the files pathways.yaml, "
            "blacklist.yaml and anchor_ratings.csv or another set of anchors: those in the home, else the "
            "packaged ones.",
        ),
        "corrections": (REPORT_BATCH, "A person's corrections of extracted phrases: corrections.csv."),
        "judges": (
            partitions.by_dimensions[("judge",)],
            "Model, parameters and prompts of every judge.",
        ),
        "structurers": (
            partitions.structurer,
            "Words and rules of the offline structurer; model, parameters and prompts of the others.",
        ),
    }
    return [
        dg.AssetSpec(
            key,
            group_name=GROUP,
            owners=OWNERS,
            description=description,
            partitions_def=parts,
            kinds={"file"},
        )
        for key, (parts, description) in described.items()
    ]


def edited_deps(step: str) -> Iterator[dg.AssetDep]:
    """The external assets that a step reads. Analyses are made on request: no lines to them."""
    recipe = RECIPES[step]
    if recipe.on_request:
        return
    if groups := [SETTINGS[name] for name in recipe.reads if name in SETTINGS]:
        yield dg.AssetDep("settings", partition_mapping=dg.SpecificPartitionsPartitionMapping(groups))
    for name, asset, dimension in (
        ("corrections", "corrections", BATCH),
        ("judge", "judges", "judge"),
        ("structurer", "structurers", STRUCTURER),
    ):
        if name in recipe.reads:
            alone = recipe.dimensions == (dimension,)
            shared = dg.MultiToSingleDimensionPartitionMapping(dimension)
            yield dg.AssetDep(asset, partition_mapping=dg.IdentityPartitionMapping() if alone else shared)


def present_versions(standings: Standings) -> dict[tuple[str, str], str]:
    """Asset and partition -> version as it is now, of everything in the group."""
    judges = standings.judges
    read: list[tuple[str, str, str, dict[str, str]]] = [
        *(("settings", option, name, {}) for name, option in SETTINGS.items()),
        *(("corrections", batch, "corrections", {BATCH: batch}) for batch in standings.batches),
        *(("judges", judge, "judge", {"judge": judge}) for judge in judges.active_judges),
        *(("structurers", key, "structurer", {STRUCTURER: key}) for key in judges.structurers),
    ]
    return {(asset, part): _version(standings, name, keys) for asset, part, name, keys in read}


def _version(standings: Standings, name: str, keys: Mapping[str, str]) -> str:
    """A file that cannot be used has a version of its own."""
    try:
        return standings.reads.of(name, keys)
    except LunguageError as error:
        return f"unusable: {type(error).__name__}"


def changed(instance: dg.DagsterInstance, standings: Standings) -> list[dg.AssetObservation]:
    """Observations of what has another version than the instance knows.

    A batch without corrections has a version too: Dagster compares only what was noted before a table was
    made, and a first correction would show nothing as stale.
    """
    present = present_versions(standings)
    noted = {asset: _noted(instance, asset) for asset in {asset for asset, _ in present}}
    return [
        dg.AssetObservation(dg.AssetKey(asset), partition=partition, tags={VERSION_TAG: version})
        for (asset, partition), version in present.items()
        if noted[asset].get(partition) != version
    ]


def note_changed(instance: dg.DagsterInstance, standings: Standings) -> int:
    """Note changed versions in the instance; returns how many."""
    observations = changed(instance, standings)
    for observation in observations:
        instance.report_runless_asset_event(observation)
    return len(observations)


def _noted(instance: dg.DagsterInstance, asset: str) -> dict[str, str]:
    """Partition -> version that was noted last; one query, however many partitions."""
    key = dg.AssetKey(asset)
    latest = instance.get_latest_storage_id_by_partition(key, dg.DagsterEventType.ASSET_OBSERVATION)
    found = {}
    for start in range(0, len(latest), AT_ONCE):
        ids = sorted(latest.values())[start : start + AT_ONCE]
        chosen = dg.AssetRecordsFilter(asset_key=key, storage_ids=ids)
        for record in instance.fetch_observations(chosen, limit=AT_ONCE).records:
            observation = record.asset_observation
            if observation is not None and observation.partition is not None:
                found[observation.partition] = (observation.tags or {}).get(VERSION_TAG, "")
    return found
