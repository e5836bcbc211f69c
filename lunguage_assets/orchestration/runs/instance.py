"""The Dagster instance of a home: its configuration, commands at work, and runs that a killed process has
left. All that this package takes from private modules of Dagster is imported here, and nowhere else.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import dagster as dg
import psutil

# A run of the command line belongs to the code location, as those launched in the UI do: whose it is.
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

# The same: how the code location is loaded.
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

from lunguage_assets.locks import (
    LockHeld,
    exclusive_lock,
    exclusive_lock_at_once,
    shared_lock,
)
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

_COMMAND_LOCK = ".command.lock"
_PROBE_LOCK = ".probe.lock"
_STATUS = dg.DagsterRunStatus
_AT_WORK = [_STATUS.NOT_STARTED, _STATUS.STARTING, _STATUS.STARTED, _STATUS.CANCELING]
_CLOCK_S = 2.0
"""The start of the machine is known to the second, and its last digit may change between two looks."""


@contextmanager
def dagster_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """The persistent instance of a home, or the one that `$DAGSTER_HOME` names. The home's own one gets the
    packaged configuration where it has none.
    """
    home.create()
    folder = Path(os.environ.get(DAGSTER_VARIABLE) or home.dagster)
    if folder == home.dagster and not (folder / "dagster.yaml").exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(dagster_yaml(), folder / "dagster.yaml")
    # The first process makes the databases, and two at once fail.
    with exclusive_lock(home.root / ".dagster.lock"):
        instance = dg.DagsterInstance.from_config(str(folder))
    with instance:
        yield instance


def environment_of_children(home: Home) -> dict[str, str]:
    """The environment in which Dagster's own commands serve a home: its folder, its instance, its secrecy.
    The instance's databases are there then: webserver, daemon and code server open them at once.
    """
    with dagster_instance(home):
        corpus = home.corpus()
    return {
        **os.environ,
        DAGSTER_VARIABLE: os.environ.get(DAGSTER_VARIABLE) or str(home.dagster),
        ENVIRONMENT_VARIABLE: str(home.root),
        REDACTION_VARIABLE: redaction(
            corpus.data_class if corpus is not None else None
        ),
    }


def examination(home: Home) -> tuple[str, str]:
    """What a person should know of the instance's configuration: severity and message."""
    if named := os.environ.get(DAGSTER_VARIABLE):
        return (
            "ok",
            f"Dagster's instance is configured in {named} ($DAGSTER_HOME), which is left alone",
        )
    file = home.dagster / "dagster.yaml"
    if file.exists() and file.read_bytes() != dagster_yaml().read_bytes():
        return "warning", (
            f"{file} is not this version's {dagster_yaml()}. Take over from there what you need, or delete "
            "yours: the next command then puts the packaged one there."
        )
    return "ok", "Dagster's instance has the packaged configuration"


@contextmanager
def runs_of_location(instance: dg.DagsterInstance, job: str) -> Iterator[None]:
    """Runs that are created within belong to the code location, as those launched in the UI do:
    `execute_in_process` leaves a run's origin empty, the timeline leaves such a run out, and it cannot be
    executed again.
    """
    target = LoadableTargetOrigin(executable_path=sys.executable, module_name=LOCATION)
    location = ManagedGrpcPythonEnvCodeLocationOrigin(target, LOCATION)
    origin = RemoteJobOrigin(RemoteRepositoryOrigin(location, "__repository__"), job)
    usual = instance.create_run_for_job
    instance.create_run_for_job = partial(usual, remote_job_origin=origin)  # type: ignore[method-assign]
    try:
        yield
    finally:
        instance.create_run_for_job = usual  # type: ignore[method-assign]


@contextmanager
def command_at_work(home: Path) -> Iterator[None]:
    """Hold a lock on the home, so that automation leaves its batches to this command. Several may hold it; it
    ends with the process, however that ends.
    """
    with shared_lock(home / _COMMAND_LOCK):
        yield


def is_at_work(home: str | Path) -> bool:
    """Whether a living command holds the lock."""
    probe = Path(home) / _PROBE_LOCK
    command = Path(home) / _COMMAND_LOCK
    try:
        # One after the other: two that look at once would take each other for a command.
        with exclusive_lock(probe), exclusive_lock_at_once(command):
            return False
    except LockHeld:
        return True
    except OSError:  # no home yet
        pass
    return False


def runs_of_batch(instance: dg.DagsterInstance, key: str) -> list[str]:
    """Ids of the runs that wait or are at work, and have a batch in their partition."""
    runs = instance.get_runs(dg.RunsFilter(statuses=[_STATUS.QUEUED, *_AT_WORK]))
    return [
        run.run_id
        for run in runs
        if key in run.tags.get("dagster/partition", "").split("|")
    ]


def executed_here() -> dict[str, str]:
    """Tags of a run that only the present process could execute again."""
    return {
        HOST_TAG: socket.gethostname(),
        PROCESS_TAG: str(os.getpid()),
        "dagster/max_retries": "0",
    }


def close_abandoned_runs(instance: dg.DagsterInstance) -> None:
    """Report runs as failed whose process on this machine was killed, and free what they held. A code server
    reports the runs of its own dead processes; nobody else notices its own death, or that of a command.
    """
    if not isinstance(instance.run_launcher, dg.DefaultRunLauncher):
        return  # processes are elsewhere
    for run in instance.get_runs(dg.RunsFilter(statuses=_AT_WORK)):
        if _is_abandoned(instance, run):
            said = "The process was killed. What it had finished is stored; the same work goes on from there."
            instance.report_run_failed(run, said)
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)


def _is_abandoned(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether the process of a run has ended; False where it is elsewhere or not known."""
    here = run.tags.get(HOST_TAG, socket.gethostname()) == socket.gethostname()
    if not here or "localhost" not in run.tags.get(".dagster/grpc_info", "localhost"):
        return False
    if PROCESS_TAG in run.tags:
        (record,) = instance.get_run_records(dg.RunsFilter(run_ids=[run.run_id]))
        return _has_ended(
            int(run.tags[PROCESS_TAG]), record.create_timestamp.timestamp()
        )
    for entry in instance.all_logs(
        run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT
    ):
        if noted := entry.get_dagster_event().engine_event_data.metadata.get("pid"):
            return _has_ended(int(noted.value), entry.timestamp)
    return False


def _has_ended(process: int, noted: float) -> bool:
    """Whether a process has ended that was noted at a time; one that began later has only the same number."""
    with suppress(psutil.Error):
        found = psutil.Process(process)
        return (
            found.status() == psutil.STATUS_ZOMBIE
            or found.create_time() > noted + _CLOCK_S
        )
    return True
