"""What a batch was made with stays in force, or is told: a change makes nothing by itself, is released
nowhere by half, and the next run sees to it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from lunguage_assets.orchestration.inventory import Inventory, batches_to_ask_about
from lunguage_assets.orchestration.runs.stages import Stage
from platform_support import contents
from small_homes import SmallHome, write_deliveries

from lunguage_assets.data_files import resource
from lunguage_assets.explicit.fit.probability import load_anchors
from lunguage_assets.home.home import ENVIRONMENT_VARIABLE, Home
from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.orchestration.assets.corpus import TABLES_OF_INTAKE
from lunguage_assets.orchestration.assets.explicit import TABLES_OF_FIT
from lunguage_assets.orchestration.jobs import STAGES
from lunguage_assets.orchestration.runs.runner import Runner
from lunguage_assets.tables import HEDGE_PHRASES

BATCHES = ("first", "second")
FIT = "settings or anchors of the fit"
RESULT = "implicit settings, pathways or blacklist"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dg.AssetMaterialization]]:
    """Two batches of five reports, fitted with the published ruler and released, and what was
    materialised.
    """
    root = tmp_path_factory.mktemp("released")
    with SmallHome.opened(root / "home") as small:
        small.rank(write_deliveries(root / "deliveries", batches=BATCHES))
        for batch in BATCHES:
            small.make(STAGES["refit"][1], {"ranker": "panel", "report_batch": batch})
        small.make(["release"], "panel")
        return root / "home", small.record


@pytest.fixture
def small(
    released: tuple[Path, list[dg.AssetMaterialization]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SmallHome]:
    home, record = released
    shutil.copytree(home, tmp_path / "home")
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "home"))
    with SmallHome.opened(tmp_path / "home", record) as opened:
        yield opened


def phrases(home: Home, batch: str) -> pd.DataFrame:
    return read_table(HEDGE_PHRASES, partition_path(home.tables, "hedge_phrases", "lexicon", batch))


def change_the_fit(home: Home) -> Path:
    home.settings_file.write_text("[explicit]\nstep_limit = 17\n")
    return home.settings_file


def change_the_seed(home: Home) -> Path:
    home.settings_file.write_text("[explicit]\nseed = 1\n")
    return home.settings_file


def change_the_intake(home: Home) -> Path:
    home.settings_file.write_text('[corpus]\ndefault_view = "pa"\n')
    return home.settings_file


def change_the_anchors(home: Home) -> Path:
    ratings = [
        f"{rater},{anchor.phrase},Invented sentence.,{rating}"
        for anchor in load_anchors()
        for rater, rating in (("a", 20), ("b", 60))
    ]
    home.anchor_ratings.write_text("\n".join(["rater,phrase,sentence,rating", *ratings]) + "\n")
    return home.anchor_ratings


def change_the_merging(home: Home) -> Path:
    home.settings_file.write_text("[implicit]\nmerge_threshold = 0.97\n")
    return home.settings_file


def change_the_pathways(home: Home) -> Path:
    packaged = resource("pathways.yaml").read_text(encoding="utf-8")
    changed = home.root / "pathways.yaml"
    changed.write_text(
        packaged.replace("finding: hyperinflation", "finding: hyperexpansion"), encoding="utf-8"
    )
    return changed


def correct_a_pair_of_the_first(home: Home) -> Path:
    found = phrases(home, "first")
    finding_id = found.loc[found["phrases"].map(len) > 0, "finding_id"].iloc[0]
    home.corrections_file.write_text(f"finding_id,phrases\n{finding_id},\n")
    return home.corrections_file


@pytest.mark.parametrize(
    ("change", "cause", "stale"),
    [
        (change_the_fit, FIT, BATCHES),
        (change_the_seed, FIT, BATCHES),
        (change_the_anchors, FIT, BATCHES),
        (change_the_intake, "corpus settings", BATCHES),
        (change_the_merging, RESULT, BATCHES),
        (change_the_pathways, RESULT, BATCHES),
        (correct_a_pair_of_the_first, "corrections.csv", BATCHES[:1]),
    ],
)
def test_after_a_change_no_batch_made_before_it_is_released_and_a_check_names_them(
    change: Callable[[Home], Path], cause: str, stale: tuple[str, ...], small: SmallHome
) -> None:
    before = contents(small.home.release)
    changed = change(small.home)
    refused = small.make(["release"], "panel", raise_on_error=False)
    (failure,) = refused.get_step_failure_events()
    said = str(failure.event_specific_data.user_failure_data.description)  # type: ignore[union-attr]
    assert f"{len(stale)} of 2 batches of ranker 'panel'" in said
    assert all(f"{batch} ({cause})" in said for batch in stale)
    assert contents(small.home.release) == before
    found = small.check("reference_ranking", "fits_current", "panel")
    assert not found.passed
    assert found.metadata["stale"].value == len(stale)
    assert str(found.metadata["report"].value).count(cause) == len(stale)
    assert "everything" in str(found.metadata["remedy"].value)
    changed.unlink()
    assert small.make(["release"], "panel").success, "the change was taken back"
    assert small.check("reference_ranking", "fits_current", "panel").passed


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("change", "begun"),
    [
        (
            change_the_intake,
            [
                "ingest",
                "extract_hedges",
                "ingest",
                "extract_hedges",
                "fit",
                "expand",
                "fit",
                "expand",
                "release",
            ],
        ),
        (change_the_pathways, ["expand", "expand", "release"]),
    ],
)
def test_the_next_run_makes_again_what_follows_from_a_change_and_nothing_before_it(
    change: Callable[[Home], Path], begun: list[str], small: SmallHome
) -> None:
    change(small.home)
    stages = run(small)
    assert [stage.job for stage in stages] == begun
    assert sum(bool(stage.changed) for stage in stages) == len(BATCHES), (
        "each batch says once what has changed"
    )
    assert [stage.job for stage in run(small)] == ["release"]


@pytest.mark.lengthy
def test_a_correction_is_taken_into_the_batch_that_it_is_of_and_taken_out_of_it_again(
    small: SmallHome,
) -> None:
    before = {batch: phrases(small.home, batch) for batch in BATCHES}
    corrections = correct_a_pair_of_the_first(small.home)
    again = [
        "extract_hedges (lexicon x first), changed: corrections.csv",
        "fit (panel x first)",
        "expand (panel x first)",
        "release (panel)",
    ]
    assert [stage.announced for stage in run(small)] == again
    assert {batch: int(phrases(small.home, batch)["corrected"].sum()) for batch in BATCHES} == {
        "first": 1,
        "second": 0,
    }
    corrections.unlink()
    assert [stage.announced for stage in run(small)] == again
    for batch in BATCHES:
        pd.testing.assert_frame_equal(phrases(small.home, batch), before[batch])


def run(small: SmallHome) -> list[Stage]:
    """Carry the home on, as the job `everything` does; the steps that this took."""
    stages: list[Stage] = []
    outcome = Runner(small.home, small.instance).run("panel", progress=lambda stage, *_: stages.append(stage))
    assert not outcome.checks_failed
    return stages


@pytest.mark.parametrize(
    ("again", "partition", "step"),
    [
        (TABLES_OF_INTAKE, "first", "extract_hedges"),
        (["hedge_phrases"], {"judge": "lexicon", "report_batch": "first"}, "fit"),
        (TABLES_OF_FIT, {"ranker": "panel", "report_batch": "first"}, "expand"),
        (["deduplicated_findings"], {"ranker": "panel", "report_batch": "first"}, "expand"),
    ],
)
def test_a_batch_is_not_finished_when_what_its_result_follows_from_was_made_again(
    again: Sequence[str], partition: str | dict[str, str], step: str, small: SmallHome
) -> None:
    """As when a run is killed between two steps."""

    def first_steps() -> list[str | None]:
        there = Inventory(small.home, small.instance, load_judges(None))
        return [there.first_step("panel", batch) for batch in BATCHES]

    assert first_steps() == [None, None]
    small.make(again, partition)
    assert first_steps() == [step, None]


def test_an_estimate_knows_about_which_other_batches_a_run_would_ask_again(
    finished_five: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(finished_five, tmp_path / "home")
    home, judges = Home(tmp_path / "home"), load_judges(None)
    monkeypatch.setenv("DAGSTER_HOME", str(home.dagster))
    assert batches_to_ask_about(home, judges, "panel") == []
    change_the_anchors(home)
    assert batches_to_ask_about(home, judges, "panel") == ["first"]
    home.anchor_ratings.unlink()
    change_the_pathways(home)
    assert batches_to_ask_about(home, judges, "panel") == [], "no judge is asked what follows from the fits"
    assert batches_to_ask_about(home, judges, "cues") == ["first"], "this ranker has not ranked yet"
    assert batches_to_ask_about(Home(tmp_path / "new"), judges, "panel") == []
    assert not (tmp_path / "new").exists()
