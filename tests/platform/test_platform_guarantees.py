"""Write, audit, publish: what is wrong is not stored, is reported by key, and is not read further."""

from __future__ import annotations

import shutil
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from platform_support import contents
from small_homes import store_unchecked

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path, read_table, write_table
from lunguage_assets.implicit.resolution.resolve import Resolution
from lunguage_assets.orchestration.assets import implicit
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.tables import ACCOUNTING, LUNGUAGE_PLUS_PLUS

BATCH = dg.MultiPartitionKey({"ranker": "panel", "report_batch": "first"})


@pytest.fixture
def home(finished_home: Path, tmp_path: Path) -> Home:
    shutil.copytree(finished_home, tmp_path / "home")
    return Home(tmp_path / "home")


def execute(
    home: Home, job: str, partition: str | dg.MultiPartitionKey, *, checks_only: bool = False
) -> dg.ExecuteInProcessResult:
    definitions = build_defs(home)
    if checks_only:
        checks = dg.define_asset_job(
            "checks",
            dg.AssetSelection.checks_for_assets("lunguage_plus_plus")
            | dg.AssetSelection.checks_for_assets("accounting"),
        )
        definitions = dg.Definitions.merge(definitions, dg.Definitions(jobs=[checks]))
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, ["first"])
        chosen = definitions.resolve_job_def(job)
        if checks_only:  # a job of checks has no partitions of its own; the UI names the partition by tag
            return chosen.execute_in_process(
                instance=instance, tags={"dagster/partition": str(partition)}, raise_on_error=False
            )
        return chosen.execute_in_process(instance=instance, partition_key=partition, raise_on_error=False)


def twice_the_same(rows: pd.DataFrame) -> pd.DataFrame:
    """A valid table in which one study says one thing twice, once denying it."""
    first, second = rows.index[rows["study_id"] == rows["study_id"].iloc[0]][:2]
    changed = rows.copy()
    for column in ("name", "currency"):
        changed.loc[second, column] = changed.loc[first, column]
    changed.at[second, "location_parts"] = changed.at[first, "location_parts"]
    changed.loc[second, "status"] = "dn" if changed.loc[first, "status"] != "dn" else "dp"
    return changed


def poison(home: Home) -> pd.DataFrame:
    path = partition_path(home.tables, "lunguage_plus_plus", "panel", "first")
    rows = twice_the_same(read_table(LUNGUAGE_PLUS_PLUS, path))
    write_table(LUNGUAGE_PLUS_PLUS, rows, path)
    return rows


def test_a_result_that_breaks_a_guarantee_is_not_stored(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(home.tables)
    honest = implicit.resolve

    def broken(*arguments: object, **options: object) -> Resolution:
        resolution = honest(*arguments, **options)  # type: ignore[arg-type]
        return Resolution(twice_the_same(resolution.rows), resolution.log, resolution.conflicts)

    monkeypatch.setattr(implicit, "resolve", broken)
    result = execute(home, "expand", BATCH)
    assert not result.success
    after = contents(home.tables)
    for table in ("lunguage_plus_plus", "resolution_log", "conflicts", "accounting"):
        assert {k: v for k, v in after.items() if k.startswith(table)} == {
            k: v for k, v in before.items() if k.startswith(table)
        }


def test_accounts_that_do_not_balance_are_not_stored(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = implicit.account
    monkeypatch.setattr(implicit, "account", lambda *arguments: honest(*arguments).assign(balanced=False))
    partition_path(home.tables, "lunguage_plus_plus", "panel", "first").unlink()
    assert not execute(home, "expand", BATCH).success
    assert not partition_path(home.tables, "lunguage_plus_plus", "panel", "first").exists()


def test_the_conflict_free_check_names_the_failing_rows(home: Home) -> None:
    rows = poison(home)
    result = execute(home, "checks", BATCH, checks_only=True)
    (found,) = [e for e in result.get_asset_check_evaluations() if e.check_name == "conflict_free"]
    assert not found.passed
    assert found.blocking
    report = str(found.metadata["report"].value)
    assert rows["study_id"].iloc[0] in report
    assert rows["finding_id"].iloc[0] in report
    assert found.metadata["partition"].value == "panel|first"


def test_the_accounts_check_names_the_study(home: Home) -> None:
    path = partition_path(home.tables, "accounting", "panel", "first")
    accounts = read_table(ACCOUNTING, path)
    accounts.loc[0, "balanced"] = False
    store_unchecked(ACCOUNTING, accounts.drop(index=1), Path(str(path)))
    result = execute(home, "checks", BATCH, checks_only=True)
    failed = {
        e.check_name: e
        for e in result.get_asset_check_evaluations()
        if not e.passed and e.asset_key.path[-1] == "accounting"
    }
    assert set(failed) == {"accounts_balance", "expectations"}
    report = str(failed["accounts_balance"].metadata["report"].value)
    assert accounts["study_id"].iloc[0] in report
    assert accounts["study_id"].iloc[1] in report
    assert accounts["study_id"].iloc[0] in str(failed["expectations"].metadata["report"].value)


def test_the_release_does_not_read_a_poisoned_partition(home: Home) -> None:
    before = contents(home.release)
    poison(home)
    assert not execute(home, "release", "panel").success
    assert contents(home.release) == before


def test_a_ranking_of_another_vocabulary_is_not_used(home: Home) -> None:
    (home.root / "settings.toml").write_text('[explicit]\nruler = "published"\n')
    assert execute(home, "build_vocabulary", "lexicon").success
    for job, partition in (("rank", "panel"), ("fit", BATCH)):
        result = execute(home, job, partition)
        assert not result.success
        failures = [event.step_failure_data for event in result.all_events if event.is_step_failure]
        assert any(
            "another version of the hedge vocabulary"
            in str(f.user_failure_data and f.user_failure_data.description)
            for f in failures
        )


def test_no_check_metadata_carries_report_text(home: Home) -> None:
    sentences = {s for s in poison(home)["sent"] if len(s) > 20}
    result = execute(home, "checks", BATCH, checks_only=True)
    shown = repr([evaluation.metadata for evaluation in result.get_asset_check_evaluations()])
    assert shown
    assert not [sentence for sentence in sentences if sentence in shown]
