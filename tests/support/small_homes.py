"""Homes with a few tiny batches, made in this process, and a daemon's backfills without
a daemon.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import dagster as dg
import pandas as pd
from blank_pictures import blank_pictures
from quick_instance import quick_instance
from stored_tables import KEYS

from lunguage_assets.configuration import Configuration
from lunguage_assets.orchestration import checks
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.current import Current
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.run import Runner, RunSummary, Stage
from lunguage_assets.sample.files import write_sample
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home

BATCHES = ("first", "second", "third")


def write_deliveries(
    folder: Path,
    reports: int | Sequence[int] = 5,
    seed: int = 3,
    batches: Sequence[str] = BATCHES,
) -> dict[str, Path]:
    """One synthetic corpus cut into deliveries that share no study; `reports` of each,
    or one by one.
    """
    sample = folder / "whole"
    sizes = [reports] * len(batches) if isinstance(reports, int) else reports
    write_sample(sample, reports=sum(sizes), seed=seed)
    (source,) = sample.glob("Lunguage.csv*")
    rows = pd.read_csv(source, dtype=str, keep_default_na=False)
    studies = sorted(set(rows["study_id"]))
    folder_by_batch = {}
    for batch, size in zip(batches, sizes, strict=True):
        target = folder_by_batch[batch] = folder / batch
        shutil.copytree(sample, target)
        (target / source.name).unlink()
        mine, studies = studies[:size], studies[size:]
        rows[rows["study_id"].isin(mine)].to_csv(target / "Lunguage.csv", index=False)
    return folder_by_batch


def contradicting_itself(rows: pd.DataFrame) -> pd.DataFrame:
    """A result of the right form in which one study says one thing twice, once denying
    it.
    """
    first, second = rows.index[rows["study_id"] == rows["study_id"].iloc[0]][:2]
    changed = rows.copy()
    for column in ("name", "currency"):
        changed.loc[second, column] = changed.loc[first, column]
    changed.at[second, "location_parts"] = changed.at[first, "location_parts"]
    changed.loc[second, "status"] = (
        "dn" if changed.loc[first, "status"] != "dn" else "dp"
    )
    return changed


class SmallHome:
    """A home and a Dagster instance in memory, which executes runs here and at once:
    what a test changes in this process holds in them. Its pictures are blank, and Great
    Expectations, which takes seconds to import, runs only where it is asked for.
    """

    def __init__(
        self, configuration: Configuration, instance: dg.DagsterInstance
    ) -> None:
        self.configuration = configuration
        self.home = configuration.home
        self.instance = instance

    @classmethod
    @contextmanager
    def opened(
        cls,
        root: Path,
        events: Path | None = None,
        *,
        expectations: bool = False,
        **fields: Any,
    ) -> Iterator[SmallHome]:
        """The home `root`, and an instance that knows what was materialised in it.

        `events`: of `save_events`; `expectations`: whether the suites are run;
        `fields`: of the configuration, such as `judges_file`.
        """
        configuration = Configuration(Home(root), **fields)
        without = (
            nullcontext()
            if expectations
            else mock.patch.object(checks, "examined", return_value=[])
        )
        with blank_pictures(), without, quick_instance(events) as instance:
            keys = [batch.key for batch in configuration.home.registered()]
            instance.add_dynamic_partitions(REPORT_BATCH.name, keys)
            yield cls(configuration, instance)

    def register(self, deliveries: Mapping[str, Path]) -> None:
        for batch, folder in deliveries.items():
            self.home.register(folder, batch)
        self.instance.add_dynamic_partitions(REPORT_BATCH.name, list(deliveries))

    @property
    def definitions(self) -> dg.Definitions:
        """As a process loads them: settings are in the versions of the steps' code."""
        return build_defs(self.configuration.reloaded())

    def runner(self) -> Runner:
        return Runner(self.configuration.reloaded(), self.instance)

    def current(self) -> Current:
        """What is current now, as a command finds it."""
        runner = self.runner()
        runner.prepare()
        return runner.current()

    def plan(self, ranker: str = "panel") -> list[str]:
        """The stages that a run would make now."""
        return [str(stage) for stage in self.runner().plan(ranker)]

    def run(self, ranker: str = "panel", *, rebuild: bool = False) -> list[str]:
        """Make what is not current; the stages that were executed."""
        runner = self.runner()
        stages = runner.plan(ranker, rebuild=rebuild)
        return self.executed(lambda: runner.run(stages))

    def executed(self, work: Callable[[], RunSummary]) -> list[str]:
        """The stages that some work executed, in their order."""
        before = {run.run_id for run in self.instance.get_runs()}
        work()
        return [
            _line_of(run)
            for run in reversed(self.instance.get_runs())
            if run.run_id not in before
        ]

    def make(
        self, *tables: str, raise_on_error: bool = True, **keys: str
    ) -> dg.ExecuteInProcessResult:
        """Materialise tables with their side tables and checks, for one partition: of
        its keys those that are not `KEYS`.
        """
        made = {
            dg.AssetKey(together)
            for table in tables
            for together in _made_together(self.definitions, table)
        }
        repository = self.definitions.get_repository_def()
        job_of_all = repository.get_implicit_job_def_for_assets(made)
        assert job_of_all is not None
        return job_of_all.get_subset(asset_selection=made).execute_in_process(
            instance=self.instance,
            partition_key=key_of(tables[0], **keys),
            raise_on_error=raise_on_error,
        )


def key_of(table: str, **keys: str) -> str:
    """Dagster's key of a partition, by those of its keys that are not `KEYS`."""
    # A release is no table, and one of a ranker.
    dimensions = TABLES[table].partitioned_by if table in TABLES else ("ranker",)
    chosen = KEYS | keys
    return "|".join(chosen[dimension] for dimension in dimensions)


def _made_together(definitions: dg.Definitions, table: str) -> set[str]:
    """A table and what one step makes with it."""
    for asset in definitions.assets or ():
        if isinstance(asset, dg.AssetsDefinition) and dg.AssetKey(table) in asset.keys:
            return {key.path[-1] for key in asset.keys}
    raise KeyError(table)


def _line_of(run: dg.DagsterRun) -> str:
    keys = run.tags["dagster/partition"].split("|")
    return str(Stage(run.job_name, tuple(keys)))


def said_of(result: dg.ExecuteInProcessResult) -> str:
    """Why the steps of a run failed, as a person reads it."""
    failures = [
        event.step_failure_data for event in result.all_events if event.is_step_failure
    ]
    return " ".join(
        str(failure.user_failure_data and failure.user_failure_data.description)
        for failure in failures
    )
