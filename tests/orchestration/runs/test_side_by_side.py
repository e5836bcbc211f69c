"""Batches side by side store what batches one after the other store."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import dagster as dg
import pytest
from finished_homes import Finished
from platform_support import contents
from small_homes import PANEL, SmallHome, line

from lunguage_assets.current.plan import Stage, plan
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs import side_by_side
from lunguage_assets.orchestration.runs.instance import dagster_instance
from lunguage_assets.orchestration.runs.runner import Runner
from lunguage_assets.orchestration.runs.side_by_side import (
    SideBySideRunner,
    _carried_out,
    _Said,
    _Task,
    runner_of,
    stretches,
)
from lunguage_assets.sample import write_sample


def with_two_more(home: Path, finished: Finished) -> dict[str, Path]:
    shutil.copytree(finished.home, home)
    fourth = home.with_name("fourth")
    write_sample(fourth, reports=4, seed=4)
    return {"third": finished.deliveries / "third", "fourth": fourth}


def test_stages_of_batches_go_together_by_batch_and_all_others_alone() -> None:
    stages = [
        Stage("ingest", ("a",)),
        Stage("extract_hedges", ("lexicon", "a")),
        Stage("ingest", ("b",)),
        Stage("rank", ("panel",)),
        Stage("refit", ("panel", "b")),
        Stage("release", ("panel",)),
    ]
    assert list(stretches(stages)) == [
        [stages[:2], [stages[2]]],
        [[stages[3]]],
        [[stages[4]]],
        [[stages[5]]],
    ]


FIRST_JOBS = ("ingest", "extract_hedges")


class InThisProcess:
    """Stands for the processes: one that begins with the last batch."""

    def __init__(self, home: HomeResource, instance: dg.DagsterInstance) -> None:
        self._runner = Runner(home, instance)

    def carry_out(self, tasks: Sequence[_Task]) -> Iterator[_Said]:
        for task in reversed(tasks):
            yield from _carried_out(self._runner, task)


@pytest.mark.parametrize(
    "processes", [1, pytest.param(2, marks=pytest.mark.lengthy)], ids=["acted out", "two processes"]
)
def test_batches_side_by_side_store_the_same_bytes_as_one_after_the_other(
    processes: int, small: SmallHome, finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = with_two_more(tmp_path / "beside", finished)
    small.register(more)
    stages = [stage for stage in plan(small.standings(), PANEL) if stage.job in FIRST_JOBS]
    small.runner().run(PANEL, stages=stages)
    seen: list[str] = []
    home = HomeResource(root=str(tmp_path / "beside"))
    for batch, folder in more.items():
        home.home.register(folder, batch)
    with dagster_instance(home.home) as instance:
        if processes == 1:
            acted = InThisProcess(home, instance)
            monkeypatch.setattr(side_by_side, "_working", lambda *_: nullcontext(acted))
        summary = SideBySideRunner(home, instance, processes).run(
            PANEL, progress=lambda stage, *_: seen.append(line(stage)), stages=stages
        )
    assert sorted(seen) == sorted(map(line, stages))
    assert summary.runs == len(stages) == 4
    assert summary.checks("passed")
    assert contents(Path(str(home.home.tables))) == contents(Path(str(small.home.tables)))


@pytest.mark.lengthy
def test_a_signal_stops_all_processes_and_the_same_call_goes_on(finished: Finished, tmp_path: Path) -> None:
    home = HomeResource(root=str(tmp_path / "home"))
    for batch, folder in with_two_more(tmp_path / "home", finished).items():
        home.home.register(folder, batch)
    begun: list[str] = []

    def stopped(stage: Stage, done: int, total: int) -> None:
        begun.append(line(stage))
        if len(begun) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with dagster_instance(home.home) as instance:
        stages = [stage for stage in plan(home.standings(), PANEL) if stage.job in FIRST_JOBS]
        runner = SideBySideRunner(home, instance, 2)
        with pytest.raises(KeyboardInterrupt):
            runner.run(PANEL, progress=stopped, stages=stages)
        assert all(run.is_finished for run in instance.get_runs())
        left = [stage for stage in plan(home.standings(), PANEL) if stage.job in FIRST_JOBS]
        assert left
        assert SideBySideRunner(home, instance, 2).run(PANEL, stages=left).checks("failed") == []


def test_language_models_are_asked_by_one_process_only(tmp_path: Path) -> None:
    judges = tmp_path / "judges.toml"
    judges.write_text(
        'preset = "one"\n[judges.big]\nprovider = "openai"\nmodel = "some-model-2025-01-01"\n'
        '[panels.one]\nmembers = ["big"]\n[presets.one]\npanel = "one"\nextractor = "big"\n'
    )
    home = HomeResource(root=str(tmp_path), judges_file=str(judges))
    with pytest.raises(ConfigurationError, match="--processes 2"):
        runner_of(home, None, 2)
