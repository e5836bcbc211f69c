"""Checks of tables that are made together run in one step, alone in `quality_of_...`, and at night."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from finished_homes import Finished
from small_homes import SmallHome, store_unchecked

from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.data_files import expectation
from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.orchestration.assets import explicit
from lunguage_assets.orchestration.checks.groups import CHECKS, NEWEST, QUALITY, looks_due
from lunguage_assets.orchestration.checks.look import RULES_TAG
from lunguage_assets.orchestration.jobs import tables_of_job
from lunguage_assets.tables import ACCOUNTING, TABLES

PANEL_SECOND = {"ranker": "panel", "report_batch": "second"}


@pytest.fixture(scope="module")
def ranked(finished: Finished) -> Path:
    """The finished home; tests of this module look at its batch `second`."""
    return finished.home


@pytest.fixture
def small(ranked: Path, tmp_path: Path) -> Iterator[SmallHome]:
    """A copy of it, of whose tables Dagster does not know."""
    shutil.copytree(ranked, tmp_path / "home")
    with SmallHome.opened(tmp_path / "home") as opened:
        yield opened


@pytest.fixture(scope="module")
def looked_at(ranked: Path) -> dg.ExecuteInProcessResult:
    """A look at the honest batch, with all rules."""
    with SmallHome.opened(ranked) as small:
        return quality(small, "quality_of_batch", report_batch="second")


@pytest.fixture(scope="module")
def broken(ranked: Path, tmp_path_factory: pytest.TempPathFactory) -> dg.ExecuteInProcessResult:
    """A look, with all rules, at a result one of whose accounts does not balance."""
    root = tmp_path_factory.mktemp("broken") / "home"
    shutil.copytree(ranked, root)
    with SmallHome.opened(root) as small:
        path = Path(str(partition_path(small.home.tables, "accounting", "panel", "second")))
        accounts = read_table(ACCOUNTING, path)
        store_unchecked(ACCOUNTING, accounts.assign(balanced=accounts.index != 0), path)
        return quality(small, "quality_of_result", **PANEL_SECOND)


def quality(small: SmallHome, job: str, **keys: str) -> dg.ExecuteInProcessResult:
    key = dg.MultiPartitionKey(keys) if len(keys) > 1 else next(iter(keys.values()))
    return small.definitions.resolve_job_def(job).execute_in_process(
        instance=small.instance, partition_key=key, raise_on_error=False
    )


def names(result: dg.ExecuteInProcessResult) -> set[tuple[str, str]]:
    return {(e.asset_key.path[-1], e.check_name) for e in result.get_asset_check_evaluations()}


def steps(result: dg.ExecuteInProcessResult) -> set[str]:
    return {str(event.step_key) for event in result.all_events if event.is_step_success}


def expected(*tables: str) -> set[tuple[str, str]]:
    return {(check.table, check.name) for check in CHECKS if check.table in tables}


def test_checks_of_tables_that_are_made_together_run_in_one_step_without_great_expectations(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "great_expectations", None)  # importing it raises
    for job, partition in (("ingest", "second"), ("fit", PANEL_SECOND), ("expand", PANEL_SECOND)):
        result = small.make(tables_of_job(job), partition, checks=True)
        assert names(result) == expected(*tables_of_job(job))
        assert [step for step in steps(result) if step.startswith("check_")] == [f"check_{job}"]
        assert all(evaluation.passed for evaluation in result.get_asset_check_evaluations())


def test_a_single_check_can_be_looked_at_alone(small: SmallHome) -> None:
    found = small.check("fitted_probabilities", "pairs_informed", "panel|first")
    assert (found.check_name, found.partition) == ("pairs_informed", "panel|first")


def test_every_check_is_in_exactly_one_quality_job_of_its_partitions(small: SmallHome) -> None:
    graph = small.definitions.resolve_asset_graph()
    found: list[dg.AssetCheckKey] = []
    for job in QUALITY:
        whole = small.definitions.resolve_job_def(job)
        keys = whole.asset_layer.asset_graph.asset_check_keys & {check.key for check in CHECKS}
        assert {graph.get(key).partitions_def for key in keys} == {whole.partitions_def}, job
        found += keys
    assert sorted(map(str, found)) == sorted(str(check.key) for check in CHECKS)


def test_a_quality_job_looks_alone_at_what_is_stored_with_all_rules_and_makes_nothing(
    looked_at: dg.ExecuteInProcessResult,
) -> None:
    assert looked_at.success
    unmade = (*tables_of_job("read_reports"), *tables_of_job("analyse_structuring"))
    assert names(looked_at) == expected(*unmade, *tables_of_job("ingest"))
    assert looked_at.get_asset_materialization_events() == []
    for evaluation in looked_at.get_asset_check_evaluations():
        table = evaluation.asset_key.path[-1]
        if table in unmade:  # of a batch of findings, and on request
            assert "note" in evaluation.metadata
        elif evaluation.check_name == "expectations":
            suite = json.loads(expectation(f"{table}.json").read_text())
            run = evaluation.metadata["rules_run_by_great_expectations"].value
            assert run == len(suite["expectations"]), evaluation.asset_key


def test_a_broken_guarantee_fails_the_run_and_the_other_checks_are_reported_all_the_same(
    broken: dg.ExecuteInProcessResult, ranked: Path
) -> None:
    accounts = read_table(ACCOUNTING, partition_path(ranked / "tables", "accounting", "panel", "second"))
    assert not broken.success
    assert names(broken) == expected(*tables_of_job("fit"), *tables_of_job("expand"))
    failed = {e.check_name: e for e in broken.get_asset_check_evaluations() if not e.passed}
    assert set(failed) == {"accounts_balance", "expectations"}
    assert failed["accounts_balance"].blocking
    assert accounts["study_id"].iloc[0] in str(failed["expectations"].metadata["report"].value)


Evaluations = dict[tuple[str, str | None], dg.AssetCheckEvaluation]


def checked_without_a_partition(small: SmallHome, table: str) -> Evaluations:
    """As *Execute all* on the page of an asset does; by name and partition."""
    whole = small.definitions.get_repository_def().get_implicit_global_asset_job_def()
    keys = {check.key for check in CHECKS if check.table == table}
    result = whole.get_subset(asset_selection=set(), asset_check_selection=keys).execute_in_process(
        instance=small.instance, raise_on_error=False
    )
    assert result.success
    return {(one.check_name, one.partition): one for one in result.get_asset_check_evaluations()}


def test_checks_without_a_partition_look_at_all_that_is_stored(small: SmallHome) -> None:
    small.make(RECIPES["resolution"].tables, PANEL_SECOND)  # Dagster knows of a materialisation
    found = checked_without_a_partition(small, "lunguage_plus_plus")
    names = ("expectations", "conflict_free", "p_in_range")
    assert set(found) == {
        (name, partition) for name in names for partition in (None, "panel|first", "panel|second")
    }
    assert all(evaluation.passed for evaluation in found.values())
    assert found["p_in_range", None].metadata["partitions"].value == 2
    assert found["conflict_free", "panel|first"].metadata["violations"].value == 0


def test_a_look_at_all_that_is_stored_names_the_partitions_that_fail(small: SmallHome) -> None:
    good = Path(str(partition_path(small.home.tables, "accounting", "panel", "second")))
    accounts = read_table(ACCOUNTING, good)
    store_unchecked(ACCOUNTING, accounts.assign(balanced=False), good.with_name("broken.parquet"))
    found = checked_without_a_partition(small, "accounting")
    of_partitions = [partition for name, partition in found if name == "accounts_balance"]
    assert of_partitions == ["panel|first", "panel|second", "panel|broken", None], "what fails is last"
    assert found["accounts_balance", "panel|first"].passed
    whole = found["accounts_balance", None]
    assert not whole.passed
    assert whole.metadata["partitions"].value == 3
    assert whole.metadata["failing"].value == "panel|broken"
    assert "`quality_of_result`" in str(whole.metadata["remedy"].value)


def test_checks_of_a_table_of_which_nothing_is_stored_say_what_to_launch(small: SmallHome) -> None:
    for found in checked_without_a_partition(small, "structuring_agreement").values():
        assert not found.passed
        assert found.severity is dg.AssetCheckSeverity.WARN
        assert "launch the job `analyse_structuring`" in str(found.metadata["remedy"].value)


def due(small: SmallHome, job: str) -> list[dg.RunRequest]:
    return list(looks_due(small.instance, job, [c.key for c in CHECKS if c.table in made_by(job)]))


def made_by(job: str) -> tuple[str, ...]:
    return {"quality_of_batch": tables_of_job("ingest"), "quality_of_ranker": ("reference_ranking",)}[job]


def test_at_night_what_was_made_since_the_last_look_is_looked_at_once(small: SmallHome) -> None:
    assert due(small, "quality_of_batch") == []
    small.make(tables_of_job("ingest"), "second")
    (request,) = due(small, "quality_of_batch")
    assert request.partition_key == "second"
    assert {check.asset_key.path[-1] for check in request.asset_check_keys or ()} == set(
        tables_of_job("ingest")
    )
    job = small.definitions.resolve_job_def("quality_of_batch")
    looked = job.get_subset(
        asset_selection=set(), asset_check_selection=set(request.asset_check_keys or ())
    ).execute_in_process(
        instance=small.instance,
        tags={**request.tags, **RULES_TAG, "dagster/partition": "second"},
        raise_on_error=False,
    )
    assert looked.success
    assert request.tags[NEWEST] == small.instance.get_runs()[0].tags[NEWEST]
    assert due(small, "quality_of_batch") == []
    small.make(tables_of_job("ingest"), "second")
    assert len(due(small, "quality_of_batch")) == 1


def test_the_nightly_looks_run_by_themselves_only_where_automation_does(tmp_path: Path) -> None:
    for enabled, status in (("false", "STOPPED"), ("true", "RUNNING")):
        (tmp_path / "settings.toml").write_text(f"[automation]\nenabled = {enabled}\n")
        with SmallHome.opened(tmp_path) as small:
            schedules = small.definitions.get_repository_def().schedule_defs
            nightly = [found for found in schedules if found.name.startswith("nightly_quality")]
            assert {found.job_name for found in nightly} == set(QUALITY)
            assert {found.default_status.value for found in nightly} == {status}
    with (
        dg.DagsterInstance.local_temp(str(tmp_path)) as instance,
        dg.build_schedule_context(instance) as context,
    ):
        assert nightly[0].evaluate_tick(context).run_requests == [], "nothing was made"


def test_a_ranking_that_its_matches_do_not_give_fails_the_comparison_with_the_package(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ranked() -> dg.AssetCheckEvaluation:
        (found,) = small.make(["reference_ranking"], "panel").get_asset_check_evaluations()
        assert found.check_name == "equals_trueskill_package"
        return found

    assert ranked().passed
    honest = explicit.rank_phrases
    monkeypatch.setattr(
        explicit, "rank_phrases", lambda *given: (frame := honest(*given)).assign(mu=frame["mu"] + 1e-6)
    )
    failing = ranked()
    assert not failing.passed
    assert failing.severity is dg.AssetCheckSeverity.ERROR
    assert "remedy" in failing.metadata


def test_no_check_metadata_carries_report_text(
    looked_at: dg.ExecuteInProcessResult, broken: dg.ExecuteInProcessResult, ranked: Path
) -> None:
    findings = read_table(TABLES["findings"], partition_path(ranked / "tables", "findings", "second"))
    sentences = {sentence for sentence in findings["sent"] if len(sentence) > 20}
    assert sentences
    shown = "".join(
        repr([evaluation.metadata for evaluation in result.get_asset_check_evaluations()])
        for result in (looked_at, broken)
    )
    assert shown
    assert not [sentence for sentence in sentences if sentence in shown]
