"""Files that a person edits, as observable source assets.

What rests on an edited one shows as unsynced on the lineage (https://docs.dagster.io,
"External assets").

A command observes them before it makes anything; in the UI the button *Observe* does.
They only show. What is stale decides `lineage.staleness`, which knows the single option
of the settings and the batch.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.lineage.input_fingerprints import OPTIONS
from lunguage_assets.packaged_data import resource
from lunguage_assets.workspace.table_record import fingerprint

GROUP = "edited_files"


class EditedFile(NamedTuple):
    """A file that a person edits.

    Args:
        description: where it lies and what it says.
        reads: the names under which recipes read it (`lineage.input_fingerprints`).
    """

    description: str
    reads: Sequence[str]


FILES: Mapping[str, EditedFile] = {
    "pathways_file": EditedFile(
        "pathways.yaml of the home, or the packaged one", ["pathways"]
    ),
    "blacklist_file": EditedFile(
        "blacklist.yaml of the home, or the packaged one", ["blacklist"]
    ),
    "assertion_file": EditedFile(
        "assertion.yaml of the home: cues of negation and doubt", ["structurer"]
    ),
    "corrections_file": EditedFile(
        "corrections.csv of the home: phrases that a person corrected", ["corrections"]
    ),
    "anchors_file": EditedFile(
        "Anchors: ratings of the home, or the set that the settings name", ["anchors"]
    ),
    "settings_file": EditedFile(
        "settings.toml of the home: the options of the method", [*OPTIONS]
    ),
    "judges_file": EditedFile(
        "The judges file: models, panels, presets", ["judge", "members", "structurer"]
    ),
    "gold_findings_file": EditedFile(
        "gold_findings.csv of the home: rows that people coded", ["gold findings"]
    ),
    "experts_file": EditedFile(
        "The answers of a survey of experts", ["expert responses"]
    ),
}
"""Asset -> the file that it stands for."""

DATA_VERSION = "dagster/data_version"


def edited_files() -> list[dg.SourceAsset]:
    """Return the files as source assets."""
    return [_observable(name, file.description) for name, file in FILES.items()]


def _observable(name: str, description: str) -> dg.SourceAsset:
    @dg.observable_source_asset(
        name=name, group_name=GROUP, description=f"{description}."
    )
    def observe(configuration: dg.ResourceParam[Configuration]) -> dg.DataVersion:
        return dg.DataVersion(version_of(configuration, name))

    return observe


def files_read(reads: Sequence[str]) -> list[str]:
    """Return the assets of the files among what a recipe reads."""
    return [name for name, file in FILES.items() if set(file.reads) & set(reads)]


def version_of(configuration: Configuration, name: str) -> str:
    """Return the version of a file's content.

    Of the settings it is that of the options which change a result.
    """
    # Recipes read one judge of the judges file, and the corrections of one batch: for
    # the asset the whole file counts.
    if name == "judges_file":
        return _hash_of(configuration.judges_file or resource("judges.toml"))
    if name == "corrections_file":
        return _hash_of(configuration.home.corrections_file)
    if name == "assertion_file":
        assertion_file = configuration.home.assertion_file
        return _hash_of(assertion_file) if assertion_file else "none"
    fingerprints = configuration.staleness().fingerprints
    return fingerprint([fingerprints.of(read, {}) for read in FILES[name].reads])


def _hash_of(file: Path) -> str:
    if not file.exists():
        return "none"
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def note_versions(instance: dg.DagsterInstance, configuration: Configuration) -> None:
    """Tell Dagster which content the files have now, where it knows another one."""
    for name in FILES:
        version = version_of(configuration, name)
        key = dg.AssetKey(name)
        if _known_version(instance, key) != version:
            observation = dg.AssetObservation(key, tags={DATA_VERSION: version})
            instance.report_runless_asset_event(observation)


def _known_version(instance: dg.DagsterInstance, key: dg.AssetKey) -> str | None:
    for record in instance.fetch_observations(key, limit=1).records:
        if record.asset_observation is not None:
            return record.asset_observation.tags.get(DATA_VERSION)
    return None
