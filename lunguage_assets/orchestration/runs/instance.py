"""The Dagster instance of a home: its configuration, and runs that a killed process has left behind."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import dagster as dg

from lunguage_assets.data_files import dagster_yaml
from lunguage_assets.files import replace_text
from lunguage_assets.home.home import Home
from lunguage_assets.orchestration.runs.workers import is_gone, worker_of

_UNMARKED = {
    "29097bb855be440cf8ffac14815c4a9338b85998463b9a37bee0cfc95a99b78f",
    "e188819f86c621425d96ffc8260373b5baab4ba79b807ca2266de797809b888c",
}
"""SHA-256 of the configurations that were copied before copies were marked."""

Configuration = Literal["packaged", "outdated", "edited", "elsewhere", "missing"]


@contextmanager
def dagster_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """The persistent instance; sets `DAGSTER_HOME` to the home's own unless it is set already."""
    prepare_dagster_home(home)
    with _opening(home):
        instance = dg.DagsterInstance.get()
    with instance:
        yield instance


def prepare_dagster_home(home: Home) -> None:
    """Point `DAGSTER_HOME` at the home and put the instance configuration there; one that nobody edited is
    renewed.
    """
    home.create()
    if not os.environ.get("DAGSTER_HOME"):
        os.environ["DAGSTER_HOME"] = str(home.dagster)
    if configuration_of(home) in ("missing", "outdated"):
        packaged = dagster_yaml().read_text(encoding="utf-8")
        marks = dict.fromkeys([*_marks(home), _hash(packaged)])
        replace_text(
            _mark(home), "".join(f"{mark}\n" for mark in marks)
        )  # first: a configuration without its mark would count as edited
        replace_text(home.dagster / "dagster.yaml", packaged)
    if not (home.dagster / "history").exists() and configuration_of(home) != "elsewhere":
        with _opening(home), dg.DagsterInstance.get():
            # so that the databases are there before webserver, daemon and commands open them, each for itself
            pass


@contextmanager
def _opening(home: Home) -> Iterator[None]:
    """One process at a time opens the instance: it makes its databases at first, and two that do so at once
    fail.
    """
    with (home.root / ".dagster.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def configuration_of(home: Home) -> Configuration:
    """How the instance configuration in use stands to the packaged one; an `outdated` copy is an older one
    that nobody edited.
    """
    if Path(os.environ.get("DAGSTER_HOME") or home.dagster) != home.dagster:
        return "elsewhere"
    file = home.dagster / "dagster.yaml"
    if not file.exists():
        return "missing"
    present = _hash(file.read_text(encoding="utf-8"))
    if present == _hash(dagster_yaml().read_text(encoding="utf-8")):
        return "packaged"
    return "outdated" if present in {*_marks(home), *_UNMARKED} else "edited"


def examination(home: Home) -> list[tuple[str, str]]:
    """What a person should know of the instance's configuration: severity and message."""
    state = configuration_of(home)
    if state == "elsewhere":
        return [
            (
                "ok",
                f"Dagster's instance is configured in {os.environ['DAGSTER_HOME']} "
                "($DAGSTER_HOME), which this package leaves alone",
            )
        ]
    if state != "edited":
        return [
            (
                "ok",
                "Dagster's instance has the packaged configuration"
                + (", renewed at the next command" if state == "outdated" else ""),
            )
        ]
    return [
        (
            "warning",
            f"{home.dagster / 'dagster.yaml'} was edited and is not renewed; this version's is "
            f"{dagster_yaml()}."
            " Take over from there what you need, or delete yours: the next command then puts "
            "the packaged one there.",
        )
    ]


def _mark(home: Home) -> Path:
    """Names the hashes of the packaged configurations that were copied."""
    return home.dagster / "dagster.yaml.sha256"


def _marks(home: Home) -> list[str]:
    return _mark(home).read_text(encoding="ascii").split() if _mark(home).exists() else []


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def close_abandoned_runs(instance: dg.DagsterInstance) -> int:
    """Report runs as failed whose process on this machine was killed, and free what they held; returns how
    many.

    Where no daemon watches, nobody else does, and the UI would show them as running.
    """
    closed = 0
    unfinished = (
        dg.DagsterRunStatus.NOT_STARTED,
        dg.DagsterRunStatus.STARTING,
        dg.DagsterRunStatus.STARTED,
        dg.DagsterRunStatus.CANCELING,
    )
    for run in instance.get_runs(dg.RunsFilter(statuses=list(unfinished))):
        process = worker_of(instance, run)
        if process is not None and is_gone(process):
            instance.report_run_failed(
                run,
                "The process was killed. What it had finished is stored; the same work goes on from there.",
            )
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
            closed += 1
    return closed
