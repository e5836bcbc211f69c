"""What is current in a home: Dagster's answer, with its reasons in words.

Dagster records of every materialisation the code version and the versions of what was
read (https://docs.dagster.io, "Asset versioning and caching"). The UI, automation,
`lunguage status` and `lunguage run` all ask it. An edge of a hundred partitions or more
is not looked at: what rests on all batches rests on `release_inputs`, which hashes
their versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import dagster as dg

from lunguage_assets.orchestration.internals import StaleResolver
from lunguage_assets.orchestration.partitions import partition_key
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import is_stored, partition_path
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

_RESULT = "lunguage_plus_plus"
_STEPS_OF_RESULT = (
    "fitted_probabilities",
    "deduplicated_findings",
    "expansions",
    _RESULT,
)


class Current:
    """Says of every partition whether it is current, as things are at one moment.

    Args:
        asset_graph: Dagster's, of the home's definitions.
        instance: that keeps what was materialised.
        home: whose tables they are.
        releases: folder with one folder for each ranker.
        scored: the batches of a ranker that rest on its distilled model.
    """

    def __init__(
        self,
        asset_graph: Any,
        instance: dg.DagsterInstance,
        home: Home,
        releases: Path,
        scored: Callable[[str], Collection[str]] = lambda _: (),
    ) -> None:
        self.home = home
        self.releases = releases
        self._scored = cache(scored)
        self.batches = [batch.key for batch in home.registered()]
        """Keys of the registered batches, oldest first."""
        self._graph = asset_graph
        self._instance = instance
        self._tables = home.tables

    def reasons(self, asset: str, *keys: str) -> list[str]:
        """Say why a partition is to be made; none: it is current.

        Args:
            asset: a table, or the release.
            keys: of the partition, in the order of `Table.partitioned_by`.
        """
        partition = _partition(asset, keys)
        if self._resolver.is_missing(asset, partition):
            return ["missing"]
        if not self._has_files(asset, keys):
            return ["missing"]
        reasons = []
        for cause in self._resolver.causes(asset, partition):
            read = cause.dependency_asset_key
            if read is None:
                reasons.append("its code, settings or files changed")
            elif self._counts(asset, read.to_user_string(), keys):
                reasons.append(f"{read.to_user_string()} changed")
        if asset == "release_inputs" and not reasons:
            reasons += self._reasons_of_inputs(*keys)
        return list(dict.fromkeys(reasons))

    def _counts(self, asset: str, read: str, keys: Sequence[str]) -> bool:
        """Whether a change of what was read makes a partition stale."""
        if read == "distilled_scorer" and asset in ("fitted_probabilities", "fit_log"):
            # Who fitted a batch fits it again: the judges, or the model.
            ranker, batch = keys
            return batch in self._scored(ranker)
        return ON_REQUEST.get(asset) != read

    def _has_files(self, asset: str, keys: Sequence[str]) -> bool:
        """Whether what was materialised is still there.

        A batch that was removed and delivered again has events, and no file; a file may
        be damaged, or of another schema; a person may have deleted a release.
        """
        if asset in TABLES:
            path = partition_path(self._tables, asset, *keys)
            return is_stored(TABLES[asset], path)
        if asset == "release":
            return current_version(self.releases.joinpath(*keys)) is not None
        return True

    def _reasons_of_inputs(self, ranker: str) -> list[str]:
        """Say whether what a release reads is other than when it was hashed."""
        # Dagster looks at no edge of a hundred partitions, and notices no batch that
        # was removed.
        batches = self.complete_batches(ranker)
        version = version_of_inputs(self._instance, ranker, batches)
        known = self._resolver.data_version("release_inputs", ranker)
        return [] if version == known else ["a batch or an analysis changed"]

    def reasons_of_result(self, ranker: str, batch: str) -> list[str]:
        """Say why the result of a batch is stale, or something that it was made of."""
        reasons = self.reasons("findings", batch)
        for step in _STEPS_OF_RESULT:
            reasons += self.reasons(step, ranker, batch)
        return list(dict.fromkeys(reasons))

    def waits_for_request(self, asset: str, *keys: str) -> bool:
        """Whether a partition is stale only by what makes it no more on its own."""
        if asset not in ON_REQUEST or self.reasons(asset, *keys):
            return False
        return bool(self._resolver.causes(asset, _partition(asset, keys)))

    def exists(self, asset: str, *keys: str) -> bool:
        """Whether a partition is stored, current or not."""
        return self.reasons(asset, *keys) != ["missing"]

    def is_current(self, asset: str, *keys: str) -> bool:
        """Whether a partition is stored, and nothing that it was made of changed."""
        return not self.reasons(asset, *keys)

    def complete_batches(self, ranker: str) -> list[str]:
        """List the batches that have a result of a ranker, oldest first."""
        return complete_batches(self.home, ranker)

    @cached_property
    def _resolver(self) -> StaleResolver:
        return StaleResolver(self._instance, self._graph)


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
    versions: list[object] = [*batches]
    for table in (*TABLES_PER_BATCH, *ANALYSES):
        tags_by_partition = instance.event_log_storage.get_latest_tags_by_partition(
            dg.AssetKey(table),
            dg.DagsterEventType.ASSET_MATERIALIZATION,
            [DATA_VERSION],
        )
        # Some tables are of the batch alone, others of a ranker, or of both.
        dimensions = TABLES[table].partitioned_by
        for batch in batches if "report_batch" in dimensions else [""]:
            key_by_dimension = {"ranker": ranker, "report_batch": batch}
            keys = [key_by_dimension[name] for name in dimensions]
            tags = tags_by_partition.get(str(partition_key(table, keys)), {})
            versions.append([table, batch, tags.get(DATA_VERSION)])
    return hashlib.sha256(repr(versions).encode()).hexdigest()[:16]


def _partition(asset: str, keys: Sequence[str]) -> str:
    return str(partition_key(asset, keys)) if len(keys) > 1 else keys[0]
