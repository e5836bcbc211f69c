"""The Dagster instance of a home: its configuration, commands at work, lost runs.

Dagster's page is "Dagster instance" (https://docs.dagster.io). Lost runs are those that
a killed process left.

Which runs are launched is not here, but in `run.py`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import dagster as dg

from lunguage_assets.locks import (
    COMMAND_LOCK,
    LockHeld,
    exclusive_lock,
    exclusive_lock_at_once,
)
from lunguage_assets.orchestration.internals import origin_of_run
from lunguage_assets.packaged_data import dagster_yaml
from lunguage_assets.workspace.home import Home

LOCATION = "lunguage_assets.definitions"
"""Name of the code location, as `lunguage ui` and workspace.yaml load it."""

DAGSTER_VARIABLE = "DAGSTER_HOME"

OF_COMMAND = {"lunguage/launched_by": "command", "dagster/max_retries": "0"}
"""Tags of a run that a command executes: only the same command could go on with it."""

_AT_WORK = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
UNFINISHED = dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED, *_AT_WORK])
"""Runs that wait or are at work."""


@contextmanager
def dagster_instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """Open the persistent instance of a home, or the one that `$DAGSTER_HOME` names.

    The home's own one gets the packaged configuration where it has none. Runs of
    commands that were killed are closed.
    """
    home.create()
    folder = Path(os.environ.get(DAGSTER_VARIABLE) or home.dagster)
    # An instance that `$DAGSTER_HOME` names is somebody's own, and is left alone.
    if folder == home.dagster and not (folder / "dagster.yaml").exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(dagster_yaml(), folder / "dagster.yaml")
    # The first process makes the databases, and two at once fail.
    with exclusive_lock(home.root / ".dagster.lock"):
        instance = dg.DagsterInstance.from_config(str(folder))
    with instance:

        def create_run(job_def: dg.JobDefinition, **options: Any) -> dg.DagsterRun:
            """Create a run that belongs to the code location, as launched in the UI."""
            origin = origin_of_run(LOCATION, job_def.name)
            return dg.DagsterInstance.create_run_for_job(
                instance, job_def, remote_job_origin=origin, **options
            )

        instance.create_run_for_job = create_run  # type: ignore[assignment, method-assign]
        # Where no command holds the lock, runs of commands are lost.
        with suppress(LockHeld), exclusive_lock_at_once(home.root / COMMAND_LOCK):
            _close_runs(instance, of_commands=True)
        yield instance


def prepare_to_serve(home: Home) -> None:
    """Make the databases of an instance, and report runs that a kill left "started".

    To be called before Dagster's own commands open it.
    """
    with dagster_instance(home) as instance:
        # A code server reports the runs of its own dead processes; nobody notices its
        # own death. Of runs that are executed elsewhere nothing is known here.
        if isinstance(instance.run_launcher, dg.DefaultRunLauncher):
            _close_runs(instance, of_commands=False)


def _close_runs(instance: dg.DagsterInstance, *, of_commands: bool) -> None:
    """Report runs at work as failed, which would hold their places in queue and pools.

    Args:
        instance: in which they count as running.
        of_commands: those that commands executed; or those that were launched.
    """
    for run in instance.get_runs(dg.RunsFilter(statuses=_AT_WORK)):
        if (OF_COMMAND.items() <= run.tags.items()) == of_commands:
            instance.report_run_failed(
                run,
                "The process was killed. What it had finished is stored; the same work "
                "goes on from there.",
            )
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
