"""What steps read besides tables, as observable sources with a version each.

Judges, structurers, panels, deliveries, and the files that a person edits. What rests
on one that changed shows as unsynced (https://docs.dagster.io, "External assets").

A command observes them before it makes anything, and so does the sensor
`observe_sources`; in the UI the button *Observe* does it at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.edited_files import EDITED_FILES
from lunguage_assets.orchestration.current import DATA_VERSION
from lunguage_assets.orchestration.internals import stale_resolver
from lunguage_assets.orchestration.partitions import Partitions
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.orchestration.resources import ConfigurationResource
from lunguage_assets.source_versions import source_versions

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
        configuration: ConfigurationResource,
    ) -> dg.DataVersion | dg.DataVersionsByPartition:
        version_by_partition = source_versions(configuration)[name]
        if partitions is None:
            return dg.DataVersion(version_by_partition[None])
        return dg.DataVersionsByPartition(version_by_partition)

    source: dg.SourceAsset = observe_source
    return source


def changed_sources(
    instance: dg.DagsterInstance, asset_graph: Any, configuration: Configuration
) -> Iterator[dg.AssetObservation]:
    """Yield an observation of every source that Dagster knows in another version.

    Args:
        instance: that keeps what was observed.
        asset_graph: Dagster's, of the home's definitions.
        configuration: of the home.
    """
    resolver = stale_resolver(instance, asset_graph)
    for name, version_by_partition in source_versions(configuration).items():
        for partition, version in version_by_partition.items():
            known = resolver.get_current_data_version(dg.AssetKey(name), partition)
            if known.value != version:
                tags = {DATA_VERSION: version}
                yield dg.AssetObservation(name, partition=partition, tags=tags)


def sources_sensor() -> dg.SensorDefinition:
    """Return the sensor that observes sources; it runs from the start, and is free."""

    @dg.sensor(
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Notes deliveries, judges and edited files that changed. It asks "
        "nothing and makes nothing: what rests on them shows as unsynced.",
    )
    @redact_errors()
    def observe_sources(
        context: dg.SensorEvaluationContext,
        configuration: ConfigurationResource,
    ) -> dg.SensorResult:
        repository: Any = context.repository_def
        graph = repository.asset_graph
        changed = changed_sources(context.instance, graph, configuration)
        return dg.SensorResult(asset_events=[*changed])

    return observe_sources
