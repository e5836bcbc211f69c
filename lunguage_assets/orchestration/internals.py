"""All that this package takes from private modules of Dagster, and nowhere else.

The range of Dagster's versions in pyproject.toml bounds what may change.
"""

from __future__ import annotations

import sys
from typing import Any

import dagster as dg

# What the UI shows as "unsynced": there is no public function for it.
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.loader import LoadingContextForTest

# A run of the command line belongs to the code location, as those launched in the UI
# do: whose it is.
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

# The same: how the code location is loaded.
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin


def stale_resolver(
    instance: dg.DagsterInstance, asset_graph: Any
) -> CachingStaleStatusResolver:
    """Return Dagster's own answer to what is current, as things are at one moment."""
    return CachingStaleStatusResolver(
        instance, asset_graph, LoadingContextForTest(instance)
    )


def origin_of_run(location: str, job: str) -> RemoteJobOrigin:
    """Name the code location to which a run of a job belongs.

    `execute_in_process` leaves a run's origin empty; the timeline leaves such a run
    out, and it cannot be executed again.
    """
    target = LoadableTargetOrigin(executable_path=sys.executable, module_name=location)
    origin = ManagedGrpcPythonEnvCodeLocationOrigin(target, location)
    return RemoteJobOrigin(RemoteRepositoryOrigin(origin, "__repository__"), job)
