"""A process that is asked to stop does, even if Python swallows the exception that answers the signal."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from platform_support import environment

from lunguage_assets.interruption import answering_signals, is_interruption, noticing_signals
from lunguage_assets.sample import write_sample

SAID = "lunguage: interrupted; run the same command again to go on"

INTERRUPTED = """
import os, signal, sys
from lunguage_assets.cli.main import main as cli
from lunguage_assets.home.home import Home

NUMBER = getattr(signal, sys.argv.pop())

class ClearedAway:
    def __del__(self):
        os.kill(os.getpid(), NUMBER)

def registered(self, found=Home.registered):
    ClearedAway()
    return found(self)

Home.registered = registered
cli()
"""
"""`lunguage`, asked to stop by a signal named last, while Python clears an object away."""


class ClearedAway:
    """Python swallows what its clearing away raises."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __del__(self) -> None:
        signal.raise_signal(self.number)


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
    assert not any(
        is_interruption(other) for other in (None, SystemExit(1), dg.Failure(), GeneratorExit, ValueError)
    )


def test_the_answer_to_a_signal_and_the_handlers_end_with_it() -> None:
    def now() -> tuple[Any, ...]:
        return (
            signal.getsignal(signal.SIGINT),
            signal.getsignal(signal.SIGTERM),
            sys.unraisablehook,
            logging.getLogger("sqlalchemy.pool").level,
        )

    before = now()
    with answering_signals():
        assert now() != before
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert now() == before


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_command_is_stopped_by_either_signal_and_says_one_line(number: str, tmp_path: Path) -> None:
    """Started by a script with `&`, which lets what it starts ignore SIGINT."""
    write_sample(tmp_path / "delivery", reports=5, seed=7)
    started = [sys.executable, "-c", INTERRUPTED, "run", "--data", str(tmp_path / "delivery"), number]
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *started],
        env=environment(tmp_path / "home"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (130, SAID)
