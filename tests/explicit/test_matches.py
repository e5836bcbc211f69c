"""Comparison matches: every pair, the same sentences for every judge, stable draws,
balanced positions (explicit.md section 2).
"""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from tentative_findings import SMALL, ScriptedJudge, invented_findings, own_vocabulary

from lunguage_assets.explicit.hedges import hedge_phrases
from lunguage_assets.explicit.ranking import comparison_matches, schedule
from lunguage_assets.explicit.vocabulary import hedge_vocabulary
from lunguage_assets.judges.protocol import Choice, ComparisonQuestion
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES

SETTINGS = ExplicitSettings()


@pytest.fixture(scope="module")
def corpus_vocabulary() -> pd.DataFrame:
    findings = invented_findings(600)
    return hedge_vocabulary(hedge_phrases(findings, LexiconJudge("lexicon")), SETTINGS)


def test_42_phrases_make_8610_matches_of_every_unordered_pair(
    corpus_vocabulary: pd.DataFrame,
) -> None:
    matches = comparison_matches(corpus_vocabulary, ScriptedJudge(), SETTINGS)
    COMPARISON_MATCHES.to_arrow(matches)
    assert len(matches) == 8610
    assert (matches["phrase_a"] < matches["phrase_b"]).all()
    pairs = matches.groupby(["phrase_a", "phrase_b"])
    assert pairs["repetition"].nunique().eq(10).all()
    examples_by_phrase = corpus_vocabulary.set_index("phrase")["example_sentences"]
    for side in "ab":
        drawn = matches[[f"phrase_{side}", f"sentence_{side}"]].itertuples(index=False)
        assert all(sentence in examples_by_phrase[phrase] for phrase, sentence in drawn)
    # The position is a coin: always sentence_1 is no preference.
    assert 0.47 < matches["swapped"].mean() < 0.53
    assert 0.47 < (matches["winner"] == matches["phrase_a"]).mean() < 0.53
    fixed = schedule(SMALL, ExplicitSettings(position="fixed"))
    assert not fixed["swapped"].any()


def test_every_judge_is_asked_about_the_same_sentence_pairs() -> None:
    first_questions, second_questions = (
        comparison_matches(SMALL, judge, SETTINGS).drop(columns=["answer", "winner"])
        for judge in (LexiconJudge("a"), ScriptedJudge())
    )
    pd.testing.assert_frame_equal(first_questions, second_questions)


def test_the_winner_is_the_phrase_whose_sentence_was_chosen_on_either_side() -> None:
    def choose(question: ComparisonQuestion) -> Choice:
        return "sentence_1" if "likely" in question.sentence_1 else "sentence_2"

    matches = comparison_matches(SMALL, ScriptedJudge(choose), SETTINGS)
    about = matches[(matches[["phrase_a", "phrase_b"]] == "likely").any(axis=1)]
    assert about["winner"].eq("likely").all()
    assert about["answer"].nunique() == 2


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True), st.integers(6, 40)
)
@examples(30)
def test_an_added_sentence_changes_a_draw_only_by_being_drawn(
    kept: list[int], added: int
) -> None:
    def scheduled(numbers: list[int]) -> pd.DataFrame:
        likely = [f"likely <finding> {i}." for i in numbers]
        vocabulary = own_vocabulary({"likely": likely, "may": ["may <finding>."]})
        return schedule(vocabulary, SETTINGS)

    before = scheduled(kept)
    after = scheduled([*kept, added])
    assert before["match_id"].equals(after["match_id"])
    is_changed = before["sentence_a"] != after["sentence_a"]
    assert set(after.loc[is_changed, "sentence_a"]) <= {f"likely <finding> {added}."}


def test_other_phrases_and_row_order_do_not_change_a_match() -> None:
    turned = SMALL.iloc[[2, 0]].reset_index(drop=True)
    all_phrases, some_phrases = (
        comparison_matches(rows, LexiconJudge("a"), SETTINGS).set_index("match_id")
        for rows in (SMALL, turned)
    )
    assert len(some_phrases) == 10
    pd.testing.assert_frame_equal(all_phrases.loc[some_phrases.index], some_phrases)


def test_the_published_ruler_needs_no_matches() -> None:
    judge = ScriptedJudge()
    assert comparison_matches(SMALL.assign(ruler="published"), judge, SETTINGS).empty
    assert judge.compared == []
