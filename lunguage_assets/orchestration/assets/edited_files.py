"""Files that a person edits, as observable source assets: what rests on an edited one shows as unsynced on
the lineage. A command observes them before it makes anything; in the UI the button *Observe* does.

What is stale decides `current`, which knows the single option and the batch; these are what Dagster shows.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.lineage.input_fingerprints import OPTIONS
from lunguage_assets.packaged_data import resource
from lunguage_assets.workspace.store import fingerprint

GROUP = "edited_files"
FILES: Mapping[str, tuple[str, Sequence[str]]] = {
    "pathways_file": ("pathways.yaml of the home, or the packaged one", ["pathways"]),
    "blacklist_file": (
        "blacklist.yaml of the home, or the packaged one",
        ["blacklist"],
    ),
    "assertion_file": (
        "assertion.yaml of the home: cues of negation and doubt",
        ["structurer"],
    ),
    "corrections_file": (
        "corrections.csv of the home: phrases that a person corrected",
        ["corrections"],
    ),
    "anchors_file": (
        "Anchors: ratings of the home, or the set that the settings name",
        ["anchors"],
    ),
    "settings_file": (
        "settings.toml of the home: the options of the method",
        [*OPTIONS],
    ),
    "judges_file": (
        "The judges file: models, panels, presets",
        ["judge", "members", "structurer"],
    ),
    "gold_findings_file": (
        "gold_findings.csv of the home: rows that people coded",
        ["gold findings"],
    ),
    "experts_file": ("The answers of a survey of experts", ["expert responses"]),
}
"""Asset -> what it is, and the names under which recipes read it (`current.reads`)."""

DATA_VERSION = "dagster/data_version"


def edited_files() -> list[dg.SourceAsset]:
    """The files as source assets."""
    return [_observable(name, description) for name, (description, _) in FILES.items()]


def _observable(name: str, description: str) -> dg.SourceAsset:
    @dg.observable_source_asset(
        name=name, group_name=GROUP, description=f"{description}."
    )
    def observe(configuration: dg.ResourceParam[Configuration]) -> dg.DataVersion:
        return dg.DataVersion(version_of(configuration, name))

    return observe


def files_read(reads: Sequence[str]) -> list[str]:
    """The files among what a recipe reads."""
    return [name for name, (_, names) in FILES.items() if set(names) & set(reads)]


def version_of(configuration: Configuration, name: str) -> str:
    """The version of a file's content; of the settings, of the options that change a result."""
    place = configuration.home
    if name == "judges_file":
        return _digest(configuration.judges_file or resource("judges.toml"))
    if name == "corrections_file":
        return _digest(place.corrections_file)
    if name == "assertion_file":
        return _digest(place.assertion_file) if place.assertion_file else "none"
    reads = configuration.staleness().fingerprints
    return fingerprint([reads.of(read, {}) for read in FILES[name][1]])


def _digest(file: Path) -> str:
    return (
        hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else "none"
    )


def note_versions(instance: dg.DagsterInstance, configuration: Configuration) -> None:
    """Tell Dagster which content the files have now, where it is another than it knows."""
    for name in FILES:
        version, key = version_of(configuration, name), dg.AssetKey(name)
        known = instance.fetch_observations(key, limit=1).records
        if (
            known
            and (known[0].asset_observation or dg.AssetObservation(key)).tags.get(
                DATA_VERSION
            )
            == version
        ):
            continue
        instance.report_runless_asset_event(
            dg.AssetObservation(key, tags={DATA_VERSION: version})
        )
