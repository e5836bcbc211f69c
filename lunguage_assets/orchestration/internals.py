"""All that this package takes from private modules of Dagster, and nowhere else.

The range of Dagster's versions in pyproject.toml bounds what may change.
"""

from __future__ import annotations

import sys
from typing import Any

import dagster as dg

# What the UI shows as "unsynced": there is no public function for it.
from dagster._core.definitions.data_version import (
    CachingStaleStatusResolver,
    StaleCause,
    StaleStatus,
)
from dagster._core.loader import LoadingContext

# A run of the command line belongs to the code location, as those launched in the UI
# do: whose it is.
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)

# The same: how the code location is loaded.
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin


class _Loading(LoadingContext):
    """What the resolver keeps of what it has read: as long as the resolver lives."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance
        self._loaders: dict[type, Any] = {}

    @property
    def instance(self) -> dg.DagsterInstance:
        return self._instance

    @property
    def loaders(self) -> dict[type, Any]:
        return self._loaders


class StaleResolver:
    """Dagster's own answer to what is current, as things are at one moment.

    Args:
        instance: that keeps what was materialised.
        asset_graph: Dagster's, of the home's definitions.
    """

    def __init__(self, instance: dg.DagsterInstance, asset_graph: Any) -> None:
        self._resolver = CachingStaleStatusResolver(
            instance, asset_graph, _Loading(instance)
        )

    def is_missing(self, asset: str, partition: str | None) -> bool:
        """Whether a partition was never materialised."""
        status = self._resolver.get_status(dg.AssetKey(asset), partition)
        return status is StaleStatus.MISSING

    def causes(self, asset: str, partition: str | None) -> list[StaleCause]:
        """List why a materialised partition is stale; none: it is current."""
        return list(self._resolver.get_stale_causes(dg.AssetKey(asset), partition))

    def data_version(self, asset: str, partition: str | None) -> str:
        """Return the data version of a materialised partition."""
        key = dg.AssetKey(asset)
        return self._resolver.get_current_data_version(key, partition).value


def origin_of_run(location: str, job: str) -> RemoteJobOrigin:
    """Name the code location to which a run of a job belongs.

    `execute_in_process` leaves a run's origin empty; the timeline leaves such a run
    out, and it cannot be executed again.
    """
    target = LoadableTargetOrigin(executable_path=sys.executable, module_name=location)
    origin = ManagedGrpcPythonEnvCodeLocationOrigin(target, location)
    return RemoteJobOrigin(RemoteRepositoryOrigin(origin, "__repository__"), job)
