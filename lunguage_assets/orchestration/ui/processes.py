"""The processes behind `lunguage ui`, which begin and end together.

They are code server, daemon and webserver.
There is one UI for a home. What each process does is Dagster's; what the webserver
answers is in `access`.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.locks import LockHeld, exclusive_lock_at_once
from lunguage_assets.orchestration.instance import LOCATION
from lunguage_assets.orchestration.ui.access import AccessPolicy

WEBSERVER_MODULE = "lunguage_assets.orchestration.ui"

HEALTH = "/server_info"
"""Says versions; `lunguage ui` and the containers ask it whether the UI is there."""

STARTING_S = 180.0
"""Longest wait for the code server, and then for the first answer of the UI."""

ENDING_S = 20.0
"""Longest wait for processes that were asked to end."""


def require_free(host: str, port: int) -> None:
    """Refuse a port that something else listens on, or that may not be used."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, _, _, address = addresses[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise ConfigurationError(
            f"port {port} of {host} cannot be used ({error.strerror}). Is the UI open "
            "already? Else choose another one with --port."
        ) from None


@contextmanager
def only_ui(home: Path, address: str) -> Iterator[None]:
    """Be the one UI of a home as long as this process lives.

    A second daemon would launch runs twice.

    Args:
        home: its folder.
        address: without the token; whoever comes second is told it.

    Raises:
        ConfigurationError: a UI of this home is open.
    """
    home.mkdir(parents=True, exist_ok=True)
    try:
        with exclusive_lock_at_once(home / ".ui.lock") as lock:
            lock.truncate(0)
            lock.write(address)
            lock.flush()
            yield
    except LockHeld as held:
        raise ConfigurationError(
            f"a UI of {home} is open already, at {held}: use it (the address with its "
            "token was printed where it was started), or end it there with Ctrl-C."
        ) from None


def workspace_file(folder: Path, code_socket: str) -> Path:
    """Write the file that names the code location behind a socket.

    Runs are known by that name.
    """
    file = folder / "workspace.yaml"
    server = {"grpc_server": {"socket": code_socket, "location_name": LOCATION}}
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
    # In /tmp: the path of a socket must be short.
    with (
        tempfile.TemporaryDirectory(prefix="lunguage-ui-") as folder,
        log.open("ab") as output,
    ):
        processes = Processes(environment, output, log)
        try:
            _start(processes, Path(folder), host, port)
            ready()
            return processes.wait_for_end()
        finally:
            processes.end()


def _start(processes: Processes, folder: Path, host: str, port: int) -> None:
    code_socket = folder / "code"
    workspace = ["--workspace", str(workspace_file(folder, str(code_socket)))]
    quiet = ["--log-level", "warning"]
    python = [sys.executable, "-m"]
    processes.launch(
        *python,
        *("dagster", "code-server", "start", "-m", LOCATION),
        *("--socket", str(code_socket)),
        *quiet,
    )
    # Daemon and webserver ask it for the definitions as soon as they start.
    processes.wait_until(code_socket.exists, "the code server")

    daemon = str(Path(sys.executable).with_name("dagster-daemon"))
    processes.launch(daemon, "run", *workspace, *quiet)

    processes.launch(
        *python,
        WEBSERVER_MODULE,
        *("--host", host, "--port", str(port), "--suppress-warnings"),
        *("--dagster-log-level", "warning", "--uvicorn-log-level", "warning"),
        *workspace,
    )
    policy = AccessPolicy.of_server(host, port, processes.environment)
    loopback = "127.0.0.1" if host in ("0.0.0.0", "localhost") else host
    address = f"http://{loopback}:{port}{policy.prefix}{HEALTH}"
    processes.wait_until(lambda: _answers(address), "the webserver")


class Processes:
    """Processes that end together, and write into one log.

    Args:
        environment: their variables.
        output: the open log.
        log: its path, for messages.
    """

    def __init__(
        self, environment: Mapping[str, str], output: BinaryIO, log: Path
    ) -> None:
        self.environment = environment
        self._output = output
        self._log = log
        self._processes: list[subprocess.Popen[bytes]] = []

    def launch(self, *command: str) -> None:
        """Start a process."""
        process = subprocess.Popen(
            command,
            env=self.environment,
            # Ctrl-C reaches this command alone, which ends the others in order.
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
        )
        self._processes.append(process)

    def wait_until(self, answers: Callable[[], bool], what: str) -> None:
        """Wait until something answers.

        Args:
            answers: tells whether it does.
            what: for the message.

        Raises:
            LunguageError: it does not, or a process has ended.
        """
        deadline = time.monotonic() + STARTING_S
        while not answers():
            if self._ended() is not None or time.monotonic() > deadline:
                raise LunguageError(
                    f"{what} of the UI does not answer; what it said is in {self._log}."
                )
            time.sleep(0.2)

    def wait_for_end(self) -> int:
        """Wait until a process ends; return its status."""
        while (status := self._ended()) is None:
            time.sleep(0.5)
        return status

    def _ended(self) -> int | None:
        for process in self._processes:
            if process.poll() is not None:
                return process.returncode
        return None

    def end(self) -> None:
        """End all processes, the last one first; kill those that do not."""
        for process in reversed(self._processes):
            process.terminate()
        deadline = time.monotonic() + ENDING_S
        for process in self._processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):  # http, as written above
            return True
    except OSError:  # urllib's errors are such
        return False
