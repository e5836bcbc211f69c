"""A change makes stale exactly what follows from it, says why, and is planned for no
further. One row per kind of change.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from finished_homes import Finished
from judges_files import write_with_judge
from small_homes import SmallHome
from stored_tables import stored_table

from lunguage_assets import source_versions
from lunguage_assets.explicit.probability import published_anchors
from lunguage_assets.judges.configuration import JudgesConfiguration
from lunguage_assets.orchestration import sources
from lunguage_assets.packaged_data import resource
from lunguage_assets.workspace.store import partition_path

Change = Callable[[SmallHome], None]


def setting(added: str, instead: str = "") -> Change:
    """Lines more in the settings, and one less."""

    def change(small: SmallHome) -> None:
        text = small.home.settings_file.read_text()
        assert instead in text
        small.home.settings_file.write_text(text.replace(instead, "") + added)

    return change


def anchors(small: SmallHome) -> None:
    ratings = [
        f"{rater},{anchor.phrase},Invented sentence.,{rating}"
        for anchor in published_anchors().anchors
        for rater, rating in (("a", 20), ("b", 60))
    ]
    small.home.anchor_ratings.write_text(
        "\n".join(["rater,phrase,sentence,rating", *ratings]) + "\n"
    )


def pathways(small: SmallHome) -> None:
    packaged = resource("pathways.yaml").read_text(encoding="utf-8")
    changed = packaged.replace("finding: hyperinflation", "finding: hyperexpansion")
    (small.home.root / "pathways.yaml").write_text(changed, encoding="utf-8")


def correction(small: SmallHome) -> None:
    """A pair of the first batch is said to have no phrase."""
    hedges = stored_table(small.home.tables, "hedge_phrases")
    finding_id = hedges.loc[hedges["phrases"].map(len) > 0, "finding_id"].iloc[0]
    small.home.corrections_file.write_text(f"finding_id,phrases\n{finding_id},\n")


def experts(small: SmallHome) -> None:
    small.home.expert_responses.write_text("pair,phrase_1,phrase_2,expert_1\n")


nothing_that_counts = setting(
    "[checks]\nrejected_share = 0.5\n[landing]\nstable_s = 1\n"
    "[automation]\nenabled = true\n[release]\nkeep = 3\n"
)


def deleted(small: SmallHome) -> None:
    partition_path(small.home.tables, "expansions", "panel", "first").unlink()


REFIT = tuple(f"refit (panel x {batch})" for batch in ("first", "second"))
EXPAND = tuple(f"expand (panel x {batch})" for batch in ("first", "second"))
EXTRACT = tuple(f"extract_hedges (lexicon x {batch})" for batch in ("first", "second"))
COMPARE = ("compare (lexicon)", "compare (cues)")
RANK = ("rank (panel)",)
OUT = ("release (panel)",)

ROWS: dict[str, tuple[Change, tuple[str, ...]]] = {
    "a setting of the intake": (
        setting('[corpus]\ndefault_view = "pa"\n'),
        ("ingest (first)", EXTRACT[0], "ingest (second)", EXTRACT[1], *REFIT, *OUT),
    ),
    "a setting of the comparisons": (
        setting("repetitions = 2\n", "repetitions = 1\n"),
        (*COMPARE, *RANK, *REFIT, *OUT),
    ),
    "a setting of the fit": (setting("step_limit = 17\n"), (*REFIT, *OUT)),
    "options that change no result": (nothing_that_counts, ()),
    "ratings of the anchors": (anchors, (*REFIT, *OUT)),
    "a pathway": (pathways, (*EXPAND, *OUT)),
    "a correction": (correction, (*EXTRACT, *REFIT, *OUT)),
    "answers of experts": (experts, ()),
    "a table deleted": (deleted, (EXPAND[0], *OUT)),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_change_is_planned_with_what_follows_from_it_and_nothing_else(
    row: tuple[Change, tuple[str, ...]], small: SmallHome
) -> None:
    change, stages = row
    assert small.plan() == []
    change(small)
    assert small.plan() == list(stages)


def test_a_stage_says_what_changed(small: SmallHome) -> None:
    pathways(small)
    stages = small.runner().plan("panel")
    assert [stage.reason for stage in stages] == [
        "pathways_file changed",
        "pathways_file changed",
        "what it reads is made again",
    ]


@pytest.mark.lengthy
def test_rows_that_come_out_the_same_make_nothing_after_them(small: SmallHome) -> None:
    """An edit of a comment makes the expansions again, and no release."""
    packaged = resource("pathways.yaml").read_text(encoding="utf-8")
    (small.home.root / "pathways.yaml").write_text(packaged + "# seen\n")
    assert small.run() == list(EXPAND)
    assert small.run() == []


@pytest.mark.lengthy
def test_new_phrases_do_not_renew_the_scale(small: SmallHome) -> None:
    correction(small)
    small.run()
    current = small.current()
    assert current.is_current("hedge_vocabulary", "lexicon")
    assert current.reasons("hedge_vocabulary", "lexicon", on_request=True)
    assert small.run(rebuild=True)[:4] == [
        "build_vocabulary (lexicon)",
        *COMPARE,
        *RANK,
    ]
    assert not small.current().reasons("hedge_vocabulary", "lexicon", on_request=True)


def test_edited_prompts_of_a_judge_ask_only_that_judge_again(
    small: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = source_versions.judge_identity

    def reworded(key: str, judges: JudgesConfiguration) -> str:
        return honest(key, judges) + ("!" if key == "cues" else "")

    monkeypatch.setattr(source_versions, "judge_identity", reworded)
    assert small.plan() == ["compare (cues)", *RANK, *REFIT, *OUT]


def test_a_candidate_leaves_the_panel_current_and_a_member_does_not(
    finished: Finished, tmp_path: Path
) -> None:
    cues = 'provider = "cues"'
    beside = write_with_judge(tmp_path / "beside.toml", "new", cues)
    with SmallHome.opened(finished.home, finished.events, judges_file=beside) as small:
        assert small.plan() == []
    within = write_with_judge(tmp_path / "within.toml", "new", cues, in_panel=True)
    with SmallHome.opened(finished.home, finished.events, judges_file=within) as small:
        assert small.plan() == ["compare (new)", *RANK, *REFIT, *OUT]


def test_a_release_that_was_deleted_is_missing(small: SmallHome) -> None:
    (small.home.release / "panel" / "LATEST").write_text("v99\n")
    assert small.plan() == list(OUT)


def test_the_sensor_notes_an_edited_file_once(small: SmallHome) -> None:
    def noted() -> list[str]:
        context = dg.build_sensor_context(
            small.instance,
            definitions=small.definitions,
            resources={"configuration": small.configuration},
        )
        result = sources.sources_sensor()(context)
        assert isinstance(result, dg.SensorResult)
        for event in result.asset_events:
            small.instance.report_runless_asset_event(event)
        return [event.asset_key.to_user_string() for event in result.asset_events]

    assert noted() == []
    pathways(small)
    assert noted() == ["pathways_file"]
    assert noted() == []
    assert not small.current().is_current("expansions", "panel", "first")
