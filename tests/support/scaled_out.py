"""The scaled-out deployment without containers: each service of deploy/compose.yaml as a local process on a
port of its own.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import postgres_server
from compose_file import DEPLOY, REPOSITORY, of_the_package

ENTRYPOINT = DEPLOY / "entrypoint.sh"
DEADLINE_S = 240.0

T = TypeVar("T")


def missing() -> str | None:
    """Why the deployment cannot be started here, or None."""
    if (reason := postgres_server.missing()) is not None:
        return reason
    if shutil.which("redis-server") is None:
        return "the scaled-out deployment needs redis-server, and it was not found"
    absent = [
        module
        for module in ("dagster_celery", "dagster_postgres", "redis", "s3fs", "moto", "flask")
        if find_spec(module) is None
    ]
    return (
        f"the scaled-out deployment needs the extra 'scale'; not installed: {', '.join(absent)}"
        if absent
        else None
    )


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
    """Processes of the deployment, by name; each leads a process group, so that it can be killed with all its
    children.
    """

    environment: dict[str, str]
    logs: Path
    postgres: str
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, *command: str) -> None:
        with (self.logs / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                command,
                env=self.environment,
                cwd=self.logs,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self, name: str) -> str:
        return (self.logs / f"{name}.log").read_text(errors="replace")

    def wait_for_code(self) -> None:
        """Until the code service serves, as the health check of compose.yaml asks it."""
        check = of_the_package()["code"]["healthcheck"]["test"][1:]
        check = [
            str(ENTRYPOINT),
            *(self.environment["LUNGUAGE_CODE_PORT"] if word == "4266" else word for word in check),
        ]

        def serves() -> bool:
            assert self.processes["code"].poll() is None, self.log("code")
            return (
                subprocess.run(
                    check, env=self.environment, capture_output=True, check=False, timeout=DEADLINE_S
                ).returncode
                == 0
            )

        eventually("the code service serves", serves)

    def create_database(self, name: str) -> str:
        return postgres_server.create_database(self.postgres, name)

    def kill(self, name: str) -> None:
        """SIGKILL, as a machine that loses power would have it: nothing is told to anybody."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)

    def start_service(self, service: str, name: str = "", *more: str) -> None:
        """Start a service with entry point and command of the image, except for the port and the place of the
        workspace file.
        """
        here = {
            "4266": self.environment["LUNGUAGE_CODE_PORT"],
            "0.0.0.0": "127.0.0.1",
            "/opt/lunguage/workspace.yaml": str(DEPLOY / "workspace.yaml"),
        }
        program, *arguments = (here.get(word, word) for word in of_the_package()[service]["command"])
        self.start(name or service, str(ENTRYPOINT), program, *arguments, *more)

    def start_worker(self, name: str) -> None:
        """On one machine, workers need names to be told apart."""
        self.start_service("worker", name, "--hostname", f"{name}@here")


@contextmanager
def running(folder: Path, home: Path) -> Iterator[Services]:
    """PostgreSQL, Redis and an S3-like store for a home, and what compose.yaml gives a service to know;
    killed at the end.
    """
    from moto.server import ThreadedMotoServer

    (logs := folder / "logs").mkdir()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server.running())
        store = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
        store.start()
        stack.callback(store.stop)
        redis = str(free_port())
        of_the_machine = {
            "LUNGUAGE_HOME": str(home),
            "LUNGUAGE_LOGS": str(logs),
            "LUNGUAGE_DAGSTER_DATABASE": postgres_server.create_database(postgres, "dagster").replace(
                "postgresql:", "postgresql+psycopg2:"
            ),
            "LUNGUAGE_LEDGER": postgres_server.create_database(postgres, "ledger"),
            "LUNGUAGE_BROKER": f"redis://127.0.0.1:{redis}/0",
            "PYTHONPATH": f"{DEPLOY}:{REPOSITORY}",
            "LUNGUAGE_CODE_HOST": "127.0.0.1",
            "LUNGUAGE_CODE_PORT": str(free_port()),
            "LUNGUAGE_TABLES": "s3://lunguage/tables",
            "AWS_ENDPOINT_URL_S3": "http://{}:{}".format(*store.get_host_and_port()),
        }
        services = Services(environment_of_a_service(folder, of_the_machine), logs, postgres)
        stack.callback(services.stop)
        password = ("--requirepass", (folder / "secrets" / "redis_password").read_text())
        services.start(
            "redis",
            "redis-server",
            "--port",
            redis,
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(folder),
            *password,
        )
        yield services


def environment_of_a_service(folder: Path, of_the_machine: dict[str, str]) -> dict[str, str]:
    """What compose.yaml gives a worker, its secrets as files, with the addresses of this machine for those of
    the containers.
    """
    given = of_the_package()["worker"]["environment"]
    assert set(of_the_machine) <= set(given), "the test sets a variable that compose.yaml does not"
    secrets = folder / "secrets"
    secrets.mkdir()
    (secrets / "redis_password").write_text("0123456789abcdef")
    (secrets / "services_env").write_text("AWS_ACCESS_KEY_ID=test\nAWS_SECRET_ACCESS_KEY=test\n")
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("LUNGUAGE_", "DAGSTER_", "AWS_", "PG"))
    }
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {
        **kept,
        **given,
        **of_the_machine,
        "LUNGUAGE_SECRETS": str(secrets),
        "DAGSTER_HOME": str(folder / "dagster_home"),
        "PATH": path,
    }


def variables_of_its_process(services: Services) -> dict[str, str]:
    """What a service's process knows when the entry point has read the secrets."""
    command = [str(ENTRYPOINT), "env", "--null"]
    done = subprocess.run(
        command, env=services.environment, capture_output=True, text=True, check=True, timeout=60
    )
    return dict(line.split("=", 1) for line in done.stdout.split("\0") if line)


def with_postgres_tools(path: str) -> str:
    """A PATH on which pg_dump and psql are found."""
    return f"{postgres_server.program('pg_dump').parent}:{path}"
