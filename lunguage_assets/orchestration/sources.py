"""What steps read besides tables, as observable sources with a version each.

Judges, structurers, panels, deliveries, and the files that a person edits. What rests
on one that changed shows as unsynced (https://docs.dagster.io, "External assets").

A command observes them before it makes anything, and so does the sensor
`observe_sources`; in the UI the button *Observe* does it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.edited_files import EDITED_FILES
from lunguage_assets.errors import LunguageError
from lunguage_assets.explicit.open_judges import judge_identity
from lunguage_assets.orchestration.current import DATA_VERSION
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.structuring.model.structurer import structurer_identity
from lunguage_assets.workspace.store import fingerprint

INTERVAL_S = 30

_DESCRIPTIONS = {
    "deliveries": "The registered files of a batch: what they contain, and when they "
    "were registered",
    "structurers": "Who turns text into rows: its rules, or model, prompts and limits",
    "judges": "Who says which of two sentences is surer: model, prompts, parameters",
    "panels": "The judges whose answers a ranker pools",
    **{name: file.description for name, file in EDITED_FILES.items()},
}


def source_assets(partitions: Partitions) -> list[dg.SourceAsset]:
    """Return the sources, for the judges of `partitions`."""
    partitions_by_source = {
        "deliveries": partitions.batch,
        "structurers": partitions.structurer,
        "judges": partitions.judge,
        "panels": partitions.ranker,
    }
    return [_source(name, partitions_by_source.get(name)) for name in _DESCRIPTIONS]


def _source(
    name: str, partitions: dg.PartitionsDefinition[str] | None
) -> dg.SourceAsset:
    @dg.observable_source_asset(
        name=name,
        group_name="sources",
        description=_DESCRIPTIONS[name],
        partitions_def=partitions,
    )
    @redact_errors()
    def observe_source(
        configuration: dg.ResourceParam[Configuration],
    ) -> dg.DataVersion | dg.DataVersionsByPartition:
        if partitions is None:
            return dg.DataVersion(EDITED_FILES[name].version(configuration.home))
        return dg.DataVersionsByPartition(_versions(configuration)[name])

    source: dg.SourceAsset = observe_source
    return source


def _versions(configuration: Configuration) -> Mapping[str, Mapping[str, str]]:
    """Compute the version of every partition of the sources that have some.

    A judge who cannot be opened has none: whoever asks it is told why.
    """
    judges = configuration.judges
    home = configuration.home
    version_by_judge = _usable(
        judges.active_judges, lambda key: version_of_judge(configuration, key)
    )
    version_by_panel = {}
    for ranker in judges.rankers:
        members = judges.members(ranker)
        version_by_panel[ranker] = fingerprint(
            [[key, version_by_judge.get(key, "")] for key in members]
        )
    return {
        # With the number: a batch that was removed and delivered again is another one.
        "deliveries": {
            batch.key: f"{batch.sha256[:16]}-{batch.number}"
            for batch in home.registered()
        },
        "structurers": _usable(
            judges.structurers,
            lambda key: structurer_identity(key, judges, home.assertion_file),
        ),
        "judges": version_by_judge,
        "panels": version_by_panel,
    }


def version_of_judge(configuration: Configuration, key: str) -> str:
    """Hash what a judge is: model, prompts, parameters.

    Raises:
        ConfigurationError: it cannot be opened.
    """
    return judge_identity(key, configuration.judges)


def _usable(keys: Collection[str], identify: Callable[[str], str]) -> dict[str, str]:
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
    for name, versions in _versions(configuration).items():
        tags_by_partition = instance.event_log_storage.get_latest_tags_by_partition(
            dg.AssetKey(name), dg.DagsterEventType.ASSET_OBSERVATION, [DATA_VERSION]
        )
        for partition, version in versions.items():
            tags = {DATA_VERSION: version}
            if tags_by_partition.get(partition) != tags:
                yield dg.AssetObservation(name, partition=partition, tags=tags)
    for name, file in EDITED_FILES.items():
        version = file.version(configuration.home)
        record = instance.get_latest_data_version_record(dg.AssetKey(name))
        observation = record.asset_observation if record is not None else None
        if observation is None or observation.data_version != version:
            yield dg.AssetObservation(name, tags={DATA_VERSION: version})


def observe(instance: dg.DagsterInstance, configuration: Configuration) -> None:
    """Tell Dagster of every source that changed."""
    for observation in changed_sources(instance, configuration):
        instance.report_runless_asset_event(observation)


def sources_sensor() -> dg.SensorDefinition:
    """Return the sensor that observes sources; it runs from the start, and is free."""

    @dg.sensor(
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
        return dg.SensorResult(asset_events=changed)

    return observe_sources
