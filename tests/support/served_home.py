"""A home served as in use: code server and daemon as processes of their own, killed and
started again.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import dagster as dg
from dagster._core.execution.backfill import PartitionBackfill
from platform_support import environment

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.instance import prepare_to_serve
from lunguage_assets.workspace.home import Home

QUICK_DAEMON = str(Path(__file__).with_name("quick_daemon.py"))
SLOW_POLL, QUICK_POLL = "poll_interval_seconds: 30", "poll_interval_seconds: 2"

T = TypeVar("T")


class ServedHome:
    """Processes of one group, so that a power cut takes them all at once, with the runs
    that they started.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._port = free_port()
        self._processes: list[subprocess.Popen[bytes]] = []
        os.environ.pop("DAGSTER_HOME", None)
        prepare_to_serve(Home(home))
        file = home / "dagster" / "dagster.yaml"
        text = file.read_text()
        assert SLOW_POLL in text or QUICK_POLL in text
        file.write_text(text.replace(SLOW_POLL, QUICK_POLL))

    def start(self) -> None:
        prepare_to_serve(Home(self.home))
        code = [
            "-m",
            "dagster",
            "api",
            "grpc",
            "-m",
            "lunguage_assets.definitions",
            "--port",
        ]
        self._start("code", *code, str(self._port))
        wait_for(self._answers, 120, "the code server does not answer")
        address = ("--grpc-port", str(self._port), "--grpc-host", "localhost")
        self._start("daemon", QUICK_DAEMON, "run", *address)

    def kill(self) -> None:
        """A power cut: nothing of it can say or write anything more."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def backfill(
        self, instance: dg.DagsterInstance, tables: Sequence[str], partition: str
    ) -> str:
        """Launch a backfill as the UI does; its id."""
        definitions = build_defs(Configuration(Home(self.home)))
        backfill = PartitionBackfill.from_asset_partitions(
            backfill_id="by-hand",
            asset_graph=definitions.resolve_asset_graph(),
            asset_selection=[dg.AssetKey(table) for table in tables],
            partition_names=[partition],
            all_partitions=False,
            dynamic_partitions_store=instance,
            backfill_timestamp=time.time(),
            tags={},
            title=None,
            description=None,
            run_config=None,
        )
        instance.add_backfill(backfill)
        return backfill.backfill_id

    def logs(self) -> str:
        """What the processes said, for a failing test."""
        return "\n".join(
            f"--- {file.name}\n{file.read_text(errors='replace')[-3000:]}"
            for file in sorted(self.home.parent.glob("served-*.log"))
        )

    def _answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self._port), timeout=1):
            return True

    def _start(self, name: str, *arguments: str) -> None:
        variables = environment(self.home)
        with (self.home.parent / f"served-{name}.log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                env={**variables, "DAGSTER_HOME": str(self.home / "dagster")},
                stdout=log,
                stderr=log,
                process_group=self._processes[0].pid if self._processes else 0,
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
    ready: Callable[[], T | None], seconds: float, problem: str, every: float = 0.3
) -> T:
    """The first true answer, however slow the machine; a connection that is refused
    counts as not ready.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if result := ready():
                return result
        except OSError:
            pass
        time.sleep(every)
    raise AssertionError(problem)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
