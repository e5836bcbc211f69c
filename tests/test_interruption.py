"""A process that is asked to stop does, wherever it is; what it did not finish counts as cancelled, and it
says one line.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from platform_support import environment
from served_home import wait_for

from lunguage_assets.home.home import Home
from lunguage_assets.interruption import answering_signals, is_interruption, noticing_signals
from lunguage_assets.orchestration.io_manager import ParquetTables, TableStore
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.runner import RunInterrupted, Runner, dagster_instance

CLI = [sys.executable, "-m", "lunguage_assets.cli.main"]
SAID = "lunguage: interrupted; run the same command again to go on"

BETWEEN_RUNS = """
import os, signal, sys
from lunguage_assets.cli.main import main as cli
from lunguage_assets.orchestration.runs.runner import Runner

NUMBER = getattr(signal, sys.argv.pop())

class ClearedAway:
    def __del__(self):
        os.kill(os.getpid(), NUMBER)

def register_partitions(self, registered=Runner.register_partitions):
    ClearedAway()
    registered(self)

Runner.register_partitions = register_partitions
cli.main()
"""
"""`lunguage`, asked to stop by a signal named last, before its first run, while Python clears an object
away.
"""


class ClearedAway:
    """Python swallows what its clearing away raises."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


@pytest.fixture(scope="module")
def undeclared(tmp_path_factory: pytest.TempPathFactory, five_reports: Path) -> Path:
    """A delivery that nobody has said to be synthetic, so that messages of unexpected errors are withheld."""
    folder = tmp_path_factory.mktemp("undeclared") / "delivery"
    shutil.copytree(five_reports, folder)
    (folder / "corpus.toml").unlink()
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_even_when_python_swallows_the_exception_that_answers_it(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    def wait() -> None:
        ClearedAway(number)
        time.sleep(60)

    with noticing_signals() as asked_to_stop, answering_signals():
        with pytest.raises(KeyboardInterrupt):
            wait()
        assert asked_to_stop()
        assert not asked_to_stop()
    assert capfd.readouterr() == ("", "")


def test_other_exceptions_that_python_swallows_are_told_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __del__(self) -> None:
            raise ValueError("broken")

    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    with answering_signals():
        Broken()
    assert [one.exc_type for one in told] == [ValueError]


def test_the_answers_to_a_signal_are_known_and_nothing_else_is_taken_for_one() -> None:
    assert is_interruption(KeyboardInterrupt())
    assert is_interruption(dg.DagsterExecutionInterruptedError)
    assert is_interruption(RunInterrupted("", cancelled=True))
    assert not any(
        is_interruption(other) for other in (None, SystemExit(1), dg.Failure(), GeneratorExit, ValueError)
    )


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_command_is_stopped_between_its_runs_by_either_signal(
    number: str, undeclared: Path, tmp_path: Path
) -> None:
    """Started by a script with `&`, which lets what it starts ignore SIGINT."""
    started = [sys.executable, "-c", BETWEEN_RUNS, "run", "--data", str(undeclared), number]
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *started],
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (130, SAID)


@pytest.mark.parametrize(
    ("place", "called"),
    [
        (TableStore, "create_io_manager"),
        (HomeResource, "create_resource"),
        (Home, "delivery"),
        (ParquetTables, "dump_to_path"),
    ],
    ids=["while its store is opened", "while its home is opened", "in a step", "while a table is stored"],
)
def test_an_interrupted_run_is_cancelled_and_leaves_no_error_wherever_it_was(
    place: type,
    called: str,
    undeclared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    home = Home(tmp_path / "home")
    monkeypatch.setenv("DAGSTER_HOME", str(home.dagster))
    home.register(undeclared, "first")

    def interrupted(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)  # the interpreter looks for signals meanwhile

    with dagster_instance(home) as instance:
        runner = Runner(home, instance)
        monkeypatch.setattr(place, called, interrupted)
        with pytest.raises(RunInterrupted):
            runner.run("panel")
        (run,) = instance.get_runs()
        assert run.status is dg.DagsterRunStatus.CANCELED
    assert capfd.readouterr() == ("", "")


@pytest.mark.lengthy
@pytest.mark.parametrize("how", ["signal", "terminated in the UI"])
def test_an_interrupted_run_is_recorded_as_cancelled_and_says_how_to_go_on(
    how: str, tmp_path: Path, undeclared: Path
) -> None:
    home = tmp_path / "home"
    command = [*CLI, "run", "--data", str(undeclared), "--batch", "first"]
    process = subprocess.Popen(
        command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_for(lambda: _runs(home, "STARTED"), 120, f"the first run does not start: {process.poll()}")
        if how == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
                (run_id,) = _runs(home, "STARTED")
                assert instance.run_launcher.terminate(run_id)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert errors.strip() == SAID
    assert len(_runs(home, "CANCELED")) == 1
    assert not _runs(home, "STARTED", "CANCELING", "FAILURE", "NOT_STARTED")


def _runs(home: Path, *statuses: str) -> list[str]:
    """Ids of the runs of a home with one of these statuses."""
    if not (
        home / "tables"
        # made after the instance: two processes that make it at once, one without the lock, would fail
    ).exists():
        return []
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        return [run.run_id for run in instance.get_runs() if run.status.value in statuses]
