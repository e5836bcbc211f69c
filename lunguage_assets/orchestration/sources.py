"""What steps read besides tables, as observable sources with a version each.

Judges, structurers, panels, deliveries, and the files that a person edits. What rests
on one that changed shows as unsynced (https://docs.dagster.io, "External assets").

A command observes them before it makes anything, and so does the sensor
`observe_sources`; in the UI the button *Observe* does it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.edited_files import EDITED_FILES, EditedFile
from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.current import DATA_VERSION
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.workspace.store import fingerprint

GROUP = "sources"
INTERVAL_S = 30

DESCRIPTIONS: Mapping[str, str] = {
    "deliveries": "The registered files of a batch: what they contain, and when they "
    "were registered",
    "structurers": "Who turns text into rows: its rules, or model, prompts and limits",
    "judges": "Who says which of two sentences is surer: model, prompts, parameters",
    "panels": "The judges whose answers a ranker pools",
}
"""Source with partitions -> what it stands for."""


def source_assets(partitions: Partitions) -> list[dg.SourceAsset]:
    """Return the sources, for the judges of `partitions`."""
    partitions_by_source: Mapping[str, dg.PartitionsDefinition[str]] = {
        "deliveries": partitions.batch,
        "structurers": partitions.structurer,
        "judges": partitions.judge,
        "panels": partitions.ranker,
    }
    with_partitions = [
        _partitioned_source(name, partitions_by_source[name]) for name in DESCRIPTIONS
    ]
    files = [_file_source(name, file) for name, file in EDITED_FILES.items()]
    return [*with_partitions, *files]


def _partitioned_source(
    name: str, partitions: dg.PartitionsDefinition[str]
) -> dg.SourceAsset:
    @dg.observable_source_asset(
        name=name,
        group_name=GROUP,
        description=DESCRIPTIONS[name],
        partitions_def=partitions,
    )
    @redact_errors()
    def observe_source(
        configuration: dg.ResourceParam[Configuration],
    ) -> dg.DataVersionsByPartition:
        versions = _versions_by_partition(configuration)[name]
        return dg.DataVersionsByPartition(versions)

    source: dg.SourceAsset = observe_source
    return source


def _file_source(name: str, file: EditedFile) -> dg.SourceAsset:
    @dg.observable_source_asset(
        name=name, group_name=GROUP, description=file.description
    )
    @redact_errors()
    def observe_file(
        configuration: dg.ResourceParam[Configuration],
    ) -> dg.ObserveResult:
        return dg.ObserveResult(
            data_version=dg.DataVersion(file.version(configuration.home)),
            metadata=_metadata_of(file, configuration),
        )

    source: dg.SourceAsset = observe_file
    return source


def _metadata_of(
    file: EditedFile, configuration: Configuration
) -> dict[str, dg.MetadataValue[str]]:
    paths = file.paths(configuration.home)
    metadata: dict[str, dg.MetadataValue[str]] = {
        path.name: dg.MetadataValue.path(str(path)) for path in paths
    }
    metadata["digest"] = dg.MetadataValue.text(file.version(configuration.home))
    return metadata


def _versions_by_partition(
    configuration: Configuration,
) -> Mapping[str, Mapping[str, str]]:
    """Compute the version of every partition of every source.

    A judge who cannot be opened has none: whoever asks it is told why.
    """
    from lunguage_assets.structuring.model.structurer import structurer_identity

    judges = configuration.judges
    home = configuration.home
    prompts = configuration.prompts
    version_by_judge = _usable(
        judges.active_judges, lambda key: version_of_judge(configuration, key)
    )
    version_by_structurer = _usable(
        judges.structurers,
        lambda key: structurer_identity(key, judges, prompts, home.assertion_file),
    )
    # With the number: a batch that was removed and delivered again is another one.
    version_by_batch = {
        batch.key: f"{batch.sha256[:16]}-{batch.number}" for batch in home.registered()
    }
    version_by_panel = {
        ranker: fingerprint(
            [[key, version_by_judge.get(key, "")] for key in judges.members(ranker)]
        )
        for ranker in judges.rankers
    }
    return {
        "deliveries": version_by_batch,
        "structurers": version_by_structurer,
        "judges": version_by_judge,
        "panels": version_by_panel,
    }


def version_of_judge(configuration: Configuration, key: str) -> str:
    """Hash what a judge is: model, prompts, parameters.

    Raises:
        ConfigurationError: it cannot be opened.
    """
    from lunguage_assets.explicit.open_judges import judge_identity

    return judge_identity(key, configuration.judges, configuration.prompts)


def _usable(keys: Sequence[str], identify: Callable[[str], str]) -> dict[str, str]:
    versions = {}
    for key in keys:
        try:
            versions[key] = identify(key)
        except LunguageError:
            continue
    return versions


def changed_sources(
    instance: dg.DagsterInstance, configuration: Configuration
) -> Iterator[dg.AssetObservation]:
    """Yield an observation of every source that Dagster knows in another version."""
    for name, versions in _versions_by_partition(configuration).items():
        known = instance.event_log_storage.get_latest_tags_by_partition(
            dg.AssetKey(name), dg.DagsterEventType.ASSET_OBSERVATION, [DATA_VERSION]
        )
        for partition, version in versions.items():
            if known.get(partition, {}).get(DATA_VERSION) != version:
                yield dg.AssetObservation(
                    name, partition=partition, tags={DATA_VERSION: version}
                )
    for name, file in EDITED_FILES.items():
        version = file.version(configuration.home)
        if _known_version(instance, name) != version:
            yield dg.AssetObservation(
                name,
                metadata=_metadata_of(file, configuration),
                tags={DATA_VERSION: version},
            )


def _known_version(instance: dg.DagsterInstance, name: str) -> str | None:
    for record in instance.fetch_observations(dg.AssetKey(name), limit=1).records:
        if record.asset_observation is not None:
            return record.asset_observation.tags.get(DATA_VERSION)
    return None


def observe(instance: dg.DagsterInstance, configuration: Configuration) -> None:
    """Tell Dagster of every source that changed."""
    for observation in changed_sources(instance, configuration):
        instance.report_runless_asset_event(observation)


def sources_sensor() -> dg.SensorDefinition:
    """Return the sensor that observes sources; it runs from the start, and is free."""

    @dg.sensor(
        name="observe_sources",
        minimum_interval_seconds=INTERVAL_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Notes deliveries, judges and edited files that changed. It asks "
        "nothing and makes nothing: what rests on them shows as unsynced.",
    )
    @redact_errors()
    def observe_sources(
        context: dg.SensorEvaluationContext,
        configuration: dg.ResourceParam[Configuration],
    ) -> dg.SensorResult:
        changed = list(changed_sources(context.instance, configuration))
        return dg.SensorResult(
            asset_events=changed,
            skip_reason=None if changed else "No source changed.",
        )

    return observe_sources
