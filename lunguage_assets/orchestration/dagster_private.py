"""Everything that this package takes from private modules of Dagster, each with the reason.

No other module imports from `dagster._...`. A public name goes first, wherever there is one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import dagster as dg

# A run of the command line belongs to the code location, as those launched in the UI do: whose it is.
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

# The same: how the code location is loaded.
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin

LOCATION = "lunguage_assets.definitions"
"""Name of the code location, as `lunguage ui` and workspace.yaml load it."""


@contextmanager
def runs_of_location(instance: dg.DagsterInstance, job: str) -> Iterator[None]:
    """Runs that are created within belong to the code location, as those launched in the UI do.

    `execute_in_process` leaves a run's origin empty; the timeline leaves such a run out, and it cannot be
    executed again.
    """
    origin = RemoteJobOrigin(
        RemoteRepositoryOrigin(
            ManagedGrpcPythonEnvCodeLocationOrigin(
                LoadableTargetOrigin(executable_path=sys.executable, module_name=LOCATION), LOCATION
            ),
            "__repository__",
        ),
        job,
    )
    usual = instance.create_run_for_job
    instance.create_run_for_job = partial(usual, remote_job_origin=origin)  # type: ignore[method-assign]
    try:
        yield
    finally:
        instance.create_run_for_job = usual  # type: ignore[method-assign]
