"""The Dagster instance of a home: its configuration, commands at work, lost runs.

Dagster's page is "Dagster instance" (https://docs.dagster.io). Lost runs are those that
a killed process left.

Which runs are launched is not here, but in `run.py`.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import dagster as dg
import psutil

from lunguage_assets.locks import (
    LockHeld,
    exclusive_lock,
    exclusive_lock_at_once,
    shared_lock,
)
from lunguage_assets.orchestration.internals import origin_of_run
from lunguage_assets.orchestration.redaction import REDACTION_VARIABLE, redaction
from lunguage_assets.packaged_data import dagster_yaml
from lunguage_assets.workspace.home import ENVIRONMENT_VARIABLE, Home

LOCATION = "lunguage_assets.definitions"
"""Name of the code location, as `lunguage ui` and workspace.yaml load it."""

DAGSTER_VARIABLE = "DAGSTER_HOME"
HOST_TAG = ".dagster/lunguage_host"
"""Run tag: the machine on which a command executes the run. Dagster hides such tags."""

PROCESS_TAG = ".dagster/lunguage_process"
"""Run tag: the command's process. Dagster notes it only once the run has started."""

_WILL_RETRY_TAG = "dagster/will_retry"
"""Run tag of Dagster: a failed run that its daemon will start again."""

_SERVER_TAG = ".dagster/grpc_info"
"""Run tag of Dagster: the code server that launched the run."""

_COMMAND_LOCK = ".command.lock"
_AT_WORK = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_CLOCK_S = 2.0
"""The start of the machine is known to the second, and its last digit may change
between two looks.
"""


@contextmanager
def dagster_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """Open the persistent instance of a home, or the one that `$DAGSTER_HOME` names.

    The home's own one gets the packaged configuration where it has none.
    """
    home.create()
    folder = Path(os.environ.get(DAGSTER_VARIABLE) or home.dagster)
    # An instance that `$DAGSTER_HOME` names is somebody's own, and is left alone.
    if folder == home.dagster and not (folder / "dagster.yaml").exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(dagster_yaml(), folder / "dagster.yaml")
    # The first process makes the databases, and two at once fail.
    with exclusive_lock(home.root / ".dagster.lock"):
        instance = dg.DagsterInstance.from_config(str(folder))
    with instance:
        yield instance


def environment_of_children(home: Home) -> dict[str, str]:
    """Return the variables with which Dagster's own commands serve a home.

    They name its folder and its instance, and say whether messages are withheld.

    The instance's databases are made: webserver, daemon and code server will open them
    at once.
    """
    with dagster_instance(home):
        corpus = home.corpus()
    data_class = corpus.data_class if corpus is not None else None
    return {
        **os.environ,
        DAGSTER_VARIABLE: os.environ.get(DAGSTER_VARIABLE) or str(home.dagster),
        ENVIRONMENT_VARIABLE: str(home.root),
        REDACTION_VARIABLE: redaction(data_class),
    }


@contextmanager
def runs_of_location(instance: dg.DagsterInstance, job: str) -> Iterator[None]:
    """Let runs that are created within belong to the code location.

    Those that are launched in the UI do.
    """
    create_run = instance.create_run_for_job
    create_run_of_location = partial(
        create_run, remote_job_origin=origin_of_run(LOCATION, job)
    )
    instance.create_run_for_job = create_run_of_location  # type: ignore[method-assign]
    try:
        yield
    finally:
        instance.create_run_for_job = create_run  # type: ignore[method-assign]


@contextmanager
def command_at_work(home: Path) -> Iterator[None]:
    """Hold a lock on the home, so that automation leaves its batches to this command.

    Several commands may hold it; it ends with the process, however that ends.
    """
    with shared_lock(home / _COMMAND_LOCK):
        yield


def is_at_work(home: str | Path) -> bool:
    """Tell whether a living command holds the lock, or one that looks just now."""
    try:
        with exclusive_lock_at_once(Path(home) / _COMMAND_LOCK):
            return False
    except LockHeld:
        return True
    except OSError:  # no home yet
        return False


def runs_of_batch(instance: dg.DagsterInstance, key: str) -> list[str]:
    """Return the ids of the runs that wait or are at work for a batch."""
    statuses = [dg.DagsterRunStatus.QUEUED, *_AT_WORK]
    runs = instance.get_runs(dg.RunsFilter(statuses=statuses))
    return [
        run.run_id
        for run in runs
        if key in run.tags.get("dagster/partition", "").split("|")
    ]


def executed_here() -> dict[str, str]:
    """Return the tags of a run that only the present process could execute again."""
    return {
        HOST_TAG: socket.gethostname(),
        PROCESS_TAG: str(os.getpid()),
        "dagster/max_retries": "0",
    }


def close_abandoned_runs(instance: dg.DagsterInstance) -> None:
    """Report runs as failed whose process was killed, and free what they held.

    A code server reports the runs of its own dead processes; nobody else notices its
    own death, or that of a command.
    """
    # Whether a process on another machine lives cannot be seen from here.
    if not isinstance(instance.run_launcher, dg.DefaultRunLauncher):
        return  # processes are elsewhere
    message = (
        "The process was killed. What it had finished is stored; the same work goes on "
        "from there."
    )
    for run in instance.get_runs(dg.RunsFilter(statuses=_AT_WORK)):
        if _is_abandoned(instance, run):
            # Dagster decides on a retry after it has stored the failure, and a backfill
            # that looks in between would take the run for given up. It stores its
            # decision over this.
            if instance.run_retries_enabled:
                instance.add_run_tags(run.run_id, {_WILL_RETRY_TAG: "true"})
            instance.report_run_failed(run, message)
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)


def _is_abandoned(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Tell whether the process of a run has ended.

    Of one that runs elsewhere, or that nobody knows, nothing is said.
    """
    host = socket.gethostname()
    # A number of a process means something on its own machine alone.
    is_here = run.tags.get(HOST_TAG, host) == host
    if not is_here or "localhost" not in run.tags.get(_SERVER_TAG, "localhost"):
        return False
    if PROCESS_TAG in run.tags:
        (record,) = instance.get_run_records(dg.RunsFilter(run_ids=[run.run_id]))
        created = record.create_timestamp.timestamp()
        return _has_ended(int(run.tags[PROCESS_TAG]), created)
    # A run that the UI launched has no tag of ours: Dagster notes its process in an
    # event.
    for entry in instance.all_logs(run.run_id, dg.DagsterEventType.ENGINE_EVENT):
        metadata = entry.get_dagster_event().engine_event_data.metadata
        if process := metadata.get("pid"):
            return _has_ended(int(str(process.value)), entry.timestamp)
    return False


def _has_ended(process: int, noted_at: float) -> bool:
    """Tell whether a process has ended that was at work at a time.

    One that began later has only the same number.
    """
    try:
        running = psutil.Process(process)
        is_zombie = bool(running.status() == psutil.STATUS_ZOMBIE)
        return is_zombie or bool(running.create_time() > noted_at + _CLOCK_S)
    except psutil.NoSuchProcess:
        return True
