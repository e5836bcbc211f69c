"""What `lunguage ui` starts: one code server, the daemon, and the webserver behind its door. `dagster dev`
would serve a UI that every page in the browser can drive.
"""

from __future__ import annotations

import fcntl
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

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.dagster_private import LOCATION
from lunguage_assets.orchestration.runs.runner import RunFailed
from lunguage_assets.orchestration.ui import webserver
from lunguage_assets.orchestration.ui.guard import Door

STARTING_S = 180.0
"""Longest wait for the code server, and then for the first answer of the UI."""
_ENDING_S = 20.0
_PYTHON = (sys.executable, "-m")


def require_free(host: str, port: int) -> None:
    """Refuse a port that something else listens on.

    Raises:
        ConfigurationError: the port is taken, or may not be used.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise ConfigurationError(
            f"port {port} of {host} cannot be used ({error.strerror}). Is the UI open already? Else choose "
            "another one with --port."
        ) from None


@contextmanager
def only_ui(home: Path, address: str) -> Iterator[None]:
    """Be the one UI of a home as long as this process lives: a second daemon would launch runs twice.

    Raises:
        ConfigurationError: one is open already; the message has its address, without the token.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".ui.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise ConfigurationError(
                f"a UI of {home} is open already, at {lock.read()}: use it (the address with its token was "
                "printed where it was started), or end it there with Ctrl-C."
            ) from None
        lock.truncate(0)
        lock.write(address)
        lock.flush()
        yield


def workspace_file(folder: Path, code: str) -> Path:
    """The file that names the code location behind the socket `code`: by its name the UI knows jobs, switches
    and runs again.
    """
    place = folder / "workspace.yaml"
    server = {"grpc_server": {"socket": code, "location_name": LOCATION}}
    place.write_text(json.dumps({"load_from": [server]}), encoding="utf-8")
    return place


class Serving:
    """The processes of one UI; they end together, and say what they have to say in one log."""

    def __init__(self, log: Path, environment: Mapping[str, str]) -> None:
        self._log, self._environment = log, dict(environment)
        self._folder = tempfile.TemporaryDirectory(prefix="lunguage-ui-")  # a socket's path must be short
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, host: str, port: int) -> None:
        """Start everything, and return when the UI answers.

        Raises:
            RunFailed: a process ended, or nothing answers in time; the message names the log.
        """
        code = str(Path(self._folder.name) / "code")
        there = ["--workspace", str(workspace_file(Path(self._folder.name), code))]
        quiet = ["--log-level", "warning"]
        self._launch(*_PYTHON, "dagster", "code-server", "start", "-m", LOCATION, "--socket", code, *quiet)
        self._wait(Path(code).exists, "the code server")
        self._launch(str(Path(sys.executable).with_name("dagster-daemon")), "run", *there, *quiet)
        quiet = ["--dagster-log-level", "warning", "--uvicorn-log-level", "warning", "--suppress-warnings"]
        self._launch(*_PYTHON, webserver.__name__, "--host", host, "--port", str(port), *quiet, *there)
        asked = "127.0.0.1" if host in ("0.0.0.0", "localhost") else host
        prefix = Door.of(host, port, self._environment).prefix
        self._wait(lambda: _answers(f"http://{asked}:{port}{prefix}{webserver.HEALTH}"), "the webserver")

    def until_it_ends(self) -> int:
        """Wait for any of the processes to end, or for a signal; end all; the status of the first."""
        try:
            while True:
                for process in self._processes:
                    if (status := process.poll()) is not None:
                        return status
                time.sleep(0.5)
        finally:
            self.end()

    def end(self) -> None:
        """End all processes, the webserver first."""
        for process in reversed(self._processes):
            process.terminate()
        deadline = time.monotonic() + _ENDING_S
        for process in self._processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._folder.cleanup()

    def _launch(self, *command: str) -> None:
        with self._log.open("ab") as log:
            started = subprocess.Popen(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches this command, which ends them in order
            )
        self._processes.append(started)

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + STARTING_S
        while not ready():
            ended = any(process.poll() is not None for process in self._processes)
            if ended or time.monotonic() > deadline:
                self.end()
                found = "ended at once" if ended else f"does not answer within {STARTING_S:.0f} s"
                raise RunFailed(f"{what} of the UI {found}; what it said is in {self._log}.")
            time.sleep(0.2)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):  # http, as written above
            return True
    except OSError:  # urllib's errors are such
        return False
