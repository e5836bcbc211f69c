"""Every private part of Dagster that this package needs, each with its reason; nothing else imports one."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import dagster as dg
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.execution.backfill import PartitionBackfill
from dagster._core.execution.plan.objects import ErrorSource
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._daemon.controller import get_daemon_statuses
from dagster._time import get_current_timestamp

LOCATION = "lunguage_assets.definitions"
"""Name of the code location, as `lunguage ui` and workspace.yaml load it."""


@contextmanager
def runs_of_location(instance: dg.DagsterInstance, job: str) -> Iterator[None]:
    """Runs that are created within belong to the code location, as those launched in the UI do.

    `execute_in_process` leaves a run's origin empty; the timeline leaves such a run out, and it cannot be
    executed again.
    """
    origin = RemoteJobOrigin(
        RemoteRepositoryOrigin(
            ManagedGrpcPythonEnvCodeLocationOrigin(
                LoadableTargetOrigin(executable_path=sys.executable, module_name=LOCATION), LOCATION
            ),
            "__repository__",
        ),
        job,
    )
    usual = instance.create_run_for_job
    instance.create_run_for_job = partial(usual, remote_job_origin=origin)  # type: ignore[method-assign]
    try:
        yield
    finally:
        instance.create_run_for_job = usual  # type: ignore[method-assign]


def add_backfill(
    instance: dg.DagsterInstance,
    partitions: Mapping[str, tuple[dg.PartitionsDefinition, Sequence[str]]],
    title: str,
    description: str,
) -> str:
    """Hand partitions of assets to the daemon as one backfill, which orders, queues and retries; returns its
    id.

    There is no public way to ask for different partitions of several assets at once.
    """
    backfill_id = uuid.uuid4().hex[:8]
    with partition_loading_context(dynamic_partitions_store=instance):
        subset = AssetGraphSubset(
            partitions_subsets_by_asset_key={
                dg.AssetKey(asset): definition.empty_subset().with_partition_keys(keys)
                for asset, (definition, keys) in partitions.items()
            }
        )
        instance.add_backfill(
            PartitionBackfill.from_asset_graph_subset(
                backfill_id=backfill_id,
                backfill_timestamp=get_current_timestamp(),
                tags={},
                dynamic_partitions_store=instance,
                asset_graph_subset=subset,
                title=title,
                description=description,
                run_config=None,
            )
        )
    return backfill_id


def silent_daemons(instance: dg.DagsterInstance, names: Sequence[str]) -> list[str]:
    """Of these daemons, those that gave no sign of life lately."""
    statuses = get_daemon_statuses(instance, names, ignore_errors=True)
    return sorted(name for name, status in statuses.items() if not status.healthy)


def was_interrupted(event: dg.DagsterEvent) -> bool:
    """Whether a step failed because its process was asked to stop."""
    return event.is_step_failure and event.step_failure_data.error_source is ErrorSource.INTERRUPT
