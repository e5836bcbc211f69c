"""The processes behind `lunguage ui`: code server, daemon and webserver.

They begin and end together. There is one UI for a home. What each process does is
Dagster's; what the webserver answers is in `access`.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from lunguage_assets.errors import (
    REDACTION_VARIABLE,
    ConfigurationError,
    LunguageError,
)
from lunguage_assets.locks import LockHeld, exclusive_lock_at_once
from lunguage_assets.orchestration.instance import DAGSTER_VARIABLE, LOCATION
from lunguage_assets.workspace.home import ENVIRONMENT_VARIABLE, Home

STARTING_S = 180.0
"""Longest wait for the code server, and then for the first answer of the UI."""
ENDING_S = 20.0
"""Longest wait for a process that was asked to end."""

Process: TypeAlias = "subprocess.Popen[bytes]"


def require_free(host: str, port: int) -> None:
    """Refuse a port that something else listens on, or that may not be used."""
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        raise ConfigurationError(
            f"port {port} of {host} cannot be used ({error.strerror}). Is the UI open "
            "already? Else choose another one with --port."
        ) from None


def environment_of_children(home: Home) -> dict[str, str]:
    """Return the variables with which Dagster's own commands serve a home.

    They name its folder and its instance, and withhold messages.
    """
    return {
        REDACTION_VARIABLE: "true",
        **os.environ,
        DAGSTER_VARIABLE: os.environ.get(DAGSTER_VARIABLE) or str(home.dagster),
        ENVIRONMENT_VARIABLE: str(home.root),
    }


@contextmanager
def only_ui(home: Path) -> Iterator[None]:
    """Be the one UI of a home as long as this process lives.

    A second daemon would launch runs twice.

    Raises:
        ConfigurationError: a UI of this home is open.
    """
    home.mkdir(parents=True, exist_ok=True)
    try:
        with exclusive_lock_at_once(home / ".ui.lock"):
            yield
    except LockHeld:
        raise ConfigurationError(
            f"a UI of {home} is open already: use it (its address was printed where it "
            "was started), or end it there with Ctrl-C."
        ) from None


def workspace_file(code_socket: Path) -> Path:
    """Write the file that names the code location behind a socket, beside it.

    Runs are known by that name.
    """
    file = code_socket.with_name("workspace.yaml")
    server = {"grpc_server": {"socket": str(code_socket), "location_name": LOCATION}}
    file.write_text(json.dumps({"load_from": [server]}), encoding="utf-8")
    return file


def serve(
    host: str,
    port: int,
    environment: Mapping[str, str],
    log: Path,
    ready: Callable[[], None],
) -> int:
    """Start all processes, and wait until one of them ends, or for a signal.

    Then all end.

    Args:
        host: address on which the webserver listens.
        port: on which it listens.
        environment: variables of the processes, with the token.
        log: file for what they say.
        ready: called when the UI answers.

    Returns:
        The status of the process that ended.

    Raises:
        LunguageError: nothing answers; the message names the log.
    """
    processes: list[Process] = []

    # In /tmp: the path of a socket must be short.
    with TemporaryDirectory(prefix="lunguage-ui-") as folder, log.open("ab") as output:

        def start(*module: str) -> None:
            process = subprocess.Popen(
                [sys.executable, "-m", *module],
                env=environment,
                # Ctrl-C reaches this command alone, which ends the others in order.
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            processes.append(process)

        code_socket = Path(folder) / "code"
        workspace = ["--workspace", str(workspace_file(code_socket))]
        quiet = ["--log-level", "warning"]
        code_server = ["-m", LOCATION, "--socket", str(code_socket), *quiet]
        webserver = ["--host", host, "--port", str(port), "--suppress-warnings"]
        webserver += ["--uvicorn-log-level", "warning"]
        try:
            start("dagster", "code-server", "start", *code_server)
            # The others ask it for definitions as soon as they start.
            _wait_for(code_socket.exists, processes, log)
            start("dagster._daemon", "run", *workspace, *quiet)
            start(__package__, *workspace, *webserver)
            _wait_for(lambda: _listens(host, port), processes, log)
            ready()
            while all(process.poll() is None for process in processes):
                time.sleep(0.5)
            return max(process.poll() or 0 for process in processes)
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(ENDING_S)
                process.kill()
                process.wait()


def _wait_for(
    answers: Callable[[], bool], processes: Sequence[Process], log: Path
) -> None:
    deadline = time.monotonic() + STARTING_S
    while not answers():
        is_alive = all(process.poll() is None for process in processes)
        if not is_alive or time.monotonic() > deadline:
            raise LunguageError(f"the UI does not answer; what it said is in {log}.")
        time.sleep(0.2)


def _listens(host: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((host, port)):
        return True
    return False
