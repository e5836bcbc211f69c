"""Which process executes a run, and whether it still lives: nobody else notices when a process on this
machine is killed.

A process is known by its machine, its number, and the seconds from the start of the machine to its own.
Numbers are used again. The time of day alone would not do: clocks are set, and a living process would
seem another one.
"""

from __future__ import annotations

import signal
import socket
from contextlib import suppress

import dagster as dg
import psutil

PROCESS_TAG = ".dagster/lunguage_process"
"""Run tag: the process that executes the run. Dagster shows no tags that begin with `.dagster/`."""

OWNER_TAG = ".dagster/lunguage_process_of"
"""Run tag: the run that `PROCESS_TAG` is of. A run that is tried again takes over the tags of the first."""

NO_RETRY = {"dagster/max_retries": "0"}
"""Run tag of runs that only their own process could execute again."""

_SAME_START_S = 2.0
"""The start of the machine is known to the second, and its last digit may change between two looks."""


def this_process() -> str:
    """The present process, for `PROCESS_TAG`."""
    return _named(psutil.Process())


def executed_here(run_id: str) -> dict[str, str]:
    """The tags that say that the present process executes a run."""
    return {PROCESS_TAG: this_process(), OWNER_TAG: run_id}


def is_gone(process: str) -> bool:
    """Whether a process of this machine has ended; False for one of another machine."""
    return _is_here(process) and _living(process) is None


def interrupt(process: str) -> bool:
    """Ask a process of this machine to stop, as Ctrl-C does; whether it could be asked."""
    found = _living(process) if _is_here(process) else None
    if found is not None:
        with suppress(psutil.Error):
            found.send_signal(signal.SIGINT)
            return True
    return False


def worker_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str | None:
    """The process that executes a run: as its tag says, else as the log says. None: not known.

    What the log says is noted in the tag.
    """
    if run.tags.get(OWNER_TAG) == run.run_id:
        return run.tags[PROCESS_TAG]
    process = _logged_process(instance, run) if _is_launched_here(instance, run) else None
    if process is not None:
        instance.add_run_tags(run.run_id, {PROCESS_TAG: process, OWNER_TAG: run.run_id})
    return process


def _named(process: psutil.Process) -> str:
    return f"{socket.gethostname()}:{process.pid}:{_start(process):.0f}"


def _start(process: psutil.Process) -> float:
    """Seconds from the start of the machine to that of a process."""
    return process.create_time() - psutil.boot_time()


def _is_here(process: str) -> bool:
    return process.partition(":")[0] == socket.gethostname()


def _living(process: str) -> psutil.Process | None:
    """The process of this name, unless it has ended or its number is another's now."""
    _, pid, start = process.split(":")
    with suppress(psutil.Error, ValueError):
        found = psutil.Process(int(pid))
        if abs(_start(found) - float(start)) <= _SAME_START_S and found.status() != psutil.STATUS_ZOMBIE:
            return found
    return None


def _is_launched_here(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether the code server that started a run is on this machine, or a command of Dagster's started it."""
    server = run.tags.get(".dagster/grpc_info", "localhost")
    return isinstance(instance.run_launcher, dg.DefaultRunLauncher) and (
        "localhost" in server or "127.0.0.1" in server
    )


def _logged_process(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str | None:
    """The process that the log of a run names first; a later one under the same number is another."""
    for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        noted = entry.get_dagster_event().engine_event_data.metadata.get("pid")
        if noted is not None:
            with suppress(psutil.Error):
                found = psutil.Process(int(noted.value))
                if found.create_time() <= entry.timestamp + _SAME_START_S:
                    return _named(found)
            return f"{socket.gethostname()}:{noted.value}:ended"
    return None
