"""Homes with a few tiny batches that went part of the way in this process, and a daemon's backfills without a daemon."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import dagster as dg
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.definitions.selector import PartitionRangeSelector, PartitionsByAssetSelector, PartitionsSelector
from dagster._core.execution.backfill import PartitionBackfill
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.backfill import execute_backfill_iteration

from lunguage_assets.corpus.synthetic import write_sample
from lunguage_assets.home import Home
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.schema import Table

BATCHES = ("first", "second", "third")
IN_THIS_PROCESS = {
    "run_launcher": {"module": "dagster._core.launcher.sync_in_memory_run_launcher", "class": "SyncInMemoryRunLauncher"},
    "run_coordinator": {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"},
}
"""Runs of a backfill are executed here, at once: what a test changes in this process holds in them."""

Partition = str | Mapping[str, str]


def write_deliveries(folder: Path, reports: int = 5, seed: int = 3, batches: Sequence[str] = BATCHES) -> dict[str, Path]:
    """One synthetic corpus cut into deliveries that share no study."""
    whole = folder / "whole"
    write_sample(whole, reports=reports * len(batches), seed=seed)
    (source,) = whole.glob("Lunguage.csv*")
    rows = pd.read_csv(source, dtype=str, keep_default_na=False)
    studies = sorted(set(rows["study_id"]))
    found = {}
    for number, batch in enumerate(batches):
        target = found[batch] = folder / batch
        shutil.copytree(whole, target)
        (target / source.name).unlink()
        mine = studies[number * reports : (number + 1) * reports]
        rows[rows["study_id"].isin(mine)].to_csv(target / "Lunguage.csv", index=False)
    return found


def store_unchecked(table: Table, frame: pd.DataFrame, path: Path) -> None:
    """A Parquet file of the table's types whatever its rows say, as another program could put it there."""
    path = Path(str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [pa.array(frame[column.name], type=column.arrow.type, from_pandas=True) for column in table.columns]
    pq.write_table(pa.Table.from_arrays(columns, schema=table.arrow), path)


class SmallHome:
    """A home with its own Dagster instance, both below one folder; opened with `opened`."""

    def __init__(self, home: Home, instance: dg.DagsterInstance) -> None:
        self.home, self.instance = home, instance

    @classmethod
    @contextmanager
    def opened(cls, root: Path, *, lasting: bool = True) -> Iterator[SmallHome]:
        """`lasting`: the instance's record of events is kept below the folder, for who needs it later; otherwise in memory, which is faster."""
        home = Home(root / "home")
        if not lasting:
            with dg.DagsterInstance.ephemeral() as instance:
                instance.add_dynamic_partitions(REPORT_BATCH.name, [batch.key for batch in home.registered()])
                yield cls(home, instance)
            return
        (root / "instance").mkdir(parents=True, exist_ok=True)
        with dg.DagsterInstance.local_temp(str(root / "instance"), overrides=IN_THIS_PROCESS) as instance:
            yield cls(home, instance)

    def register(self, deliveries: Mapping[str, Path]) -> None:
        for batch, folder in deliveries.items():
            self.home.register(folder, batch)
        self.instance.add_dynamic_partitions(REPORT_BATCH.name, list(deliveries))

    @cached_property
    def definitions(self) -> dg.Definitions:
        return build_defs(self.home)

    def make(
        self, tables: Sequence[str], partition: Partition, *, checks: bool = False, raise_on_error: bool = True
    ) -> dg.ExecuteInProcessResult:
        """Materialise tables of one partition; without their checks, which cost more than they, unless asked for."""
        keys = {dg.AssetKey(table) for table in tables}
        whole = self.definitions.get_repository_def().get_implicit_job_def_for_assets(keys)
        assert whole is not None
        graph = self.definitions.resolve_asset_graph()
        made_with_them = {check for key in keys for check in graph.assets_def_for_key(key).check_keys}
        job = whole.get_subset(asset_selection=keys, asset_check_selection=None if checks else made_with_them)
        key = partition if isinstance(partition, str) else dg.MultiPartitionKey(dict(partition))
        return job.execute_in_process(instance=self.instance, partition_key=key, raise_on_error=raise_on_error)

    def check(self, table: str, name: str, partition: str) -> dg.AssetCheckEvaluation:
        """One check's verdict on a stored partition, keys in Dagster's form."""
        chosen = dg.AssetCheckKey(dg.AssetKey(table), name)
        whole = self.definitions.get_repository_def().get_implicit_global_asset_job_def()
        job = whole.get_subset(asset_selection=set(), asset_check_selection={chosen})
        result = job.execute_in_process(instance=self.instance, tags={"dagster/partition": partition}, raise_on_error=False)
        (evaluation,) = result.get_asset_check_evaluations()
        return evaluation

    def backfill(self, partitions: Mapping[str, Sequence[str]]) -> PartitionBackfill:
        """A backfill over partitions of several assets, as the UI launches it, carried to its end as the daemon does."""
        target = LoadableTargetOrigin(module_name="lunguage_assets.definitions", attribute="defs")
        origin = InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(target))
        with (
            create_test_daemon_workspace_context(origin, self.instance) as workspace,
            partition_loading_context(dynamic_partitions_store=self.instance),
        ):
            backfill = PartitionBackfill.from_partitions_by_assets(
                backfill_id="poisoned",
                asset_graph=workspace.create_request_context().asset_graph,
                backfill_timestamp=time.time(),
                tags={},
                dynamic_partitions_store=self.instance,
                partitions_by_assets=[
                    PartitionsByAssetSelector(asset_key=dg.AssetKey(table), partitions=_chosen(keys)) for table, keys in partitions.items()
                ],
                title=None,
                description=None,
                run_config=None,
            )
            self.instance.add_backfill(backfill)
            for _ in range(50):  # a tick launches what has become ready, and sees what became of it
                errors = [error for error in execute_backfill_iteration(workspace, logging.getLogger("backfill")) if error is not None]
                assert not errors, errors
                found = self.instance.get_backfill("poisoned")
                assert found is not None
                if found.status.value.startswith("COMPLETED"):
                    return found
            raise AssertionError(f"the backfill does not end: {found.status}")


def _chosen(keys: Sequence[str]) -> PartitionsSelector:
    return PartitionsSelector(ranges=[PartitionRangeSelector(key, key) for key in keys])
