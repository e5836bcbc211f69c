"""The UI of a home: who may ask it, and the processes that serve it. `python -m
lunguage_assets.orchestration.ui [options of dagster-webserver]` is Dagster's webserver behind a door
(docs/security.md); `lunguage ui` and the containers start it. Any web page that is open in the same browser
can send requests to the loopback address. So a foreign Host is refused (DNS rebinding), a change by GET,
every request that another site makes, and every frame. The token is the first part of every path, and no
cookie: a browser sends cookies to every port of a host, also to the server of another account.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import dagster as dg
import dagster_webserver.app
from dagster_webserver.cli import dagster_webserver as command
from dagster_webserver.webserver import DagsterWebserver
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from lunguage_assets.errors import ConfigurationError, LunguageError
from lunguage_assets.orchestration.runs.instance import LOCATION, close_abandoned_runs
from lunguage_assets.permissions import set_private_umask

_MODULE = "lunguage_assets.orchestration.ui"  # of a name of its own where it is what was started
HEALTH = "/server_info"
"""Says versions; `lunguage ui` and the containers ask it whether the webserver is there."""

TOKEN_VARIABLE = "LUNGUAGE_UI_TOKEN"  # a name, no secret
HOSTS_VARIABLE = "LUNGUAGE_UI_HOSTS"
"""Further names, comma-separated, by which a proxy with TLS and a login is asked for the UI."""

STARTING_S = 180.0
"""Longest wait for the code server, and then for the first answer of the UI."""

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site of a server's own pages, and of an address that a person typed."""
_FRAMES = frozenset({"iframe", "frame", "object", "embed"})
"""Values of Sec-Fetch-Dest of what a page shows inside itself."""


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Door:
    """Who may ask: `hosts` are values of Host that are this server's own, with the port where one is written;
    `token` is the first part of every path, where there is one.
    """

    hosts: frozenset[str]
    token: str = field(default="", repr=False)

    @classmethod
    def of(cls, host: str, port: int, environ: Mapping[str, str]) -> Door:
        """The door of a server that listens on `host` and `port`. Raises `ConfigurationError` where others
        can reach the address and there is neither a token nor a proxy, or the token cannot be part of an
        address.
        """
        named = [
            name.strip()
            for name in environ.get(HOSTS_VARIABLE, "").split(",")
            if name.strip()
        ]
        token = environ.get(TOKEN_VARIABLE, "")
        if not re.fullmatch(r"[A-Za-z0-9_-]*", token):
            raise ConfigurationError(
                f"${TOKEN_VARIABLE}: a token has only letters, digits, - and _."
            )
        is_loopback = host in ("localhost", "::1", "[::1]") or host.startswith("127.")
        if not is_loopback and not (token or named):
            raise ConfigurationError(
                f"--host {host}: other machines can reach this address, and the UI would ask nobody who "
                f"they are. Leave out --no-token; or put a proxy with TLS and a login before it and name "
                f"its address in ${HOSTS_VARIABLE} (deploy/README.md)."
            )
        own = {"127.0.0.1", "localhost", "[::1]", host} - {
            "0.0.0.0",
            "::",
        }  # compared, not bound
        return cls(frozenset({f"{name}:{port}" for name in own} | set(named)), token)

    @property
    def prefix(self) -> str:
        """What every path begins with."""
        return f"/{self.token}" if self.token else ""

    def refusal(self, asked: HTTPConnection) -> tuple[int, str] | None:
        """Status and words for a request that is not answered; None for one that is."""
        hosts, path = asked.headers.getlist("host"), asked.scope["path"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return 421, "This server does not answer under this name."
        first = path.removeprefix("/").partition("/")[0]
        if self.token and not hmac.compare_digest(first.encode(), self.token.encode()):
            return 401, "Open the address that was printed where the UI was started."
        method = asked.scope.get("method", "WEBSOCKET")  # a web socket has none
        try:
            foreign = self._from_another_site(asked, method)
        except ValueError:
            return 400, "The Origin of this request is none."
        if foreign:
            return (
                403,
                "A page of another site may not ask this server, and none may show it in a frame.",
            )
        if (
            path.endswith("/graphql")
            and "query" in asked.query_params
            and method == "GET"
        ):
            return 405, "Queries are sent by POST."
        return None

    def _from_another_site(self, asked: HTTPConnection, method: str) -> bool:
        site, origin = (
            asked.headers.get("sec-fetch-site", "none"),
            asked.headers.get("origin"),
        )
        if asked.headers.get("sec-fetch-dest") in _FRAMES:
            return True
        if (
            method not in _SAFE
        ):  # may change something: a browser names the origin of these
            own = (
                bool(self.token)
                if origin is None
                else urlsplit(origin).netloc in self.hosts
            )
            return not own or site not in _OWN_SITE
        return (
            site not in _OWN_SITE and asked.headers.get("sec-fetch-mode") != "navigate"
        )


class Guard:
    """ASGI middleware that answers only what the door lets in."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def kept_in(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.append("Content-Security-Policy", "frame-ancestors 'none'")
                headers["X-Frame-Options"] = "DENY"
                headers["Referrer-Policy"] = "same-origin"  # the address is the secret
            await send(message)

        await self._answer(scope)(scope, receive, kept_in)

    def _answer(self, scope: Scope) -> ASGIApp:
        asked = scope["type"] in ("http", "websocket")
        refused = self._door.refusal(HTTPConnection(scope)) if asked else None
        if refused is None:
            return self._app
        if scope["type"] == "websocket":
            return WebSocketClose(1008)
        status, words = refused
        return PlainTextResponse(
            words + "\n", status, {"Cache-Control": "no-store", "Connection": "close"}
        )


def require_free(host: str, port: int) -> None:
    """Refuse a port that something else listens on, or that may not be used."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
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
    """Be the one UI of a home as long as this process lives: a second daemon would launch runs twice. Raises
    `ConfigurationError` with the address of the one that is open, without the token.
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
    """The file that gives the code location behind the socket `code` its name: runs are known by it."""
    place = folder / "workspace.yaml"
    server = {"grpc_server": {"socket": code, "location_name": LOCATION}}
    place.write_text(json.dumps({"load_from": [server]}), encoding="utf-8")
    return place


def serve(
    host: str,
    port: int,
    environment: Mapping[str, str],
    log: Path,
    ready: Callable[[], None],
) -> int:
    """Start everything, call `ready` when the UI answers, and wait for any of the processes to end, or for a
    signal: then all end. What they say is in one log, which a `LunguageError` names when nothing answers.
    Returns the status of the process that ended.
    """
    processes: list[subprocess.Popen[bytes]] = []
    python = (sys.executable, "-m")

    def launch(*command: str) -> None:
        # a session of their own: Ctrl-C reaches this command, which ends them in order
        streams = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said}
        processes.append(
            subprocess.Popen(
                command, env=environment, start_new_session=True, **streams
            )
        )

    def ended() -> int | None:
        return next(
            (one.returncode for one in processes if one.poll() is not None), None
        )

    def wait(answers: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + STARTING_S
        while not answers():
            if ended() is not None or time.monotonic() > deadline:
                raise LunguageError(
                    f"{what} of the UI does not answer; what it said is in {log}."
                )
            time.sleep(0.2)

    # a socket's path must be short
    with (
        tempfile.TemporaryDirectory(prefix="lunguage-ui-") as folder,
        log.open("ab") as said,
    ):
        try:
            code = Path(folder) / "code"
            there = ["--workspace", str(workspace_file(Path(folder), str(code)))]
            quiet = ["--log-level", "warning"]
            launch(
                *python,
                "dagster",
                "code-server",
                "start",
                "-m",
                LOCATION,
                "--socket",
                str(code),
                *quiet,
            )
            wait(code.exists, "the code server")
            launch(
                str(Path(sys.executable).with_name("dagster-daemon")),
                "run",
                *there,
                *quiet,
            )
            quiet = ["--dagster-log-level", "warning", "--uvicorn-log-level", "warning"]
            address = ["--host", host, "--port", str(port), "--suppress-warnings"]
            launch(*python, _MODULE, *address, *quiet, *there)
            asked = "127.0.0.1" if host in ("0.0.0.0", "localhost") else host
            prefix = Door.of(host, port, environment).prefix
            wait(
                lambda: _answers(f"http://{asked}:{port}{prefix}{HEALTH}"),
                "the webserver",
            )
            ready()
            while (status := ended()) is None:
                time.sleep(0.5)
            return status
        finally:
            _end(processes)


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in reversed(processes):
        process.terminate()
    deadline = time.monotonic() + 20.0
    for process in processes:
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


def serve_behind_door(arguments: list[str]) -> None:
    """Serve until the process is told to end; options as in `dagster-webserver`."""
    set_private_umask()
    options = command.make_context("lunguage-webserver", list(arguments)).params
    door = Door.of(options["host"], options["port"] or 3000, os.environ)
    with (
        dg.DagsterInstance.get() as instance
    ):  # a code server that was killed notices nothing itself
        close_abandoned_runs(instance)

    class Guarded(DagsterWebserver):  # type: ignore[misc, type-arg]
        def build_middleware(self) -> list[Middleware]:
            return [Middleware(Guard, door=door), *super().build_middleware()]

    dagster_webserver.app.DagsterWebserver = (
        Guarded  # the command makes the server of this name
    )
    # Other accounts see the arguments of a process, not these. Dagster's first message, of level info, shows
    # the address.
    secret = (
        ["--path-prefix", door.prefix, "--dagster-log-level", "warning"]
        if door.token
        else []
    )
    command.main([*arguments, *secret], prog_name="lunguage-webserver")


if __name__ == "__main__":
    try:
        serve_behind_door(sys.argv[1:])
    except LunguageError as error:
        sys.exit(f"lunguage: {error}")
