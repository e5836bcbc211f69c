"""What the instance's event log says last about the partitions of each table: when they were made, when that
was last tried, what was noted.

A moment is the storage id of an event. These only grow and no clock is read, so a clock that is set back
changes nothing. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import dagster as dg

from lunguage_assets.orchestration.runs.workers import PROCESS_TAG

_AT_ONCE = 500
"""Events fetched by one query; SQLite takes no more than 999 parameters in one."""


def made(instance: dg.DagsterInstance, table: str) -> dict[str, int]:
    """Partition -> moment of its latest materialization."""
    return _moments(instance, table, dg.DagsterEventType.ASSET_MATERIALIZATION)


def tried(instance: dg.DagsterInstance, table: str) -> dict[str, int]:
    """Partition -> moment at which a run last set out to make it, or made it; whatever became of that run."""
    moments = _moments(instance, table, dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED)
    for partition, moment in made(instance, table).items():
        moments[partition] = max(moment, moments.get(partition, 0))
    return moments


def first_made(instance: dg.DagsterInstance, table: str, partition: str) -> int | None:
    """Moment of a partition's first materialization, None when there is none."""
    records = instance.fetch_materializations(_of(table, [partition]), limit=1, ascending=True).records
    return records[0].storage_id if records else None


def notes(
    instance: dg.DagsterInstance, table: str, partitions: Collection[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Partition -> metadata of its latest materialization; of all partitions, or of those named."""
    return {key: noted(record) for key, record in latest_records(instance, table, partitions).items()}


def noted(record: dg.EventLogRecord) -> dict[str, Any]:
    """Metadata of a materialization, as plain values."""
    materialization = record.asset_materialization
    return (
        {}
        if materialization is None
        else {name: value.value for name, value in materialization.metadata.items()}
    )


def latest_records(
    instance: dg.DagsterInstance, table: str, partitions: Collection[str] | None = None
) -> dict[str, dg.EventLogRecord]:
    """Partition -> event of its latest materialization; of all partitions, or of those named. A few queries,
    however many partitions.
    """
    wanted = sorted(_moments(instance, table, dg.DagsterEventType.ASSET_MATERIALIZATION, partitions).values())
    found = {}
    for start in range(0, len(wanted), _AT_ONCE):
        chosen = dg.AssetRecordsFilter(
            asset_key=dg.AssetKey(table), storage_ids=wanted[start : start + _AT_ONCE]
        )
        for record in instance.fetch_materializations(chosen, limit=_AT_ONCE).records:
            if record.partition_key is not None:
                found[record.partition_key] = record
    return found


def run_that_made(instance: dg.DagsterInstance, table: str, partition: str) -> str:
    """Id of the run that made a partition last; empty when no run did."""
    records = instance.fetch_materializations(_of(table, [partition]), limit=1).records
    return str(records[0].run_id or "") if records else ""


def run_that_tried(instance: dg.DagsterInstance, table: str, partition: str) -> str:
    """Id of the run that last set out to make a partition; empty when none did."""
    planned = instance.get_latest_planned_materialization_info(dg.AssetKey(table), partition)
    return planned.run_id if planned is not None else ""


def processes_that_made(
    instance: dg.DagsterInstance, table: str, partitions: Collection[str]
) -> dict[str, str]:
    """Partition -> process that made it last, of those for which one is on record (`workers`)."""
    runs = {
        partition: str(record.run_id or "")
        for partition, record in latest_records(instance, table, partitions).items()
    }
    wanted = sorted(set(runs.values()) - {""})
    processes: dict[str, str] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        for run in instance.get_runs(dg.RunsFilter(run_ids=wanted[start : start + _AT_ONCE])):
            if PROCESS_TAG in run.tags:
                processes[run.run_id] = run.tags[PROCESS_TAG]
    return {partition: processes[run] for partition, run in runs.items() if run in processes}


def _moments(
    instance: dg.DagsterInstance,
    table: str,
    event: dg.DagsterEventType,
    partitions: Collection[str] | None = None,
) -> dict[str, int]:
    if partitions is not None and not partitions:
        return {}
    named = set(partitions) if partitions is not None and len(partitions) <= _AT_ONCE else None
    moments: Mapping[str, int] = instance.get_latest_storage_id_by_partition(dg.AssetKey(table), event, named)
    return {
        partition: moment
        for partition, moment in moments.items()
        if partitions is None or partition in partitions
    }


def _of(table: str, partitions: list[str]) -> dg.AssetRecordsFilter:
    return dg.AssetRecordsFilter(asset_key=dg.AssetKey(table), asset_partitions=partitions)
