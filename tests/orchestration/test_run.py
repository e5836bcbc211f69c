"""A run makes what is missing or stale, and no more; one that is broken off goes on
from there.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from finished_homes import Finished
from judges_files import write_with_judge
from platform_support import contents
from small_homes import SmallHome

from lunguage_assets.orchestration.run import RunFailed, Stage
from lunguage_assets.packaged_data import resource

NEW_BATCH = [
    "ingest (third)",
    "extract_hedges (lexicon x third)",
    "refit (panel x third)",
    "release (panel)",
]
STICK = [
    "build_vocabulary (lexicon)",
    "compare (lexicon)",
    "compare (cues)",
    "rank (panel)",
]


def stored(small: SmallHome) -> dict[str, bytes]:
    return contents(Path(str(small.home.tables)))


def with_the_third(small: SmallHome, finished: Finished) -> SmallHome:
    small.register({"third": finished.deliveries / "third"})
    return small


def test_a_finished_home_is_left_as_it_is(small: SmallHome) -> None:
    before = contents(small.home.root)
    assert small.run() == []
    changed = dict(contents(small.home.root).items() - before.items())
    assert changed.keys() <= {"lunguage.duckdb", ".command.lock"}


@pytest.mark.lengthy
def test_an_interrupted_run_goes_on_and_makes_nothing_twice(
    small: SmallHome, finished: Finished
) -> None:
    before = stored(with_the_third(small, finished))
    seen: list[str] = []

    def killed(stage: Stage, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt
        seen.append(str(stage))

    runner = small.runner()
    stages = runner.plan("panel")
    with pytest.raises(KeyboardInterrupt):
        runner.run(stages, progress=killed)
    assert seen == NEW_BATCH[:2]
    assert small.run() == NEW_BATCH[2:]
    after = stored(small)
    assert before.items() <= after.items()
    new = {Path(name).name for name in after.keys() - before.keys()}
    assert new == {"third.parquet"}
    assert small.plan() == []


@pytest.mark.lengthy
def test_a_failed_run_keeps_what_was_made_and_says_why(
    small: SmallHome, finished: Finished
) -> None:
    with_the_third(small, finished)
    pathways_file = small.home.root / "pathways.yaml"
    pathways_file.write_text(
        resource("pathways.yaml").read_text().replace("status: dp", "status: yes", 1)
    )
    before = stored(small)
    with pytest.raises(
        RunFailed, match=r"expand \(panel x first\): .*pathways\.yaml, field diagnoses"
    ):
        small.run()
    assert before.items() <= stored(small).items()
    pathways_file.unlink()
    assert small.plan() == NEW_BATCH[2:]


@pytest.mark.lengthy
def test_a_rebuilt_vocabulary_that_is_the_same_leaves_the_fits(
    small: SmallHome,
) -> None:
    before = stored(small)
    assert small.run(rebuild=True) == STICK
    assert stored(small) == before


@pytest.mark.lengthy
def test_a_run_for_a_new_judge_changes_no_byte_of_others(
    small: SmallHome, finished: Finished, tmp_path: Path
) -> None:
    judges = write_with_judge(tmp_path / "judges.toml", "new", 'provider = "cues"')
    before = contents(small.home.root)
    root, events = small.home.root, finished.events
    with SmallHome.opened(root, events, judges_file=judges) as ours:
        stages = ours.run("new")
        assert (stages[0], stages[-1]) == ("compare (new)", "release (new)")
        assert ours.plan("new") == []
    after = contents(small.home.root)
    for name in before:
        if name.split("/")[0] in ("tables", "release", "batches", "review"):
            assert after[name] == before[name], name
    folder = small.home.root / "tables" / "reference_ranking"
    new, panel = (
        pd.read_parquet(folder / f"{key}.parquet") for key in ("new", "panel")
    )
    assert len(new) == len(panel)
