"""Everything of one judge: planned, made here or queued, with the others left as they are; and the job that
does everything.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from dagster._daemon.types import DaemonHeartbeat
from dagster._time import get_current_timestamp
from hypothesis import given
from hypothesis import strategies as st
from lunguage_assets.orchestration.latest import made
from lunguage_assets.orchestration.runs.stages import Stage, on_batch
from platform_support import contents

from lunguage_assets.cli.main import commands
from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import PARTITIONED_BY
from lunguage_assets.judges.configuration import JudgesConfiguration, load_judges
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.checks.membership import PANEL_COMPLETE
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.orchestration.runs.backfill import NoDaemon, plan_backfill, queue_backfill
from lunguage_assets.orchestration.runs.everything import OP, PARENT_TAG

pytestmark = pytest.mark.lengthy

NEW = '\n[judges.new]\nprovider = "cues"\ndescription = "A judge that somebody has just added."\n'


def judges_with_a_candidate(file: Path) -> Path:
    """A copy of the judges file with judge `new` beside the panel."""
    preset = '[presets.offline]\npanel = "offline"\n'
    text = resource("judges.toml").read_text()
    assert preset in text
    file.write_text(text.replace(preset, preset + 'candidates = ["new"]\n') + NEW)
    return file


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> JudgesConfiguration:
    return load_judges(judges_with_a_candidate(tmp_path_factory.mktemp("judges") / "judges.toml"))


@dataclass
class Facts:
    """A home as the plan sees it: what is there, and what of it is not as it would be made now."""

    batches: list[str] = field(default_factory=lambda: ["a", "b"])
    taken_in: set[str] = field(default_factory=set)
    phrases: set[tuple[str, str]] = field(default_factory=set)
    fitted: set[tuple[str, str]] = field(default_factory=set)
    with_fits: set[tuple[str, str]] = field(default_factory=set)
    stored: set[tuple[str, ...]] = field(default_factory=set)
    stale: set[tuple[str, ...]] = field(default_factory=set)
    released: set[str] = field(default_factory=set)

    def is_taken_in(self, batch: str) -> bool:
        return batch in self.taken_in

    def has_phrases(self, judge: str, batch: str) -> bool:
        return (judge, batch) in self.phrases

    def is_fitted(self, ranker: str, batch: str) -> bool:
        return (ranker, batch) in self.fitted

    def outdated(self, ranker: str, batch: str) -> list[str]:
        return [] if self.is_fitted(ranker, batch) else ["pathways"]

    def first_step(self, ranker: str, batch: str) -> str | None:
        if self.is_fitted(ranker, batch):
            return None
        if not self.is_taken_in(batch) or not self.has_phrases("lexicon", batch):
            return "extract_hedges" if self.is_taken_in(batch) else "ingest"
        return "expand" if (ranker, batch) in self.with_fits else "fit"

    def is_stored(self, table: str, *keys: str) -> bool:
        return (table, *keys) in self.stored

    def is_current(self, table: str, key: str, members: Any, vocabulary: str | None = None) -> bool:
        return (table, key) in self.stored - self.stale

    def is_released(self, ranker: str) -> bool:
        return ranker in self.released

    def noted(self, table: str, *keys: str) -> dict[str, str]:
        return {"vocabulary_version": "v"} if (table, *keys) in self.stored else {}


STICK = ("hedge_vocabulary", "comparison_matches", "reference_ranking")
PAIRS = [(judge, batch) for judge in ("lexicon", "new") for batch in ("a", "b")]


def finished(judge: str = "new") -> Facts:
    """Everything of a judge is there and current."""
    return Facts(
        taken_in={"a", "b"},
        phrases=set(PAIRS),
        fitted={(judge, "a"), (judge, "b")},
        stored={(table, key) for table in STICK for key in ("lexicon", judge)},
        released={judge},
    )


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    parts = {name: draw(st.sets(st.sampled_from(PAIRS))) for name in ("phrases", "fitted", "with_fits")}
    stored = draw(st.sets(st.sampled_from([(table, key) for table in STICK for key in ("lexicon", "new")])))
    stale = draw(st.sets(st.sampled_from([(table, "new") for table in STICK])))
    chosen = draw(st.sets(st.sampled_from(["a", "b"])))
    return Facts(
        taken_in=chosen, stored=stored, stale=stale, released=draw(st.sets(st.sampled_from(["new"]))), **parts
    )


def needed_by(stage: Stage) -> list[tuple[str, ...]]:
    """What a stage of judge `new` reads, as the stage that makes it."""
    batch = stage.partition["report_batch"] if isinstance(stage.partition, dict) else ""
    lexicon, vocabulary = ("extract_hedges", "lexicon", batch), ("build_vocabulary", "lexicon")
    return {
        "ingest": [],
        "extract_hedges": [("ingest", batch)],
        "build_vocabulary": [],
        "compare": [vocabulary],
        "rank": [("compare", "new"), vocabulary],
        "fit": [("rank", "new"), ("ingest", batch), lexicon, vocabulary],
        "expand": [("fit", "new", batch)],
        "release": [("rank", "new")],
    }[stage.job]


def named(stage: Stage) -> tuple[str, ...]:
    return (
        stage.job,
        *(stage.partition.values() if isinstance(stage.partition, dict) else [stage.partition]),
    )


@given(
    facts=facts(), chosen=st.sets(st.sampled_from(["a", "b"])), rebuild=st.booleans(), phrases=st.booleans()
)
def test_every_run_of_a_plan_finds_what_it_reads_and_touches_no_other_judge(
    facts: Facts, chosen: set[str], rebuild: bool, phrases: bool, judges: JudgesConfiguration
) -> None:
    plan = plan_backfill(facts, judges, "new", sorted(chosen), rebuild=rebuild, phrases=phrases)  # type: ignore[arg-type]
    there = {("ingest", batch) for batch in facts.taken_in} | {
        ("extract_hedges", *pair) for pair in facts.phrases
    }
    jobs = dict(zip(STICK, ("build_vocabulary", "compare", "rank"), strict=True))
    there |= {(jobs[table], key) for table, key in facts.stored - facts.stale} | {
        ("fit", *pair) for pair in facts.with_fits
    }
    for stage in plan:
        assert set(needed_by(stage)) <= there, stage
        there.add(named(stage))
    assert len(set(map(named, plan))) == len(plan)
    shared = [
        ("build_vocabulary", "lexicon"),
        *(("extract_hedges", "lexicon", batch) for batch in "ab"),
        ("ingest", "a"),
        ("ingest", "b"),
    ]
    missing = [
        one
        for one in shared
        if one
        not in {("ingest", b) for b in facts.taken_in} | {("extract_hedges", *p) for p in facts.phrases}
    ]
    missing = [
        one
        for one in missing
        if one[0] != "build_vocabulary" or ("hedge_vocabulary", "lexicon") not in facts.stored
    ]
    assert all("new" in named(stage) or named(stage) in missing for stage in plan)
    if rebuild or not facts.stored >= {("hedge_vocabulary", "lexicon")}:
        assert {("compare", "new"), ("rank", "new"), ("release", "new")} <= set(map(named, plan))


def test_nothing_is_planned_for_what_is_current_and_only_what_follows_for_what_is_not(
    judges: JudgesConfiguration,
) -> None:
    def planned(facts: Facts, **options: Any) -> list[tuple[str, ...]]:
        return list(map(named, plan_backfill(facts, judges, "new", **options)))  # type: ignore[arg-type]

    assert planned(finished()) == []
    unfitted = finished()
    unfitted.fitted.remove(("new", "b"))
    assert planned(unfitted) == [("fit", "new", "b"), ("expand", "new", "b"), ("release", "new")]
    assert planned(unfitted, batches=["a"]) == []
    unfitted.with_fits.add(("new", "b"))
    assert planned(unfitted) == [("expand", "new", "b"), ("release", "new")], (
        "after other pathways nothing is fitted again"
    )
    late = finished()
    late.released.clear()
    assert planned(late) == [("release", "new")]
    again = planned(finished(), rebuild=True, batches=["b"], phrases=False)
    assert again == [
        ("compare", "new"),
        ("rank", "new"),
        ("fit", "new", "b"),
        ("expand", "new", "b"),
        ("release", "new"),
    ]


def test_an_unknown_judge_or_batch_and_another_measuring_stick_are_refused_with_the_remedy(
    judges: JudgesConfiguration,
) -> None:
    with pytest.raises(ConfigurationError, match=r"candidates = \[...\] of \[presets.offline\]"):
        plan_backfill(finished(), judges, "gpt-4o")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"Add \[judges.nobody\] to a copy"):
        plan_backfill(finished(), judges, "nobody")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="batch 'c' is not registered; registered: a, b"):
        plan_backfill(finished(), judges, "new", ["c"])  # type: ignore[arg-type]
    changed = finished()
    changed.stale.add(("hedge_vocabulary", "lexicon"))
    with pytest.raises(MethodError, match="--rebuild-ranking"):
        plan_backfill(changed, judges, "new")  # type: ignore[arg-type]


@dataclass
class Backfilled:
    """A home before and after `lunguage backfill --judge new`, and what the command said, twice."""

    home: Path
    before: dict[str, bytes]
    before_moments: dict[str, dict[str, int]]
    said: list[str]


def moments(instance: dg.DagsterInstance) -> dict[str, dict[str, int]]:
    """Table and release -> partition -> storage id of its latest materialization."""
    return {table: made(instance, table) for table in (*PARTITIONED_BY, "release")}


def run_command(*arguments: str) -> None:
    commands.main(list(arguments), prog_name="lunguage", standalone_mode=False)


@pytest.fixture(scope="module")
def backfilled(finished_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backfilled]:
    folder = tmp_path_factory.mktemp("backfilled")
    home = folder / "home"
    shutil.copytree(finished_home, home)
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        before = moments(instance)
    kept, untouched = dict(os.environ), contents(home)
    os.environ |= {"LUNGUAGE_JUDGES": str(judges_with_a_candidate(folder / "judges.toml")), "COLUMNS": "200"}
    os.environ.pop("DAGSTER_HOME", None)
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("click.echo", lambda text="", **_: said.append(str(text)))
        run_command("backfill", "--home", str(home), "--judge", "new")
        first = "\n".join(said)
        said.clear()
        run_command("backfill", "--home", str(home), "--judge", "new")
    yield Backfilled(home, untouched, before, [first, "\n".join(said)])
    os.environ.clear()
    os.environ.update(kept)


def test_a_backfill_makes_all_partitions_of_the_new_judge(backfilled: Backfilled) -> None:
    tables = backfilled.home / "tables"
    for table, dimensions in PARTITIONED_BY.items():
        if "judge" in dimensions or ("ranker" in dimensions and (tables / table / "panel").exists()):
            assert (
                tables.joinpath(table, "new", "first.parquet").exists()
                or tables.joinpath(table, "new.parquet").exists()
            ), table
    ranking = pd.read_parquet(tables / "reference_ranking" / "new.parquet")
    assert len(ranking) == len(pd.read_parquet(tables / "reference_ranking" / "panel.parquet"))
    assert (backfilled.home / "release" / "new" / "v1" / "restricted" / "Lunguage_plus_plus.csv").exists()
    assert "'new' ranks alone; the panel is unchanged" in backfilled.said[0]


def test_a_backfill_changes_no_byte_and_no_record_of_the_others(backfilled: Backfilled) -> None:
    after = contents(backfilled.home)
    theirs = [
        name for name in backfilled.before if name.split("/")[0] in ("tables", "release", "batches", "review")
    ]
    assert len(theirs) > 40
    assert {name: after[name] for name in theirs} == {name: backfilled.before[name] for name in theirs}
    with dg.DagsterInstance.from_config(str(backfilled.home / "dagster")) as instance:
        now = moments(instance)
    for table, partitions in backfilled.before_moments.items():
        assert {key: now[table][key] for key in partitions} == partitions, table
        assert all(key.split("|")[0] == "new" for key in now[table].keys() - partitions.keys()), table


def test_a_second_backfill_finds_everything_current(backfilled: Backfilled) -> None:
    assert backfilled.said[1] == "everything of 'new' is current; nothing was done"


def test_the_panels_ranking_notes_that_a_new_member_is_available(backfilled: Backfilled) -> None:
    with dg.DagsterInstance.from_config(str(backfilled.home / "dagster")) as instance:
        records = instance.event_log_storage.get_asset_check_execution_history(PANEL_COMPLETE, limit=10)
    said = [record.event.dagster_event.event_specific_data for record in records if record.event is not None]
    evaluation = next(one for one in said if one.partition == "panel")
    assert (evaluation.partition, evaluation.passed, evaluation.severity) == (
        "panel",
        False,
        dg.AssetCheckSeverity.WARN,
    )
    assert evaluation.metadata["new_members_available"].value == "new"
    assert "[panels...]" in evaluation.metadata["remedy"].value


def test_queued_work_needs_a_daemon_and_becomes_one_backfill_of_the_planned_partitions(
    five_reports: Path, tmp_path: Path, judges
) -> None:
    home = Home(tmp_path / "home")
    for key in ("a", "b"):
        home.register(five_reports, key)
    definitions = build_defs(home, judges)
    plan = [
        Stage("compare", "new"),
        on_batch("fit", "ranker", "new", "a"),
        on_batch("fit", "ranker", "new", "b"),
        Stage("release", "new"),
    ]
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, ["a", "b"])
        with pytest.raises(NoDaemon, match=r"lunguage ui.*--queue"):
            queue_backfill(definitions, instance, plan, "x")
        for daemon in ("BACKFILL", "QUEUED_RUN_COORDINATOR"):
            instance.add_daemon_heartbeat(DaemonHeartbeat(get_current_timestamp(), daemon, None, None))
        queued = instance.get_backfill(queue_backfill(definitions, instance, plan, "All of judge new"))
        assert queued is not None
        target = queued.get_asset_backfill_data(definitions.resolve_asset_graph()).target_subset
        wanted = {
            (pair.asset_key.path[-1], str(pair.partition_key)) for pair in target.iterate_asset_partitions()
        }
    fits = itertools.product(("fitted_probabilities", "fit_log"), ("new|a", "new|b"))
    assert wanted == {
        ("comparison_matches", "new"),
        ("release", "new"),
        *((table, key) for table, key in fits),
    }


def test_the_job_everything_does_what_is_left_as_runs_of_its_own(
    five_reports: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.delenv("LUNGUAGE_JUDGES", raising=False)
    home = Home(tmp_path / "home")
    home.register(five_reports, "one")
    job = build_defs(home).resolve_job_def("everything")
    with dg.DagsterInstance.ephemeral() as instance:
        unknown = job.execute_in_process(
            {"ops": {OP: {"config": {"ranker": "oracle"}}}}, instance=instance, raise_on_error=False
        )
        assert "ranker 'oracle' is not known" in str(
            unknown.get_step_failure_events()[0].step_failure_data.user_failure_data.description
        )
        done = job.execute_in_process(instance=instance)
        inner = instance.get_runs(dg.RunsFilter(tags={PARENT_TAG: done.run_id}))
        assert [run.job_name for run in inner][::-1][:2] == ["ingest", "extract_hedges"]
        assert {run.job_name for run in inner} >= {"ingest", "rank", "fit", "expand", "release"}
        assert all(run.is_success for run in inner)
        assert (home.release / "panel" / "v1" / "restricted" / "Lunguage_plus_plus.csv").exists()
        before, moved = contents(home.root / "tables"), moments(instance)
        again = job.execute_in_process(instance=instance)
        assert [
            run.job_name for run in instance.get_runs(dg.RunsFilter(tags={PARENT_TAG: again.run_id}))
        ] == ["release"]
        assert contents(home.root / "tables") == before
        assert {table: kept for table, kept in moments(instance).items() if table != "release"} == {
            table: kept for table, kept in moved.items() if table != "release"
        }


def test_two_hundred_registered_batches_are_planned_in_no_more_queries_than_two(
    five_reports: Path, tmp_path: Path, judges
) -> None:
    from lunguage_assets.orchestration.inventory import Inventory
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    def queries(home: Home, instance: dg.DagsterInstance) -> int:
        seen: list[int] = []
        there = Inventory(home, instance, judges)
        event.listen(Engine, "before_cursor_execute", note := lambda *_: seen.append(1))
        try:
            pending = [key for key in there.batches if not there.is_fitted("panel", key)]
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        assert len(pending) == len(home.registered())
        return len(seen)

    home = Home(tmp_path / "home")
    with dg.DagsterInstance.ephemeral() as instance:
        found = []
        for number in range(200):
            home.register(five_reports, f"b{number:03}")
            for table in ("lunguage_plus_plus", "deduplicated_findings", "fitted_probabilities"):
                key = dg.MultiPartitionKey({"ranker": "panel", "report_batch": f"b{number:03}"})
                instance.report_runless_asset_event(
                    dg.AssetMaterialization(table, partition=key, metadata={"ranking_version": "old"})
                )
            if number in (1, 199):
                found.append(queries(home, instance))
        plan = plan_backfill(Inventory(home, instance, judges), judges, "new")
    assert found[1] <= found[0]
    assert [named(stage)[0] for stage in plan].count("fit") == 200
    assert named(plan[0]) == ("ingest", "b000")
