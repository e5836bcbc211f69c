"""Automation for real: the daemon carries a new batch on; a batch that fails its guarantees stays out; a new ranking waits for a refit."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from served_home import ServedHome, wait_for

import lunguage_assets.orchestration.assets.implicit as implicit_assets
import lunguage_assets.orchestration.checks as checks
from lunguage_assets.corpus.synthetic import write_sample
from lunguage_assets.home import Home
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.conditions import CARRIED
from lunguage_assets.orchestration.stale import RANKING_CURRENT
from lunguage_assets.store import partition_path

Lunguage = Callable[..., subprocess.CompletedProcess[str]]
EXTRACTOR = "lexicon"


class InProcess:
    """The runs of a home, executed here."""

    def __init__(self, root: Path, instance: dg.DagsterInstance) -> None:
        self.root, self.instance = root, instance
        self.definitions = build_defs(Home(root))

    def take_in(self, folder: Path, batch: str, seed: int) -> None:
        """Register five reports and ingest them."""
        write_sample(folder / batch, reports=5, seed=seed)
        Home(self.root).register(folder / batch, batch)
        self.instance.add_dynamic_partitions("report_batch", [batch])
        assert self.run("ingest", batch).success

    def run(self, job: str, *partition: str) -> dg.ExecuteInProcessResult:
        first = "judge" if job == "extract_hedges" else "ranker"
        key = dg.MultiPartitionKey({first: partition[0], "report_batch": partition[1]}) if len(partition) == 2 else partition[0]
        resolved = self.definitions.resolve_job_def(job)
        return resolved.execute_in_process(instance=self.instance, partition_key=key, raise_on_error=False)

    def requested(self) -> dict[str, set[str | None]]:
        found = dg.evaluate_automation_conditions(self.definitions, self.instance)
        named = {table: set(found.get_requested_partitions(dg.AssetKey(table))) for table in CARRIED}
        return {table: partitions for table, partitions in named.items() if partitions}


def copied(finished_home: Path, tmp_path: Path, settings: str = "") -> Path:
    home = tmp_path / "home"
    shutil.copytree(finished_home, home)
    with (home / "settings.toml").open("a") as stream:
        stream.write(settings)
    return home


@pytest.fixture
def opened(finished_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcess]:
    """A copy of the finished home; the expectation suites, which other tests run, are left out."""
    monkeypatch.setattr(checks, "validate", lambda *_: [])
    home = copied(finished_home, tmp_path)
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        yield InProcess(home, instance)


def contradictory(original: Callable[..., Any]) -> Callable[..., Any]:
    """A resolution that leaves every finding twice."""

    def resolve(*arguments: Any, **options: Any) -> Any:
        resolved = original(*arguments, **options)
        twice = pd.concat([resolved.rows, resolved.rows], ignore_index=True)
        return dataclasses.replace(resolved, rows=twice)

    return resolve


def result_of(job: dg.ExecuteInProcessResult, check: str) -> dg.AssetCheckEvaluation:
    (found,) = (evaluation for evaluation in job.get_asset_check_evaluations() if evaluation.check_name == check)
    return found


def test_a_batch_that_fails_its_guarantees_is_stored_nowhere_and_not_tried_again_while_another_one_is_released(
    opened: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch, seed in (("bad", 7), ("good", 8)):
        opened.take_in(tmp_path, batch, seed)
        assert opened.run("extract_hedges", EXTRACTOR, batch).success
    due = opened.requested()
    assert due == {table: {"panel|bad", "panel|good"} for table in CARRIED if table != "hedge_phrases"}
    assert {key.path[-1] for key in opened.definitions.resolve_job_def("refit").asset_layer.executable_asset_keys} == set(due)
    with monkeypatch.context() as poisoned:
        poisoned.setattr(implicit_assets, "resolve", contradictory(implicit_assets.resolve))
        assert not opened.run("refit", "panel", "bad").success
    assert opened.run("refit", "panel", "good").success
    stored = {batch: partition_path(Home(opened.root).tables, "lunguage_plus_plus", "panel", batch).exists() for batch in ("bad", "good")}
    assert stored == {"bad": False, "good": True}
    assert opened.requested() == {}, "neither the failed one again, nor anything that would follow from it"
    assert opened.run("release", "panel").success
    released = pd.read_parquet(opened.root / "release" / "panel" / "Lunguage_plus_plus.parquet", columns=["report_batch"])
    assert set(released["report_batch"]) == {"first", "good"}


def test_a_new_ranking_makes_batches_stale_until_they_are_refitted(opened: InProcess, tmp_path: Path) -> None:
    opened.take_in(tmp_path, "second", 7)
    assert opened.run("extract_hedges", EXTRACTOR, "second").success
    assert opened.run("refit", "panel", "second").success
    settings = opened.root / "settings.toml"
    settings.write_text(settings.read_text().replace("orders = 3", "orders = 4"))
    told = result_of(opened.run("rank", "panel"), "fits_current")
    assert (told.passed, told.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert told.metadata["stale"].value == 2
    for batch in ("first", "second"):
        (info,) = opened.instance.event_log_storage.get_asset_check_partition_info([RANKING_CURRENT], partition_keys=[f"panel|{batch}"])
        assert (info.latest_execution_status.value, info.is_current) == ("FAILED", True)
    assert opened.requested() == {}, "fitting again may cost money: a person decides"
    refitted = opened.run("refit", "panel", "second")
    assert refitted.success
    assert result_of(refitted, "ranking_current").passed
    refused = opened.run("release", "panel")
    assert not refused.success, "it would mix two rankings"
    assert result_of(refused, "fits_current").metadata["stale"].value == 1
    assert opened.run("refit", "panel", "first").success
    released = opened.run("release", "panel")
    assert released.success
    assert result_of(released, "fits_current").passed


def test_the_daemon_carries_a_new_batch_to_its_result_once(
    lunguage: Lunguage, finished_home: Path, five_reports: Path, tmp_path: Path
) -> None:
    home = copied(finished_home, tmp_path, "\n[automation]\nenabled = true\ninterval_s = 2\n")
    registered = lunguage(home, "register", "--data", five_reports, "--batch", "second")
    assert registered.returncode == 0, registered.stderr
    served = ServedHome(home)
    served.start(webserver=False)
    try:
        with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
            before = instance.event_log_storage.get_maximum_record_id() or 0
            here = InProcess(home, instance)
            assert here.run("ingest", "second").success
            wait_for(lambda: _is_finished(instance), 300, f"the batch was not carried on\n{served.logs()}", every=1)
            made = {table: _made_since(instance, table, before) for table in CARRIED}
            assert made.pop("hedge_phrases") == [f"{EXTRACTOR}|second"]
            assert made == {table: ["panel|second"] for table in made}, "once each, and for the ranker in use alone"
            assert here.requested() == {}
            automatic = instance.get_runs(dg.RunsFilter(tags={"lunguage/launched_by": "carry_batches_on"}))
            assert len(automatic) == 2, "one for the extractor, one for the ranker"
    finally:
        served.stop()


def _is_finished(instance: dg.DagsterInstance) -> bool:
    """Whether the batch has a result and no run is left to wait for; a run that failed ends the test at once."""
    failed = instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))
    assert not failed, [run.run_id for run in failed]
    key = dg.MultiPartitionKey({"ranker": "panel", "report_batch": "second"})
    chosen = dg.AssetRecordsFilter(asset_key=dg.AssetKey("lunguage_plus_plus"), asset_partitions=[key])
    if not instance.fetch_materializations(chosen, limit=1).records:
        return False
    unfinished = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    return not instance.get_runs(dg.RunsFilter(statuses=unfinished))


def _made_since(instance: dg.DagsterInstance, table: str, before: int) -> list[str | None]:
    chosen = dg.AssetRecordsFilter(asset_key=dg.AssetKey(table), after_storage_id=before)
    return [record.partition_key for record in instance.fetch_materializations(chosen, limit=100).records]
