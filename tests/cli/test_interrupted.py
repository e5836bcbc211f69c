"""A command that is asked to stop does, and says one line; its run counts as cancelled,
wherever it was.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from commands import lunguage

from lunguage_assets.cli.main import answer_signals
from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.instance import dagster_instance
from lunguage_assets.orchestration.io_manager import ParquetStore
from lunguage_assets.orchestration.run import Runner
from lunguage_assets.workspace.home import Home


@pytest.fixture(scope="module")
def runner(five: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """One of a home with a batch that nobody has taken in."""
    home = Home(tmp_path_factory.mktemp("registered") / "home")
    home.register(five, "first")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DAGSTER_HOME", raising=False)
        with dagster_instance(home) as instance:
            yield Runner(Configuration(home), instance)


@pytest.fixture
def answering() -> Iterator[None]:
    """Signals are answered as in a command, and afterwards as before."""
    before = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }
    answer_signals()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "owner", "called"),
    [
        (signal.SIGINT, Configuration, "reloaded"),
        (signal.SIGTERM, Home, "delivery"),
        (signal.SIGINT, ParquetStore, "handle_output"),
    ],
    ids=["before its first step", "in a step", "while a table is stored"],
)
def test_an_interrupted_run_is_cancelled_and_leaves_no_error_wherever_it_was(
    number: signal.Signals,
    owner: type,
    called: str,
    runner: Runner,
    answering: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), number)
        time.sleep(60)  # the interpreter looks for signals meanwhile

    instance = runner._instance
    before = len(instance.get_runs())
    stages = runner.plan("panel")
    monkeypatch.setattr(owner, called, interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run(stages)
    latest, *_ = runs = instance.get_runs()
    assert len(runs) == before + 1
    assert latest.status is dg.DagsterRunStatus.CANCELED
    assert capfd.readouterr() == ("", "")


def test_a_stopped_command_says_one_line(
    five: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Home) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Home, "registered", interrupted)
    done = lunguage(tmp_path / "home", "run", "--data", five, "--batch", "first")
    message = "lunguage: interrupted; run the same command again to go on"
    assert (done.returncode, done.stderr.strip()) == (130, message)
