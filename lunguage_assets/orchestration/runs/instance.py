"""The Dagster instance of a home: its configuration, and runs that a killed process has left behind."""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import dagster as dg
import psutil

from lunguage_assets.data_files import dagster_yaml
from lunguage_assets.files import replace_text
from lunguage_assets.home.home import ENVIRONMENT_VARIABLE, Home
from lunguage_assets.orchestration.withheld import REDACTION_VARIABLE, redaction

DAGSTER_VARIABLE = "DAGSTER_HOME"

Configuration = Literal["packaged", "outdated", "edited", "elsewhere", "missing"]


@contextmanager
def dagster_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """The persistent instance of a home, or the one that `$DAGSTER_HOME` names."""
    folder = _configured(home)
    with _opening(home):
        instance = dg.DagsterInstance.from_config(str(folder))
    with instance:
        yield instance


def prepare_dagster_home(home: Home) -> Path:
    """The folder of a home's instance, with its configuration and databases: these must be there before
    webserver, daemon and commands open them, each for itself.

    A folder that `$DAGSTER_HOME` names is left alone.
    """
    folder = _configured(home)
    if folder == home.dagster and not (folder / "history").exists():
        with dagster_instance(home):
            pass
    return folder


def _configured(home: Home) -> Path:
    """The folder, where the packaged configuration is put, or renewed if nobody edited it."""
    home.create()
    if configuration_of(home) in ("missing", "outdated"):
        home.dagster.mkdir(parents=True, exist_ok=True)
        replace_text(home.dagster / "dagster.yaml", _sealed(dagster_yaml().read_text(encoding="utf-8")))
    return _folder(home)


def environment_of_children(home: Home) -> dict[str, str]:
    """The environment in which Dagster's own commands serve a home: its folder, its instance, its secrecy."""
    corpus = home.corpus()
    return {
        **os.environ,
        ENVIRONMENT_VARIABLE: str(home.root),
        DAGSTER_VARIABLE: str(prepare_dagster_home(home)),
        REDACTION_VARIABLE: redaction(corpus.data_class if corpus is not None else None),
    }


def _folder(home: Home) -> Path:
    return Path(os.environ.get(DAGSTER_VARIABLE) or home.dagster)


@contextmanager
def _opening(home: Home) -> Iterator[None]:
    """One process at a time: the first makes the databases, and two at once fail."""
    with (home.root / ".dagster.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def configuration_of(home: Home) -> Configuration:
    """How the instance configuration stands to the packaged one; `outdated`: an older one, not edited."""
    file = home.dagster / "dagster.yaml"
    if _folder(home) != home.dagster:
        return "elsewhere"
    if not file.exists():
        return "missing"
    present = file.read_text(encoding="utf-8")
    if present == _sealed(dagster_yaml().read_text(encoding="utf-8")):
        return "packaged"
    return "outdated" if present == _sealed(present.rpartition(_SEAL)[0]) else "edited"


def examination(home: Home) -> tuple[str, str]:
    """What a person should know of the instance's configuration: severity and message."""
    state, file = configuration_of(home), home.dagster / "dagster.yaml"
    told = {
        "elsewhere": f"Dagster's instance is configured in {_folder(home)} ($DAGSTER_HOME), which this "
        "package leaves alone",
        "edited": f"{file} was edited and is not renewed; this version's is {dagster_yaml()}. Take over from "
        "there what you need, or delete yours: the next command then puts the packaged one there.",
        "outdated": "Dagster's instance has the packaged configuration, renewed at the next command",
    }
    severity = "warning" if state == "edited" else "ok"
    return severity, told.get(state, "Dagster's instance has the packaged configuration")


_SEAL = "# Renewed with the package as long as nobody edits it: "


def _sealed(text: str) -> str:
    """A configuration with its own hash as the last line, by which it is known not to be edited."""
    return f"{text}{_SEAL}{hashlib.sha256(text.encode('utf-8')).hexdigest()}\n"


_AT_WORK = (
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)


def runs_of_batch(instance: dg.DagsterInstance, key: str) -> list[str]:
    """Ids of runs on a batch that wait or have not ended, without those whose process was killed."""
    close_abandoned_runs(instance)
    statuses = [dg.DagsterRunStatus.QUEUED, *_AT_WORK]
    runs = instance.get_runs(dg.RunsFilter(statuses=statuses))
    return [run.run_id for run in runs if key in run.tags.get("dagster/partition", "").split("|")]


def close_abandoned_runs(instance: dg.DagsterInstance) -> int:
    """Report runs as failed whose process on this machine was killed, and free what they held; returns how
    many.

    A code server reports the runs of its own dead processes. Nobody else notices its own death, or that of a
    command, and the UI would show their runs as running.
    """
    abandoned = [
        run
        for run in instance.get_runs(dg.RunsFilter(statuses=list(_AT_WORK)))
        if _is_abandoned(instance, run)
    ]
    for run in abandoned:
        instance.report_run_failed(
            run, "The process was killed. What it had finished is stored; the same work goes on from there."
        )
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return len(abandoned)


PROCESS_TAG = ".dagster/lunguage_process"
"""Run tag: the run, and machine, number and start of the command's process that executes it. A run that is
tried again takes over the tags of the first. Dagster shows no tags that begin with `.dagster/`.
"""

_SAME_START_S = 2.0
"""The start of the machine is known to the second, and its last digit may change between two looks."""


def executed_here(run_id: str) -> dict[str, str]:
    """Tags of a run that only the present process could execute again."""
    here = psutil.Process()
    process = f"{run_id}:{socket.gethostname()}:{here.pid}:{_start(here):.0f}"
    return {PROCESS_TAG: process, "dagster/max_retries": "0"}


def _start(process: psutil.Process) -> float:
    """Seconds from the start of the machine to that of a process: the time of day may be set meanwhile."""
    return process.create_time() - psutil.boot_time()


def _is_abandoned(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether the process that executed a run has ended; False where it is elsewhere or not known."""
    owner, *process = run.tags.get(PROCESS_TAG, "").split(":")
    if owner == run.run_id:
        host, pid, start = process
        alive = _process(int(pid))
        same = alive is not None and abs(_start(alive) - float(start)) <= _SAME_START_S
        return host == socket.gethostname() and not same
    server = run.tags.get(".dagster/grpc_info", "localhost")
    if not isinstance(instance.run_launcher, dg.DefaultRunLauncher) or "localhost" not in server:
        return False
    for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        if noted := entry.get_dagster_event().engine_event_data.metadata.get("pid"):
            alive = _process(int(noted.value))  # one that began later has only the same number
            return alive is None or alive.create_time() > entry.timestamp + _SAME_START_S
    return False


def _process(pid: int) -> psutil.Process | None:
    """The process with a number, unless it has ended."""
    with suppress(psutil.Error):
        found = psutil.Process(pid)
        return found if found.status() != psutil.STATUS_ZOMBIE else None
    return None
