"""Which process executes a run, and whether it still lives: nobody else notices when a process on this
machine is killed.

A process is known by its machine, its number and the moment it started, counted from the start of the
machine: numbers are used again, and clocks are set.
"""

from __future__ import annotations

import os
import re
import signal
import socket
from pathlib import Path

import dagster as dg

PROCESS_TAG = "lunguage/process"
"""Run tag: the process that executes the run."""

OWNER_TAG = "lunguage/process_of"
"""Run tag: the run that `PROCESS_TAG` was set for. A run that is tried again takes over the tags of the one
before, and with them its process.
"""

NO_RETRY = {"dagster/max_retries": "0"}
"""Run tag of runs that only their own process could execute again."""

_PID = re.compile(r"(?:Started process for run|Executing steps in process|parent process) \(pid: (\d+)\)")
"""What Dagster logs when a code server starts a run, and when a run begins its first step."""


def this_process() -> str:
    """The present process, for `PROCESS_TAG`."""
    return _named(os.getpid())


def executed_here(run_id: str) -> dict[str, str]:
    """The tags that say that the present process executes a run."""
    return {PROCESS_TAG: this_process(), OWNER_TAG: run_id}


def is_gone(process: str) -> bool:
    """Whether a process of this machine has ended; False for one that cannot be judged from here."""
    found = _on_this_machine(process)
    return found is not None and not _is_same(*found)


def worker_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str | None:
    """The process that executes a run, as its tag says, else as the log says of a run of this machine; None:
    not known.

    What the log says is noted in the tag.
    """
    if (
        PROCESS_TAG in run.tags
        and run.tags.get(OWNER_TAG, run.run_id if run.parent_run_id is None else "") == run.run_id
    ):
        return run.tags[PROCESS_TAG]
    pid = _logged_pid(instance, run) if _is_of_this_machine(instance, run) else None
    if pid is None:
        return None
    process = _named(pid) if _is_python(pid) else f"{socket.gethostname()}:{pid}:ended"
    instance.add_run_tags(run.run_id, {PROCESS_TAG: process, OWNER_TAG: run.run_id})
    return process


def interrupt(process: str) -> bool:
    """Ask a process of this machine to stop, as Ctrl-C does; whether it could be asked."""
    found = _on_this_machine(process)
    if found is None or not _is_same(*found):
        return False
    try:
        os.kill(found[0], signal.SIGINT)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _named(pid: int) -> str:
    return f"{socket.gethostname()}:{pid}:{_start(pid)}"


def _on_this_machine(process: str) -> tuple[int, str] | None:
    """Number and start of a process of this machine. Runs of older versions have no start."""
    host, _, rest = process.partition(":")
    pid, _, start = rest.partition(":")
    return (int(pid), start) if host == socket.gethostname() and pid.isdecimal() else None


def _is_same(pid: int, start: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return not start  # another user's: not ours, if we know when ours started
    return not start or start == _start(pid)


def _start(pid: int) -> str:
    """Boot of the machine and ticks from there to the start of a process; empty where there is no /proc."""
    try:
        ticks = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()[19]
        )
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, IndexError):
        return ""
    return f"{boot[:8]}-{ticks}"


def _is_python(pid: int) -> bool:
    """Whether the process can be a run's worker; one that is gone, or something else under the same number,
    cannot.
    """
    command = Path(f"/proc/{pid}/cmdline")
    try:
        return (
            b"python" in command.read_bytes()
            if command.parent.parent.joinpath("self").exists()
            else _is_same(pid, "")
        )
    except OSError:
        return False


def _is_of_this_machine(instance: dg.DagsterInstance, run: dg.DagsterRun) -> bool:
    """Whether a code server here has started the run, or a command of Dagster's, which says of no machine but
    uses the same SQLite files.
    """
    from dagster._core.storage.runs.sqlite import (
        SqliteRunStorage,
    )  # takes a second to import, and definitions load this module

    server = run.tags.get(".dagster/grpc_info")
    if server is None:
        return isinstance(instance.run_storage, SqliteRunStorage)
    return '"localhost"' in server or '"127.0.0.1"' in server


def _logged_pid(instance: dg.DagsterInstance, run: dg.DagsterRun) -> int | None:
    for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        found = _PID.search(entry.message or "") or _PID.search(entry.user_message or "")
        if found:
            return int(found.group(1))
    return None
