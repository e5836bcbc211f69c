"""What is current in a home: Dagster's answer, with its reasons in words.

Dagster records of every materialisation the code version and the versions of what was
read (https://docs.dagster.io, "Asset versioning and caching"). The UI, automation,
`lunguage status` and `lunguage run` all ask it. An edge of a hundred partitions or more
is not looked at: what rests on all batches rests on `release_inputs`, which hashes
their versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration.internals import stale_resolver
from lunguage_assets.orchestration.partitions import partition_key
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import fingerprint, is_stored, partition_path
from lunguage_assets.workspace.versions import current_version

DATA_VERSION = "dagster/data_version"

ON_REQUEST: Mapping[str, str] = {"hedge_vocabulary": "hedge_phrases"}
"""Asset -> what makes it no more stale: new phrases would ask every judge again."""

TABLES_PER_BATCH = tuple(
    name
    for name, table in TABLES.items()
    if table.released and "report_batch" in table.partitioned_by
)
"""What a release reads of every batch."""

ANALYSES = tuple(name for name, table in TABLES.items() if table.released == "analysis")
"""What a release shows where somebody has made it."""

MISSING = "missing"

_RESULT = "lunguage_plus_plus"


class Current:
    """Says of every partition whether it is current, as things are at one moment.

    Args:
        configuration: of the home.
        instance: that keeps what was materialised.
        asset_graph: Dagster's, of the home's definitions.

    Attributes:
        batches: keys of the registered batches, oldest first.
    """

    def __init__(
        self,
        configuration: Configuration,
        instance: dg.DagsterInstance,
        asset_graph: Any,
    ) -> None:
        self._configuration = configuration
        self._home = configuration.home
        self._instance = instance
        self._resolver = stale_resolver(instance, asset_graph)
        self.batches = [batch.key for batch in self._home.registered()]

    def reasons(self, asset: str, *keys: str) -> list[str]:
        """Say why a partition is to be made; none: it is current.

        Args:
            asset: a table, or the release.
            keys: of the partition, in the order of `Table.partitioned_by`.
        """
        partition = dg.AssetKey(asset), str(partition_key(asset, keys))
        is_missing = self._resolver.get_status(*partition).value == "MISSING"
        if is_missing or not self._has_files(asset, keys):
            return [MISSING]
        reasons = []
        for cause in self._resolver.get_stale_causes(*partition):
            read = cause.dependency_asset_key
            if read is None:
                reasons.append("its code, settings or files changed")
            elif ON_REQUEST.get(asset) != read.to_user_string():
                reasons.append(f"{read.to_user_string()} changed")
        if asset == "release_inputs" and not reasons:
            # Dagster looks at no edge of a hundred partitions, and notices no batch
            # that was removed.
            (ranker,) = keys
            complete = complete_batches(self._home, ranker)
            version = version_of_inputs(self._instance, ranker, complete)
            made_of = self._resolver.get_current_data_version(*partition)
            if version != made_of.value:
                reasons.append("a batch or an analysis changed")
        return list(dict.fromkeys(reasons))

    def _has_files(self, asset: str, keys: Sequence[str]) -> bool:
        """Whether what was materialised is still there.

        A batch that was removed and delivered again has events, and no file; a file may
        be damaged, or of another schema; a person may have deleted a release.
        """
        if asset in TABLES:
            path = partition_path(self._home.tables, asset, *keys)
            return is_stored(TABLES[asset], path)
        if asset == "release":
            folder = self._configuration.releases.joinpath(*keys)
            return current_version(folder) is not None
        return True

    def waits_for_request(self, asset: str, *keys: str) -> bool:
        """Whether a partition is stale only by what makes it no more on its own."""
        partition = dg.AssetKey(asset), str(partition_key(asset, keys))
        causes = self._resolver.get_stale_causes(*partition)
        return bool(causes) and self.is_current(asset, *keys)

    def is_current(self, asset: str, *keys: str) -> bool:
        """Whether a partition is stored, and nothing that it was made of changed."""
        return not self.reasons(asset, *keys)


def complete_batches(home: Home, ranker: str) -> list[str]:
    """List the batches that have a result of a ranker, oldest first."""
    return [
        batch.key
        for batch in home.registered()
        if partition_path(home.tables, _RESULT, ranker, batch.key).exists()
    ]


def version_of_inputs(
    instance: dg.DagsterInstance, ranker: str, batches: Sequence[str]
) -> str:
    """Hash the versions of all tables that a release of some batches reads.

    The versions of a table's partitions are read in one query.

    Args:
        instance: that keeps the versions.
        ranker: of the release.
        batches: that have a result of it, oldest first.
    """
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
