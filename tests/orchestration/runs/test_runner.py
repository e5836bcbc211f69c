"""A run makes what is missing or stale, and no more; one that is broken off goes on from there."""

from __future__ import annotations

from pathlib import Path

import pytest
from finished_homes import Finished
from platform_support import contents
from small_homes import SmallHome, line

from lunguage_assets.current.plan import Stage, Wanted
from lunguage_assets.data_files import resource
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.runner import RunFailed
from lunguage_assets.release.bundle.versions import current_version

NEW_BATCH = [
    "ingest (third)",
    "extract_hedges (lexicon x third)",
    "refit (panel x third)",
    "release (panel)",
]
STICK = ["build_vocabulary (lexicon)", "compare (lexicon)", "compare (cues)", "rank (panel)"]


def stored(small: SmallHome) -> dict[str, bytes]:
    return contents(Path(str(small.home.tables)))


def rows_of(release: Path) -> bytes:
    version = current_version(release)
    assert version is not None
    return (version / "restricted" / "Lunguage_plus_plus.parquet").read_bytes()


def with_the_third(small: SmallHome, finished: Finished) -> SmallHome:
    small.register({"third": finished.deliveries / "third"})
    return small


def test_a_finished_home_is_left_as_it_is(small: SmallHome) -> None:
    before = contents(small.home.root)
    assert small.run() == []
    changed = {name for name, content in contents(small.home.root).items() if before.get(name) != content}
    assert changed <= {"lunguage.duckdb", ".command.lock"}


def test_a_new_batch_is_carried_through_and_nothing_of_the_others_is_made_again(
    small: SmallHome, finished: Finished
) -> None:
    before = stored(small)
    assert with_the_third(small, finished).run() == NEW_BATCH
    after = stored(small)
    assert {name: after[name] for name in before} == before
    assert {name.rpartition("/")[2] for name in after.keys() - before.keys()} == {"third.parquet"}
    assert small.run() == []


def test_a_run_that_ended_between_two_stages_goes_on_from_there(small: SmallHome, finished: Finished) -> None:
    with_the_third(small, finished)
    seen: list[str] = []

    def killed(stage: Stage, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt
        seen.append(line(stage))

    with pytest.raises(KeyboardInterrupt):
        small.runner().run(Wanted("panel"), progress=killed)
    assert seen == NEW_BATCH[:2]
    assert small.run() == NEW_BATCH[2:]


def test_a_run_that_failed_at_a_stage_keeps_what_was_made_and_says_why(
    small: SmallHome, finished: Finished
) -> None:
    with_the_third(small, finished)
    own = small.home.root / "pathways.yaml"
    own.write_text(resource("pathways.yaml").read_text().replace("status: dp", "status: yes", 1))
    before = stored(small)
    with pytest.raises(RunFailed, match=r"expand \(panel x first\): .*pathways.yaml.*line \d+"):
        small.run()
    assert before.items() <= stored(small).items()
    own.unlink()
    assert small.run()[-1] == "release (panel)"


def test_a_changed_pathway_expands_again_and_asks_no_judge(small: SmallHome) -> None:
    packaged = resource("pathways.yaml").read_text(encoding="utf-8")
    own = small.home.root / "pathways.yaml"
    own.write_text(packaged.replace("finding: hyperinflation", "finding: hyperexpansion"), encoding="utf-8")
    told: list[str] = []
    small.runner().run(Wanted("panel"), progress=lambda stage, *_: told.append(stage.announced))
    changed = ", pathways changed"
    assert told == [
        f"expand (panel x first){changed}",
        f"expand (panel x second){changed}",
        f"release (panel){changed}",
    ]
    assert small.run() == []


def test_a_vocabulary_that_is_rebuilt_and_comes_out_the_same_leaves_the_fits_alone(small: SmallHome) -> None:
    before = stored(small)
    assert small.run(Wanted("panel", rebuild=True)) == STICK
    assert stored(small) == before


def test_a_stale_vocabulary_that_comes_out_the_same_rows_is_still_made_of_something_else(
    small: SmallHome,
) -> None:
    """A table's version stands for what it was made of too: what follows is made again, to the same rows."""
    text = small.home.settings_file.read_text()
    small.home.settings_file.write_text(text.replace("ruler_minimum = 5", "ruler_minimum = 6"))
    released = rows_of(small.home.release / "panel")
    assert small.run()[: len(STICK)] == STICK
    assert rows_of(small.home.release / "panel") == released


def test_a_single_judge_ranks_alone_and_the_panels_results_stay(small: SmallHome) -> None:
    before = contents(small.home.root)
    made = ["rank (cues)", "refit (cues x first)", "refit (cues x second)", "release (cues)"]
    assert small.run(Wanted("cues")) == made
    after = contents(small.home.root)
    kept = {name for name in before if name.split("/")[0] in ("tables", "release")}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


def test_the_release_goes_where_it_is_wanted(small: SmallHome, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "release" / "panel"
    wanted = Wanted("panel", release=folder)
    with pytest.raises(RunFailed, match="option out of the release"):
        small.run(wanted)
    resource = HomeResource(root=str(small.home.root), release_to=str(tmp_path / "out"))
    named = SmallHome(resource, small.instance)
    assert named.run(wanted) == ["release (panel)"]
    assert rows_of(folder) == rows_of(small.home.release / "panel")
    assert named.run(wanted) == []


def test_without_a_ranking_there_is_nothing_to_analyse_and_the_message_says_what_to_do(
    small: SmallHome,
) -> None:
    with pytest.raises(RunFailed, match="Run `lunguage run` first"):
        small.runner().analyse("cues")
