"""What automation asks for, acted out: a new batch is carried to its result for the
rankers in use, once; what failed is not tried again before something changes; a new
reference scale refits nothing by itself. And the schedule: when it runs, what it
requests, and whether it starts by itself.

Runs are created as the daemon creates them, and their events are written without
computing anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.events import DagsterEvent, DagsterEventType, StepMaterializationData
from dagster._core.execution.api import create_execution_plan
from dagster._core.storage.tags import PARTITION_NAME_TAG
from finished_homes import Finished
from quick_instance import quick_instance

from lunguage_assets.configuration import Configuration
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.locks import command_at_work
from lunguage_assets.orchestration.automation import nightly_schedule
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.current import DATA_VERSION
from lunguage_assets.settings import AutomationSettings
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home

TAKEN_IN = ("reports", "rejected", "intake_notes", "terms", "findings")
PHRASES = "hedge_phrases"
OF_RANKER = [
    name
    for name, table in TABLES.items()
    if table.partitioned_by == ("ranker", "report_batch")
]
"""Tables that a batch's run for one ranker makes."""

Requested = dict[str, set[str]]


def phrases_of(*batches: str) -> Requested:
    return {PHRASES: {f"lexicon|{batch}" for batch in batches}}


def rest_of(*batches: str) -> Requested:
    """All that a run for the ranker makes."""
    return {table: {f"panel|{batch}" for batch in batches} for table in OF_RANKER}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@cache
def definitions_of(root: Path) -> dg.Definitions:
    """Nothing is computed in them, so tests share them."""
    return build_defs(Configuration(Home(root)))


@cache
def job_of(root: Path, tables: frozenset[str]) -> tuple[dg.JobDefinition, Any]:
    """The job that makes these tables, and its execution plan."""
    keys = {dg.AssetKey(table) for table in tables}
    repository = definitions_of(root).get_repository_def()
    job_of_all = repository.get_implicit_job_def_for_assets(keys)
    assert job_of_all is not None
    job = job_of_all.get_subset(asset_selection=keys)
    return job, create_execution_plan(job)


