"""The scaled-out deployment without containers: each service of deploy/compose.yaml as a local process on a port of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import postgres_server

REPOSITORY = Path(__file__).resolve().parents[2]
DEPLOY = REPOSITORY / "deploy"
DEADLINE_S = 240.0

T = TypeVar("T")


def missing() -> str | None:
    """Why the deployment cannot be started here, or None."""
    if (reason := postgres_server.missing()) is not None:
        return reason
    if shutil.which("redis-server") is None:
        return "the scaled-out deployment needs redis-server, and it was not found"
    absent = [module for module in ("dagster_celery", "dagster_postgres", "redis", "s3fs", "moto", "flask") if find_spec(module) is None]
    return f"the scaled-out deployment needs the extra 'scale'; not installed: {', '.join(absent)}" if absent else None


def eventually(what: str, found: Callable[[], T | None], within_s: float = DEADLINE_S) -> T:
    """The first true answer; a busy machine only makes this slower."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if answer := found():
            return answer
        time.sleep(0.2)
    raise AssertionError(f"waited in vain: {what}")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Services:
    """Processes of the deployment, by name; each leads a process group, so that it can be killed with all its children."""

    environment: dict[str, str]
    logs: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> None:
        with (self.logs / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                command, env=self.environment, cwd=self.logs, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def log(self, name: str) -> str:
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def kill(self, name: str) -> None:
        """SIGKILL, as a machine that loses power would have it: nothing is told to anybody."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)


def tool(name: str) -> str:
    """A command that is installed beside the interpreter."""
    return str(Path(sys.executable).parent / name)


@contextmanager
def running(folder: Path, home: Path, more: Mapping[str, str]) -> Iterator[Services]:
    """PostgreSQL, Redis, an S3-like store, the code service, the daemon and two Celery workers for a home; killed at the end."""
    from moto.server import ThreadedMotoServer

    dagster_home, logs = folder / "dagster_home", folder / "logs"
    for made in (dagster_home, logs):
        made.mkdir()
    shutil.copy(DEPLOY / "dagster.yaml", dagster_home)
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server.running())
        store = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
        store.start()
        stack.callback(store.stop)
        redis, code = free_port(), free_port()
        services = Services(
            {
                **{key: value for key, value in os.environ.items() if not key.startswith(("LUNGUAGE_", "DAGSTER_", "AWS_", "PG"))},
                "LUNGUAGE_HOME": str(home),
                "LUNGUAGE_TABLES": "s3://lunguage/tables",
                "LUNGUAGE_LEDGER": postgres_server.create_database(postgres, "ledger"),
                "LUNGUAGE_DAGSTER_DATABASE": postgres_server.create_database(postgres, "dagster").replace("postgresql:", "postgresql+psycopg2:"),
                "LUNGUAGE_BROKER": f"redis://127.0.0.1:{redis}/0",
                "LUNGUAGE_LOGS": str(logs),
                "LUNGUAGE_CODE_HOST": "127.0.0.1",
                "LUNGUAGE_CODE_PORT": str(code),
                "DAGSTER_HOME": str(dagster_home),
                "AWS_ACCESS_KEY_ID": "test",
                "AWS_SECRET_ACCESS_KEY": "test",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ENDPOINT_URL_S3": "http://{}:{}".format(*store.get_host_and_port()),
                **more,
            },
            logs,
        )
        stack.callback(services.stop)
        services.start("redis", "redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder))
        services.start("code", tool("dagster"), "code-server", "start", "-m", "lunguage_assets.definitions", "-h", "127.0.0.1", "-p", str(code))
        yield services


def start_workers(services: Services, *names: str) -> None:
    for name in names:
        services.start(
            name,
            *(tool("celery"), "--app", "lunguage_assets.orchestration.celery_worker", "worker"),
            *("--concurrency", "1", "--hostname", f"{name}@here", "--loglevel", "INFO"),
        )
