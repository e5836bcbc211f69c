"""Everything that this package takes from private modules of Dagster, each with the reason.

No other module imports from `dagster._...`. A public name goes first, wherever there is one. A name that
Dagster moves fails here, and the test of this module says what needs it. What takes long to import is
imported late.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import dagster as dg

# A backfill of the command line holds several assets with their own partitions.
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset

# The batches among these partitions are read from the instance.
from dagster._core.definitions.partitions.context import partition_loading_context

# The command line hands its plan to the daemon as one backfill.
from dagster._core.execution.backfill import PartitionBackfill

# A step that was interrupted has failed at nothing.
from dagster._core.execution.plan.objects import ErrorSource

# The databases of a home lie beside its dagster.yaml, wherever the home is: Dagster's own defaults otherwise.
from dagster._core.instance.ref import InstanceRef

# The launchers answer whether the process of a run lives, and resume a run that lost its worker.
from dagster._core.launcher import CheckRunHealthResult, ResumeRunContext, WorkerStatus

# A run of the command line belongs to the code location, as those launched in the UI do: whose it is.
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

# The same: how the code location is loaded.
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

# The instance of a home names its storage by module and class, as a line of dagster.yaml does.
from dagster._serdes import ConfigurableClassData

# The schedules ask when the next night is, and refuse a cron line that is none.
from dagster._utils.schedules import cron_string_iterator, is_valid_cron_schedule

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
                backfill_timestamp=time.time(),
                tags={},
                dynamic_partitions_store=instance,
                asset_graph_subset=subset,
                title=title,
                description=description,
                run_config=None,
            )
        )
    return backfill_id


def was_interrupted(event: dg.DagsterEvent) -> bool:
    """Whether a step failed because its process was asked to stop."""
    return event.is_step_failure and event.step_failure_data.error_source is ErrorSource.INTERRUPT


def sqlite_storages() -> tuple[type, type, type, type]:
    """Dagster's storage on SQLite, and its parts: the event log, the record of runs, that of schedules."""
    # The databases of a home keep their connections open: opening one for each event costs more than the
    # event.
    from dagster._core.storage.event_log import SqliteEventLogStorage
    from dagster._core.storage.runs import SqliteRunStorage
    from dagster._core.storage.schedules import SqliteScheduleStorage
    from dagster._core.storage.sqlite_storage import DagsterSqliteStorage

    return DagsterSqliteStorage, SqliteEventLogStorage, SqliteRunStorage, SqliteScheduleStorage


def silent_daemons(instance: dg.DagsterInstance, needed: Sequence[str]) -> list[str]:
    """The daemons of an instance, of those needed, without a sign of life lately."""
    # The command line refuses to queue what nobody would take up.
    from dagster._daemon.controller import get_daemon_statuses

    statuses = get_daemon_statuses(instance, needed, ignore_errors=True)
    return sorted(name for name, status in statuses.items() if not status.healthy)


def resume_arguments(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """What the Celery task that resumes a run is given.

    Raises:
        DagsterInvariantViolationError: the run does not say where its job is defined.
    """
    # The inherited method of the Celery launcher gives the task an argument that it does not take.
    from dagster._grpc.types import ResumeRunArgs
    from dagster._serdes import pack_value

    if run.job_code_origin is None:
        raise dg.DagsterInvariantViolationError(f"run {run.run_id} does not say where its job is defined")
    arguments = ResumeRunArgs(
        job_origin=run.job_code_origin,
        run_id=run.run_id,
        instance_ref=instance.get_ref(),
        set_exit_code_on_failure=True,
    )
    return pack_value(arguments)
