"""A new measuring stick makes batches stale, says so, and makes nothing be fitted again by itself."""

from __future__ import annotations

import dagster as dg
from acted_out import OF_RANKER, Acted, defined, everything_of, in_use

from lunguage_assets.orchestration.checks.stale import RANKING_CURRENT, SHOWN, Standing, mark, standings, told

REBUILT = "[automation]\nrebuild = true\n"


def rank(acted: Acted, ranker: str, version: str, vocabulary: str = "v1") -> None:
    acted.done(["reference_ranking"], ranker, vocabulary_version=vocabulary, ranking_version=version)


def test_a_new_ranking_refits_no_old_batch_and_a_new_batch_is_fitted_with_it(acted: Acted) -> None:
    rank(acted, "panel", "r2")
    acted.deliver("new")
    assert acted.tick() == {"hedge_phrases": {"lexicon|new"}}, "not the old batch"
    acted.finish({"hedge_phrases": {"lexicon|new"}})
    assert acted.tick() == everything_of("panel|new")


def test_a_ranker_that_is_ranked_for_the_first_time_is_fitted_on_batches_that_come_later_only(
    acted: Acted,
) -> None:
    rank(acted, "cues", "c1")
    acted.deliver("later")
    acted.finish({"hedge_phrases": {"lexicon|later"}})
    assert acted.tick() == everything_of("panel|later", "cues|later")


def test_a_batch_that_comes_while_the_stick_is_in_the_making_waits_for_it(acted: Acted) -> None:
    acted.done(["hedge_vocabulary"], "lexicon", vocabulary_version="v2")
    acted.deliver("new")
    assert acted.carry() == [{"hedge_phrases": {"lexicon|new"}}], (
        "its ranking is of another vocabulary: a fit would fail"
    )
    rank(acted, "panel", "r2", vocabulary="v2")
    assert acted.tick() == everything_of("panel|new")


def test_refitting_by_hand_asks_for_nothing_more(acted: Acted) -> None:
    rank(acted, "panel", "r2")
    acted.done(
        sorted(
            OF_RANKER,
            key="fit_log fitted_probabilities deduplicated_findings pathway_matches expansions".find,
        ),
        "panel|old",
    )
    assert acted.tick() == {}


def test_without_rebuild_a_new_vocabulary_is_neither_compared_nor_ranked(acted: Acted) -> None:
    acted.done(["hedge_vocabulary"], "lexicon", vocabulary_version="v2")
    assert acted.tick() == {}


def test_with_rebuild_a_changed_vocabulary_is_compared_by_the_judges_in_use_and_then_ranked() -> None:
    acted = in_use(Acted(defined(REBUILT)))
    acted.done(["hedge_vocabulary"], "lexicon", vocabulary_version="v1")
    assert acted.tick() == {}, "the same vocabulary again: nothing to pay for"
    acted.done(["hedge_vocabulary"], "lexicon", vocabulary_version="v2")
    assert acted.tick() == {"comparison_matches": {"lexicon", "cues"}}
    acted.done(["comparison_matches"], "lexicon", vocabulary_version="v2")
    failed = acted.start(["comparison_matches"], "cues")
    acted.fail(failed)
    assert acted.tick() == {}, "a judge who failed is asked no second time by itself"
    acted.done(["comparison_matches"], "cues", vocabulary_version="v2")
    assert acted.tick() == {"reference_ranking": {"panel"}}, "no ranking for rankers that have none"
    rank(acted, "panel", "r2", vocabulary="v2")
    assert acted.tick() == {}, "and nothing is fitted again"


def test_stale_batches_that_are_not_listed_are_counted() -> None:
    result = told("panel", "r2", [Standing(f"b{number}", "r1", "r1") for number in range(SHOWN + 7)])
    assert result.metadata["stale"].value == SHOWN + 7
    report = str(result.metadata["report"].value)
    assert f"| b{SHOWN - 1} |" in report
    assert f"| b{SHOWN} |" not in report
    assert "and 7 more" in report


def test_standings_name_what_was_made_with_another_ranking(acted: Acted) -> None:
    acted.deliver("unfitted")
    acted.report("fitted_probabilities", "panel|old", ranking_version="r2")
    old, unfitted = standings(acted.instance, "panel")
    assert (old.batch, old.fits, old.result) == ("old", "r2", "r1")
    assert old.is_stale("r2"), "its result still is of the former ranking"
    assert not unfitted.is_stale("r2"), "missing is not stale"
    result = told("panel", "r2", [old, unfitted])
    said = {name: value.value for name, value in (result.metadata or {}).items()}
    assert (result.passed, result.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert (said["stale"], said["not_fitted"], said["present_ranking"]) == (1, 1, "r2")
    assert "| old | r2 | r1 |" in said["report"]
    assert "refit" in said["remedy"]
    assert told("panel", "r2", [unfitted]).passed


def test_a_new_ranking_marks_the_fits_of_every_batch_and_a_refit_clears_the_mark(acted: Acted) -> None:
    run = acted.start(["reference_ranking"], "panel")
    mark(acted.instance, run, "panel", "r2", standings(acted.instance, "panel"))
    (record,) = acted.instance.event_log_storage.get_asset_check_execution_history(RANKING_CURRENT, limit=1)
    evaluation = record.event.dagster_event.event_specific_data  # type: ignore[union-attr]
    assert (evaluation.passed, evaluation.severity, evaluation.partition) == (
        False,
        dg.AssetCheckSeverity.WARN,
        "panel|old",
    )
    said = {name: value.value for name, value in evaluation.metadata.items()}
    assert (said["made_with_ranking"], said["present_ranking"]) == ("r1", "r2")
    assert "refit" in said["remedy"]
    assert "lunguage run" in said["remedy"]
    acted.report("fitted_probabilities", "panel|old", ranking_version="r2")
    run = acted.start(["reference_ranking"], "panel")
    mark(acted.instance, run, "panel", "r2", standings(acted.instance, "panel"))
    (record,) = acted.instance.event_log_storage.get_asset_check_execution_history(RANKING_CURRENT, limit=1)
    assert record.event.dagster_event.event_specific_data.passed  # type: ignore[union-attr]
