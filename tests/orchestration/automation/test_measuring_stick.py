"""A new measuring stick makes batches stale, says so, and makes nothing be fitted again by itself."""

from __future__ import annotations

from acted_out import Acted, everything_of


def rank(acted: Acted, ranker: str) -> None:
    acted.done(["reference_ranking"], ranker)


def test_a_new_ranking_refits_no_old_batch_and_a_new_batch_is_fitted_with_it(acted: Acted) -> None:
    assert acted.tick() == {}
    rank(acted, "panel")
    assert acted.tick() == {}
    acted.deliver("new")
    assert acted.tick() == {"hedge_phrases": {"lexicon|new"}}, "not the old batch"
    acted.finish({"hedge_phrases": {"lexicon|new"}})
    assert acted.tick() == everything_of("panel|new")


def test_a_ranker_that_is_ranked_for_the_first_time_is_fitted_on_batches_that_come_later_only(
    acted: Acted,
) -> None:
    assert acted.tick() == {}
    rank(acted, "cues")
    assert acted.tick() == {}
    acted.deliver("later")
    acted.finish({"hedge_phrases": {"lexicon|later"}})
    assert acted.tick() == everything_of("panel|later", "cues|later")


def test_a_batch_that_comes_while_the_stick_is_in_the_making_waits_for_it(acted: Acted) -> None:
    acted.done(["hedge_vocabulary"], "lexicon")
    acted.outdated("reference_ranking", "panel")
    acted.deliver("new")
    assert acted.carry() == [{"hedge_phrases": {"lexicon|new"}}], (
        "its ranking is of another vocabulary: a fit would fail"
    )
    rank(acted, "panel")
    assert acted.tick() == everything_of("panel|new")


def test_a_new_vocabulary_is_neither_compared_nor_ranked(acted: Acted) -> None:
    assert acted.tick() == {}
    acted.done(["hedge_vocabulary"], "lexicon")
    assert acted.tick() == {}
