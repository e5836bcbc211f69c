"""What is current in a home: Dagster's answer, with its reasons in words.

Dagster records of every materialisation the code version and the versions of what was
read (https://docs.dagster.io, "Asset versioning and caching"). The UI, automation,
`lunguage status` and `lunguage run` all ask it. An edge of a hundred partitions or more
is not looked at: what rests on all batches rests on `release_inputs`, which hashes
their versions.
"""

from __future__ import annotations

from typing import Any

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.internals import stale_resolver
from lunguage_assets.orchestration.jobs import JOBS
from lunguage_assets.release.context import ANALYSES
from lunguage_assets.release.newest import TABLES_PER_BATCH
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import (
    complete_batches,
    fingerprint,
    is_stored,
    partition_path,
)
from lunguage_assets.workspace.versions import current_version

DATA_VERSION = "dagster/data_version"

ON_REQUEST = ("hedge_vocabulary", "hedge_phrases")
"""An asset, and what makes it no more stale: new phrases would ask every judge again.
"""

MISSING = "missing"


class Current:
    """Says of every partition whether it is current, as things are at one moment.

    Args:
        configuration: of the home.
        instance: that keeps what was materialised.
        asset_graph: Dagster's, of the home's definitions.
    """

    def __init__(
        self,
        configuration: Configuration,
        instance: dg.DagsterInstance,
        asset_graph: Any,
    ) -> None:
        self._configuration = configuration
        self._instance = instance
        self._resolver = stale_resolver(instance, asset_graph)

    def reasons_of(self, job: str, *keys: str) -> list[str]:
        """Say why a job is to be run for a partition; none: all it makes is current."""
        reasons: list[str] = []
        for step in JOBS[job]:
            reasons += self.reasons(step, *keys)
        return list(dict.fromkeys(reasons))

    def reasons(self, asset: str, *keys: str, on_request: bool = False) -> list[str]:
        """Say why a partition is to be made; none: it is current.

        Args:
            asset: a table, or the release.
            keys: of the partition, in the order of `Table.partitioned_by`.
            on_request: also what makes it stale only where somebody asks for it.
        """
        home = self._configuration.home
        partition = dg.AssetKey(asset), "|".join(keys)
        # A batch that was removed and delivered again has events, and no file; a file
        # may be damaged, or of another schema; a person may have deleted a release.
        has_files = True
        if asset in TABLES:
            path = partition_path(home.tables, asset, *keys)
            has_files = is_stored(TABLES[asset], path)
        elif asset == "release":
            folder = self._configuration.releases.joinpath(*keys)
            has_files = current_version(folder) is not None
        status = self._resolver.get_status(*partition)
        if status.value == "MISSING" or not has_files:
            return [MISSING]
        reasons = []
        for cause in self._resolver.get_stale_causes(*partition):
            read = cause.dependency_asset_key
            if read is None:
                reasons.append("its code, settings or files changed")
            elif on_request or (asset, read.to_user_string()) != ON_REQUEST:
                reasons.append(f"{read.to_user_string()} changed")
        if asset == "release_inputs" and not reasons:
            # Dagster looks at no edge of a hundred partitions, and notices no batch
            # that was removed.
            (ranker,) = keys
            version = version_of_inputs(self._instance, home, ranker)
            if version != self._resolver.get_current_data_version(*partition).value:
                reasons.append("a batch or an analysis changed")
        return reasons

    def is_current(self, asset: str, *keys: str) -> bool:
        """Whether a partition is stored, and nothing that it was made of changed."""
        return not self.reasons(asset, *keys)


def version_of_inputs(instance: dg.DagsterInstance, home: Home, ranker: str) -> str:
    """Hash the versions of all tables that a release of a ranker reads.

    The versions of a table's partitions are read in one query.

    Args:
        instance: that keeps the versions.
        home: with the batches.
        ranker: of the release.
    """
    batches = complete_batches(home, ranker)
    keys_of_release = {ranker, *batches}
    versions: list[object] = [*batches]
    for table in (*TABLES_PER_BATCH, *ANALYSES):
        tags_by_partition = instance.event_log_storage.get_latest_tags_by_partition(
            dg.AssetKey(table),
            dg.DagsterEventType.ASSET_MATERIALIZATION,
            [DATA_VERSION],
        )
        for partition, tags in sorted(tags_by_partition.items()):
            if keys_of_release.issuperset(partition.split("|")):
                versions.append([table, partition, tags.get(DATA_VERSION)])
    return fingerprint(versions)
