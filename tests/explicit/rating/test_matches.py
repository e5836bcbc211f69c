"""Comparison matches: every pair, the same sentences for every judge, stable draws, balanced positions
(explicit.md section 2).
"""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from tentative_findings import SMALL, ScriptedJudge, invented_findings, own_vocabulary

from lunguage_assets.explicit.hedges.hedging import hedge_phrases
from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.matches import comparison_matches, schedule
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES, HEDGE_PHRASES

SETTINGS = ExplicitSettings()


@pytest.fixture(scope="module")
def corpus_vocabulary() -> pd.DataFrame:
    findings = invented_findings(600)
    return hedge_vocabulary(hedge_phrases(findings, LexiconJudge.bundled("lexicon")), SETTINGS)


def test_42_phrases_make_8610_matches_of_every_unordered_pair(corpus_vocabulary: pd.DataFrame) -> None:
    matches = comparison_matches(corpus_vocabulary, CuesJudge.bundled("cues"), SETTINGS)
    COMPARISON_MATCHES.to_arrow(matches)
    assert len(matches) == 8610
    assert (matches["phrase_a"] < matches["phrase_b"]).all()
    assert matches.groupby(["phrase_a", "phrase_b"])["repetition"].nunique().eq(10).all()
    examples_of = dict(zip(corpus_vocabulary["phrase"], corpus_vocabulary["example_sentences"], strict=True))
    assert all(
        a in examples_of[phrase] for a, phrase in zip(matches["sentence_a"], matches["phrase_a"], strict=True)
    )
    assert all(
        b in examples_of[phrase] for b, phrase in zip(matches["sentence_b"], matches["phrase_b"], strict=True)
    )


def test_every_judge_is_asked_about_the_same_sentence_pairs() -> None:
    shared = [
        "match_id",
        "phrase_a",
        "phrase_b",
        "repetition",
        "sentence_a",
        "sentence_b",
        "swapped",
        "vocabulary_version",
    ]
    frames = [
        comparison_matches(SMALL, judge, SETTINGS)[shared]
        for judge in (LexiconJudge.bundled("a"), ScriptedJudge())
    ]
    pd.testing.assert_frame_equal(*frames)


def test_the_position_is_a_coin_by_default_and_fixed_as_published_on_request(
    corpus_vocabulary: pd.DataFrame,
) -> None:
    swapped = schedule(corpus_vocabulary, SETTINGS)["swapped"]
    assert 0.47 < sum(swapped) / len(swapped) < 0.53
    assert not any(schedule(corpus_vocabulary, ExplicitSettings(position="fixed"))["swapped"])


def test_the_winner_is_the_phrase_whose_sentence_was_chosen_wherever_it_was_shown() -> None:
    judge = ScriptedJudge(lambda question: "sentence_1" if "likely" in question.sentence_1 else "sentence_2")
    matches = comparison_matches(SMALL, judge, SETTINGS)
    about = matches[(matches["phrase_a"] == "likely") | (matches["phrase_b"] == "likely")]
    assert about["winner"].eq("likely").all()
    assert about["answer"].nunique() == 2


def test_an_always_sentence_1_judge_prefers_no_phrase(corpus_vocabulary: pd.DataFrame) -> None:
    matches = comparison_matches(corpus_vocabulary, ScriptedJudge(), SETTINGS)
    assert 0.47 < (matches["winner"] == matches["phrase_a"]).mean() < 0.53


def test_repetitions_are_separate_draws_of_a_judge() -> None:
    judge = ScriptedJudge()
    comparison_matches(SMALL, judge, SETTINGS)
    assert {question.replicate for question in judge.compared} == set(range(10))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True), st.integers(6, 40))
@examples(30)
def test_an_added_sentence_changes_a_draw_only_by_being_drawn(kept: list[int], added: int) -> None:
    few = own_vocabulary({"likely": [f"likely <finding> {i}." for i in kept], "may": ["may <finding>."]})
    more = own_vocabulary(
        {"likely": [f"likely <finding> {i}." for i in [*kept, added]], "may": ["may <finding>."]}
    )
    before, after = schedule(few, SETTINGS), schedule(more, SETTINGS)
    assert before["match_id"] == after["match_id"]
    assert all(
        new in (old, f"likely <finding> {added}.")
        for old, new in zip(before["sentence_a"], after["sentence_a"], strict=True)
    )


def test_draws_depend_on_the_seed_and_spread_over_the_examples() -> None:
    vocabulary = own_vocabulary(
        {"likely": [f"likely <finding> {i}." for i in range(5)], "may": ["may <finding>."]}
    )
    many = ExplicitSettings(repetitions=1000)
    drawn = pd.Series(schedule(vocabulary, many)["sentence_a"]).value_counts()
    assert len(drawn) == 5
    assert drawn.min() > 150
    assert (
        schedule(vocabulary, many)["sentence_a"]
        != schedule(vocabulary, many.model_copy(update={"seed": 1}))["sentence_a"]
    )


def test_other_phrases_and_row_order_do_not_change_a_match() -> None:
    whole = comparison_matches(SMALL, LexiconJudge.bundled("a"), SETTINGS).set_index("match_id")
    part = comparison_matches(
        SMALL.iloc[[2, 0]].reset_index(drop=True), LexiconJudge.bundled("a"), SETTINGS
    ).set_index("match_id")
    assert len(part) == 10
    pd.testing.assert_frame_equal(whole.loc[part.index], part)


def test_the_published_ruler_needs_no_matches() -> None:
    vocabulary = hedge_vocabulary(HEDGE_PHRASES.frame(), SETTINGS)
    judge = ScriptedJudge()
    assert len(comparison_matches(vocabulary, judge, SETTINGS)) == 0
    assert judge.calls == 0


def test_match_ids_are_unique_for_phrases_that_read_alike() -> None:
    vocabulary = own_vocabulary(
        {phrase: [f"{phrase} <finding>."] for phrase in ("a", "a b", "b", "b c", "a b c")}
    )
    ids = schedule(vocabulary, SETTINGS)["match_id"]
    assert len(set(ids)) == len(ids) == 10 * len(list(combinations(range(5), 2)))
