"""Everything of one judge, made here or queued, with the others left as they are; and the job that does
everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from dagster._daemon.types import DaemonHeartbeat
from dagster._time import get_current_timestamp
from finished_homes import Finished
from platform_support import contents
from small_homes import SmallHome, line

from lunguage_assets.current.plan import Stage, Wanted
from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.data_files import resource
from lunguage_assets.home.store import PARTITIONED_BY
from lunguage_assets.orchestration.partitions import REPORT_BATCH, build_partitions
from lunguage_assets.orchestration.runs.backfill import NoDaemon, plan_backfill, queue
from lunguage_assets.orchestration.runs.everything import hand_over_everything

NEW = '\n[judges.new]\nprovider = "cues"\ndescription = "A judge that somebody has just added."\n'


def judges_with_a_candidate(file: Path) -> str:
    """A copy of the judges file with judge `new` beside the panel."""
    preset = '[presets.offline]\npanel = "offline"\n'
    text = resource("judges.toml").read_text()
    assert preset in text
    file.write_text(text.replace(preset, preset + 'candidates = ["new"]\n') + NEW)
    return str(file)


def test_a_backfill_makes_all_of_a_new_judge_and_changes_no_byte_of_the_others(
    small: SmallHome, tmp_path: Path
) -> None:
    before = contents(small.home.root)
    wanted = Wanted("new", ["second"], own_phrases=True)
    with SmallHome.opened(small.home.root, judges_file=judges_with_a_candidate(tmp_path / "j.toml")) as ours:
        stages = plan_backfill(ours.standings(), wanted)
        made = ours.executed(lambda: ours.runner().run(wanted, stages=stages))
        assert made == list(map(line, stages))
        assert made[-1] == "release (new)"
        assert plan_backfill(ours.standings(), wanted) == [], "everything is current"
    after = contents(small.home.root)
    theirs = [name for name in before if name.split("/")[0] in ("tables", "release", "batches", "review")]
    assert {name: after[name] for name in theirs} == {name: before[name] for name in theirs}
    tables = small.home.root / "tables"
    analyses = {
        table for step in RECIPES if RECIPES[step].dimensions == ("ranker",) for table in RECIPES[step].tables
    }
    for table in PARTITIONED_BY.keys() - analyses | {"reference_ranking"}:
        if PARTITIONED_BY[table][0] in ("judge", "ranker"):
            assert list((tables / table).glob("new*")), table
    ranking = pd.read_parquet(tables / "reference_ranking" / "new.parquet")
    assert len(ranking) == len(pd.read_parquet(tables / "reference_ranking" / "panel.parquet"))


@pytest.fixture
def served(small: SmallHome) -> Iterator[SmallHome]:
    """The home with an instance that keeps signs of life, as one in memory does not."""
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions(REPORT_BATCH.name, small.standings().batches)
        yield SmallHome(small.resource, instance)


def beating(instance: dg.DagsterInstance) -> None:
    """Signs of life of a daemon."""
    for daemon in ("BACKFILL", "QUEUED_RUN_COORDINATOR"):
        instance.add_daemon_heartbeat(DaemonHeartbeat(get_current_timestamp(), daemon, None, None))


def queued(small: SmallHome, backfill: str) -> set[tuple[str, str]]:
    """Assets and partitions of a backfill."""
    found = small.instance.get_backfill(backfill)
    assert found is not None
    target = found.get_asset_backfill_data(small.definitions.resolve_asset_graph()).target_subset
    return {(pair.asset_key.path[-1], str(pair.partition_key)) for pair in target.iterate_asset_partitions()}


def partitions_of_the_third() -> set[tuple[str, str]]:
    """What a run makes of a new batch."""
    tables = {
        table for step in ("fitting", "merging", "expansion", "resolution") for table in RECIPES[step].tables
    }
    return {
        *((table, "third") for table in RECIPES["intake"].tables),
        ("hedge_phrases", "lexicon|third"),
        *((table, "panel|third") for table in tables),
        ("release", "panel"),
    }


def test_queued_work_needs_a_daemon_and_becomes_one_backfill_of_the_planned_partitions(
    served: SmallHome,
) -> None:
    partitions = build_partitions(served.resource.judges)
    stages = [Stage("compare", ("cues",)), Stage("fit", ("cues", "first")), Stage("release", ("cues",))]
    with pytest.raises(NoDaemon, match=r"lunguage ui.*--queue"):
        queue(partitions, served.instance, stages, "x")
    beating(served.instance)
    assert queued(served, queue(partitions, served.instance, stages, "All of judge cues")) == {
        ("comparison_matches", "cues"),
        ("release", "cues"),
        ("fitted_probabilities", "cues|first"),
        ("fit_log", "cues|first"),
    }


def test_the_job_everything_hands_its_plan_to_the_daemon_as_one_backfill(
    served: SmallHome, finished: Finished
) -> None:
    job = served.definitions.resolve_job_def("everything")
    unknown = job.execute_in_process(
        {"ops": {hand_over_everything.name: {"config": {"ranker": "oracle"}}}},
        instance=served.instance,
        raise_on_error=False,
    )
    failure = unknown.get_step_failure_events()[0].step_failure_data.user_failure_data
    assert "ranker 'oracle' is not known" in str(failure and failure.description)
    beating(served.instance)
    idle = job.execute_in_process(instance=served.instance)
    assert idle.success
    assert served.instance.get_backfills() == []
    served.register({"third": finished.deliveries / "third"})
    assert job.execute_in_process(instance=served.instance).success
    (backfill,) = served.instance.get_backfills()
    assert queued(served, backfill.backfill_id) == partitions_of_the_third()
    assert served.plan(), "the daemon makes it; nothing is made here"
