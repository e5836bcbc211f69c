"""Driving the scaled-out deployment as its users do: backfills by the daemon, runs, a worker that dies at a
known moment.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import dagster as dg
from compose_file import DEPLOY
from dagster._cli.job import execute_backfill_command
from dagster._cli.workspace.cli_target import WorkspaceOpts, get_workspace_from_cli_opts
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.storage.tags import PARTITION_NAME_TAG
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG
from scaled_out import eventually

WORKSPACE = WorkspaceOpts(workspace=(str(DEPLOY / "workspace.yaml"),))


@dataclass(frozen=True)
class Frozen:
    """A run that was stopped in the middle: the process that has it does not get on."""

    run_id: str
    worker: str
    pid: int


def launcher(instance: dg.DagsterInstance) -> CeleryRunLauncher:
    found = instance.run_launcher
    assert isinstance(found, CeleryRunLauncher)
    return found


def wait_for_workers(instance: dg.DagsterInstance, count: int) -> None:
    eventually(
        f"{count} workers answer", lambda: len(launcher(instance).celery.control.ping(timeout=1.0)) == count
    )


def request_backfill(instance: dg.DagsterInstance, job: str, partitions: Sequence[str]) -> str:
    """What the UI does when a person asks for a backfill: the daemon launches its runs and follows them."""
    with get_workspace_from_cli_opts(instance, version="", workspace_opts=WORKSPACE) as workspace:
        (repository,) = workspace.code_locations[0].get_repositories().values()
        (chosen,) = (found for found in repository.get_partition_sets() if found.job_name == job)
    backfill = PartitionBackfill(
        backfill_id=job,
        partition_set_origin=chosen.get_remote_origin(),
        status=BulkActionStatus.REQUESTED,
        partition_names=partitions,
        from_failure=False,
        reexecution_steps=None,
        tags={},
        backfill_timestamp=time.time(),
    )
    instance.add_backfill(backfill)
    return backfill.backfill_id


def submit(instance: dg.DagsterInstance, job: str, partitions: Sequence[str]) -> None:
    """`dagster job backfill`: one run for each partition, all put into the queue at once."""
    execute_backfill_command(
        workspace_opts=WORKSPACE,
        partitions=",".join(partitions),
        noprompt=True,
        job_name=job,
        instance=instance,
        print_fn=lambda _: None,
    )


def succeeded(instance: dg.DagsterInstance, job: str) -> set[str]:
    """Partitions of a job with a run that succeeded."""
    runs = instance.get_runs(dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.SUCCESS]))
    return {run.tags[PARTITION_NAME_TAG] for run in runs}


def all_ended(instance: dg.DagsterInstance) -> bool:
    return all(run.is_finished for run in instance.get_runs())


def freeze_a_run(instance: dg.DagsterInstance, job: str) -> Frozen:
    """Stop the process of whichever run of a job is under way, so that it is certain to be unfinished."""

    def stopped() -> Frozen | None:
        for run in instance.get_runs(dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.STARTED])):
            known = launcher(instance).celery.AsyncResult(run.tags[DAGSTER_CELERY_TASK_ID_TAG]).info
            if not isinstance(known, dict) or "pid" not in known:
                continue
            with suppress(ProcessLookupError):
                os.kill(known["pid"], signal.SIGSTOP)
                latest = instance.get_run_by_id(run.run_id)
                if latest is not None and not latest.is_finished:
                    return Frozen(run.run_id, known["hostname"].partition("@")[0], known["pid"])
                os.kill(known["pid"], signal.SIGCONT)
        return None

    return eventually(f"a run of {job} is under way", stopped)


def start_and_cancel(instance: dg.DagsterInstance, job: str, partition: str) -> dg.DagsterRun:
    """What the UI does when a person cancels a run that is under way; the run as it ended."""
    submit(instance, job, [partition])
    started = dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.STARTED])
    (latest,) = instance.get_runs(dg.RunsFilter(job_name=job), limit=1)
    run = eventually(
        "the run is under way",
        lambda: next(iter(instance.get_runs(started)), None) or ended(instance, latest.run_id),
    )
    if not run.is_finished:
        instance.report_run_canceling(run)
        instance.run_launcher.terminate(run.run_id)
    return eventually("the run has ended", lambda: ended(instance, run.run_id))


def ended(instance: dg.DagsterInstance, run_id: str) -> dg.DagsterRun | None:
    run = instance.get_run_by_id(run_id)
    return run if run is not None and run.is_finished else None