class Acted:
    """An instance on which batches are delivered, the daemon ticks, and runs succeed or
    break off. One batch `old` of ranker `panel` is finished; `cues` and `lexicon` were
    never ranked.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.instance = quick_instance()
        self._cursor: Any = None

    def tick(self) -> Requested:
        """What one look of the automation requests: table -> partitions."""
        looked_at = (PHRASES, *OF_RANKER, "comparison_matches", "reference_ranking")
        result = dg.evaluate_automation_conditions(
            definitions_of(self.root),
            self.instance,
            asset_selection=dg.AssetSelection.assets(*looked_at),
            cursor=self._cursor,
        )
        self._cursor = result.cursor
        requested = {
            table: set(result.get_requested_partitions(dg.AssetKey(table)))
            for table in looked_at
        }
        return {table: keys for table, keys in requested.items() if keys}

    def start(self, tables: Iterable[str], partition: str) -> dg.DagsterRun:
        """Create a run that sets out to make these tables of a partition."""
        job, plan = job_of(self.root, frozenset(tables))
        run = self.instance.create_run_for_job(
            job,
            plan,
            tags={PARTITION_NAME_TAG: partition},
            asset_selection={dg.AssetKey(table) for table in tables},
        )
        self._says(run, DagsterEventType.RUN_START)
        return run

    def make(self, run: dg.DagsterRun, *tables: str) -> None:
        """Their rows come out otherwise each time."""
        for table in tables:
            materialization = dg.AssetMaterialization(
                table,
                partition=run.tags[PARTITION_NAME_TAG],
                tags={DATA_VERSION: run.run_id},
            )
            made = StepMaterializationData(materialization)
            self._says(run, DagsterEventType.ASSET_MATERIALIZATION, made)

    def do(self, requested: Requested) -> None:
        """Make all that was requested, in a run for each partition."""
        for partition in sorted(set().union(*requested.values())):
            tables = [table for table in requested if partition in requested[table]]
            run = self.start(tables, partition)
            self.make(run, *tables)
            self._says(run, DagsterEventType.RUN_SUCCESS)

    def deliver(self, *batches: str) -> None:
        """Register batches and take them in."""
        self.instance.add_dynamic_partitions("report_batch", list(batches))
        for batch in batches:
            self.there(TAKEN_IN, batch)

    def there(self, tables: Iterable[str], partition: str) -> None:
        """These tables of a partition are made; the run that did is not acted out,
        which costs most.
        """
        for table in tables:
            made = dg.AssetMaterialization(table, partition=partition)
            self.instance.report_runless_asset_event(made)

    def _says(
        self, run: dg.DagsterRun, kind: DagsterEventType, data: Any = None
    ) -> None:
        event = DagsterEvent(kind.value, run.job_name, event_specific_data=data)
        self.instance.report_dagster_event(event, run.run_id)


@pytest.fixture
def acted(root: Path) -> Acted:
    acted = Acted(root)
    acted.deliver("old")
    acted.there([PHRASES], "lexicon|old")
    acted.there(["hedge_vocabulary"], "lexicon")
    for judge in ("lexicon", "cues"):
        acted.there(["comparison_matches"], judge)
    acted.there(["reference_ranking"], "panel")
    acted.there(OF_RANKER, "panel|old")
    return acted


def test_a_new_batch_goes_to_the_end_once_for_rankers_in_use(acted: Acted) -> None:
    acted.deliver("new")
    assert acted.tick() == phrases_of("new")
    run = acted.start([PHRASES], "lexicon|new")
    assert acted.tick() == {}, "its run waits or works"
    acted.make(run, PHRASES)
    assert acted.tick() == rest_of("new")
    run = acted.start(OF_RANKER, "panel|new")
    assert acted.tick() == {}
    acted.make(run, "fitted_probabilities")
    assert acted.tick() == {}, "the run that made the fits goes on to the rest"


def test_without_a_ranking_only_phrases_are_extracted(root: Path) -> None:
    acted = Acted(root)
    acted.deliver("unseen")
    assert acted.tick() == phrases_of("unseen")
    acted.do(phrases_of("unseen"))
    assert acted.tick() == {}


def test_a_batch_taken_in_again_is_not_fitted_with_old_phrases(acted: Acted) -> None:
    assert acted.tick() == {}
    acted.do({table: {"old"} for table in TAKEN_IN})
    assert acted.tick() == phrases_of("old"), "the fits wait for the phrases"
    acted.do(phrases_of("old"))
    assert acted.tick() == rest_of("old")


def test_a_batch_that_failed_or_was_cancelled_waits_until_it_is_taken_in_again(
    acted: Acted,
) -> None:
    acted.deliver("failed", "cancelled", "good")
    acted.do(phrases_of("failed", "cancelled", "good"))
    assert acted.tick() == rest_of("failed", "cancelled", "good")
    failed = acted.start(OF_RANKER, "panel|failed")
    acted.make(failed, "fitted_probabilities", "deduplicated_findings", "expansions")
    acted.instance.report_run_failed(failed)
    cancelled = acted.start(OF_RANKER, "panel|cancelled")
    acted.instance.report_run_canceling(cancelled)
    acted.instance.report_run_canceled(cancelled)
    acted.do(rest_of("good"))
    assert acted.tick() == {}, "no second try"
    acted.do({table: {"failed", "cancelled"} for table in TAKEN_IN})
    assert acted.tick() == phrases_of("failed", "cancelled")


def test_nothing_is_requested_while_a_command_is_at_work(acted: Acted) -> None:
    with command_at_work(acted.root):
        acted.deliver("new")
        assert acted.tick() == {}
    assert acted.tick() == phrases_of("new")


def test_a_new_ranking_refits_no_old_batch(acted: Acted) -> None:
    assert acted.tick() == {}
    acted.do({"reference_ranking": {"panel"}})
    assert acted.tick() == {}
    acted.deliver("new")
    assert acted.tick() == phrases_of("new"), "not the old batch"
    acted.do(phrases_of("new"))
    assert acted.tick() == rest_of("new")


ENABLED = "[automation]\nenabled = true\nnightly = '30 2 * * *'\ntime_zone = 'Europe/Berlin'\n"


@pytest.mark.parametrize(("settings", "runs"), [("", "STOPPED"), (ENABLED, "RUNNING")])
def test_nothing_starts_by_itself_before_somebody_says_so(
    settings: str, runs: str, tmp_path: Path
) -> None:
    (tmp_path / "settings.toml").write_text(settings)
    repository = build_defs(Configuration(Home(tmp_path))).get_repository_def()
    assert repository.get_sensor_def("carry_batches_on").default_status.value == runs
    assert repository.get_schedule_def("nightly_release").default_status.value == runs


def test_the_nightly_release_is_of_every_ranker_with_a_batch(
    finished: Finished,
) -> None:
    schedule = nightly_schedule(("panel", "cues", "lexicon"), AutomationSettings())
    (request,) = schedule(configuration=Configuration(Home(finished.home)))
    assert request.partition_key == "panel"


@pytest.mark.parametrize(
    "wrong",
    ["time_zone = 'Europe/Nowhere'", "nightly = 'every night'", "interval_s = 0"],
)
def test_a_setting_that_cannot_be_is_named_with_what_was_found(
    wrong: str, tmp_path: Path
) -> None:
    (tmp_path / "settings.toml").write_text(f"[automation]\n{wrong}\n")
    with pytest.raises(ConfigurationError, match=r"automation\." + wrong.split()[0]):
        build_defs(Configuration(Home(tmp_path)))
