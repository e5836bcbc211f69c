"""A home served as in use: code server, webserver and daemon as processes of their own,
asked by GraphQL, killed and started again.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from platform_support import environment

from lunguage_assets.orchestration import ui as guarded
from lunguage_assets.orchestration.instance import environment_of_children
from lunguage_assets.workspace.home import Home

LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}
"""
BACKFILL = """
mutation Backfill($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}
"""
QUICK = {"poll_interval_seconds: 30": "poll_interval_seconds: 2"}
"""What is quicker than in the packaged dagster.yaml."""


class ServedHome:
    """Processes of one group, so that a power cut takes them all at once, with the runs
    that they started.
    """

    def __init__(self, home: Path, **variables: str) -> None:
        self.home = home
        self._variables = variables
        self._code, self._web = _free_port(), _free_port()
        self._processes: list[subprocess.Popen[bytes]] = []
        os.environ.pop("DAGSTER_HOME", None)
        environment_of_children(Home(home))
        file = home / "dagster" / "dagster.yaml"
        text = file.read_text()
        for slow, quick in QUICK.items():
            assert slow in text or quick in text
            text = text.replace(slow, quick)
        file.write_text(text)

    def start(self, *, webserver: bool = True) -> None:
        environment_of_children(Home(self.home))
        code = [
            "-m",
            "dagster",
            "api",
            "grpc",
            "-m",
            "lunguage_assets.definitions",
            "--port",
            str(self._code),
        ]
        self._start("code", code)
        wait_for(lambda: _answers(self._code), 120, "the code server does not answer")
        address = ["--grpc-port", str(self._code), "--grpc-host", "localhost"]
        self._start(
            "daemon",
            [str(Path(__file__).with_name("quick_daemon.py")), "run", *address],
        )
        if webserver:
            web = [
                "-m",
                guarded.__name__,
                "--host",
                "127.0.0.1",
                "--port",
                str(self._web),
            ]
            self._start("web", [*web, *address])
            wait_for(
                lambda: bool(self.ask("{ version }")),
                120,
                "the webserver does not answer",
            )

    def kill(self) -> None:
        """A power cut: nothing of it can say or write anything more."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        body = json.dumps({"query": query, "variables": variables}).encode()
        server = f"http://127.0.0.1:{self._web}"
        headers = {"Content-Type": "application/json", "Origin": server}
        request = urllib.request.Request(
            f"{server}/graphql", data=body, headers=headers
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        assert "errors" not in answer, answer["errors"]
        return dict(answer["data"])

    def backfill(self, assets: list[str], partitions: list[str]) -> str:
        """Launch a backfill as the UI does; its id."""
        params = {
            "assetSelection": [{"path": [name]} for name in assets],
            "partitionNames": partitions,
        }
        launched = self.ask(BACKFILL, params=params)["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        return str(launched["backfillId"])

    def logs(self) -> str:
        """What the processes said, for a failing test."""
        return "\n".join(
            f"--- {file.name}\n{file.read_text(errors='replace')[-3000:]}"
            for file in sorted(self.home.parent.glob("served-*.log"))
        )

    def _start(self, name: str, arguments: list[str]) -> None:
        group = self._processes[0].pid if self._processes else 0
        with (self.home.parent / f"served-{name}.log").open("a") as log:
            variables = {
                **environment(self.home),
                "DAGSTER_HOME": str(self.home / "dagster"),
                **self._variables,
            }
            command = [sys.executable, *arguments]
            process = subprocess.Popen(
                command,
                env=variables,
                stdout=log,
                stderr=log,
                process_group=group,
                cwd=self.home.parent,
            )
        self._processes.append(process)

    def _end(self, how: int) -> None:
        if self._processes:
            os.killpg(self._processes[0].pid, how)
        for process in self._processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self._processes[0].pid, signal.SIGKILL)
                process.wait(60)
        self._processes = []


def wait_for(
    ready: Callable[[], Any], seconds: float, problem: str, every: float = 0.3
) -> Any:
    """The first true answer; a connection that is refused counts as not ready."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if result := ready():
                return result
        except OSError:
            pass
        time.sleep(every)
    raise AssertionError(problem)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
