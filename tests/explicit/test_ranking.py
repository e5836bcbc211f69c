"""The reference ranking: pooled matches in random orders, intervals by sentence pairs
(explicit.md section 3).
"""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest
from tentative_findings import SMALL, ScriptedJudge, own_vocabulary
from trueskill_package import play_with_package

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.ranking import (
    collect_answers,
    comparison_matches,
    on_published_scale,
    random_orders,
    reference_ranking,
)
from lunguage_assets.explicit.vocabulary import hedge_vocabulary
from lunguage_assets.judges.protocol import Choice, ComparisonQuestion
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.judges.rules.lexicon import LexiconJudge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES, HEDGE_PHRASES, REFERENCE_RANKING

SETTINGS = ExplicitSettings(bootstrap=60)
ORDER = ["likely", "may", "or", "if any"]


def noisy(strength: float) -> ScriptedJudge:
    """Prefers the phrase earlier in ORDER, but errs on a share of the sentence
    pairs.
    """

    def choose(question: ComparisonQuestion) -> Choice:
        pair = question.sentence_1, question.sentence_2
        first, second = (ORDER.index(text.split(" <")[0]) for text in pair)
        errs = random.Random(f"{sorted(pair)}").random() > strength
        return "sentence_1" if (first < second) != errs else "sentence_2"

    return ScriptedJudge(choose)


def played(*judges: tuple[str, object]) -> dict[str, pd.DataFrame]:
    return {key: comparison_matches(SMALL, judge, SETTINGS) for key, judge in judges}  # type: ignore[arg-type]


def ranked(
    matches: dict[str, pd.DataFrame], settings: ExplicitSettings = SETTINGS
) -> pd.DataFrame:
    frame = reference_ranking(SMALL, matches, settings)
    REFERENCE_RANKING.to_arrow(frame)
    return frame


def test_the_ranking_follows_the_judges() -> None:
    frame = ranked(played(("one", noisy(0.9)), ("two", noisy(0.9))))
    assert frame["phrase"].tolist() == ORDER
    assert frame["mu"].is_monotonic_decreasing
    assert frame[["rank", "n_matches"]].to_numpy().tolist() == [
        [rank, 60] for rank in range(4)
    ]
    assert frame["judges"].tolist() == [["one", "two"]] * 4


def test_mu_and_sigma_are_the_packages_averaged_over_the_orders() -> None:
    settings = SETTINGS.model_copy(update={"orders": 3})
    matches = played(("one", noisy(0.8)), ("two", LexiconJudge("two")))
    frame = ranked(matches, settings).set_index("phrase")
    answers = collect_answers(sorted(ORDER), matches)
    packaged = [
        play_with_package(answers, 4, order, "scipy")
        for order in random_orders(answers, settings)
    ]
    ranking = frame.loc[sorted(ORDER), ["mu", "sigma"]].to_numpy().T
    np.testing.assert_allclose(ranking, np.mean(packaged, axis=0), atol=1e-9)


def test_the_ranking_does_not_depend_on_row_order() -> None:
    matches = played(("one", noisy(0.8)), ("two", CuesJudge("two")))
    mix = {"frac": 1.0, "random_state": 3}
    shuffled = {key: frame.sample(**mix) for key, frame in matches.items()}
    pd.testing.assert_frame_equal(ranked(matches), ranked(shuffled), check_exact=True)


def test_invalid_answers_are_left_out_not_counted_as_losses() -> None:
    all_valid = played(("one", noisy(0.8)))
    silent = played(("two", ScriptedJudge(lambda question: "invalid")))
    columns = ["phrase", "mu", "sigma", "mu_low", "mu_high", "n_matches", "win_rate"]
    pd.testing.assert_frame_equal(
        ranked(all_valid)[columns], ranked(all_valid | silent)[columns]
    )


def test_without_any_valid_match_or_two_phrases_there_is_no_ranking() -> None:
    with pytest.raises(MethodError, match="every answer of one"):
        ranked(played(("one", ScriptedJudge(lambda question: "invalid"))))
    with pytest.raises(MethodError, match="no judge"):
        ranked({})
    vocabulary = own_vocabulary({"likely": ["likely <finding>."]})
    for phrases in (vocabulary, vocabulary.iloc[:0]):
        matches = {"one": comparison_matches(phrases, noisy(1.0), SETTINGS)}
        with pytest.raises(MethodError, match="fewer than two phrases"):
            reference_ranking(phrases, matches, SETTINGS)


def test_intervals_contain_the_value_and_narrow_with_more_sentence_pairs() -> None:
    ranking = ranked(played(("one", noisy(0.8))))
    for name in ("mu", "rank"):
        low, high = ranking[f"{name}_low"], ranking[f"{name}_high"]
        assert ranking[name].between(low, high).all()
    settings = SETTINGS.model_copy(update={"repetitions": 80})
    vocabulary = own_vocabulary(
        {phrase: [f"{phrase} <finding> {i}." for i in range(60)] for phrase in ORDER}
    )
    matches = {"one": comparison_matches(vocabulary, noisy(0.8), settings)}
    more = reference_ranking(vocabulary, matches, settings)
    assert more["mu_sd"].mean() < ranking["mu_sd"].mean()


def test_a_copy_of_a_judge_does_not_narrow_the_intervals() -> None:
    # All judges see the same sentence pairs: a second one brings no second sample.
    settings = SETTINGS.model_copy(update={"bootstrap": 200})
    alone = ranked(played(("one", noisy(0.8))), settings)
    twice = ranked(played(("one", noisy(0.8)), ("two", noisy(0.8))), settings)
    assert twice["mu_sd"].mean() > 0.85 * alone["mu_sd"].mean()


def test_the_version_follows_answers_judges_and_settings() -> None:
    quick = ExplicitSettings(bootstrap=0, orders=1)
    base = played(("one", noisy(0.8)))
    other_answers = played(("one", noisy(0.5)))
    two_judges = {**base, "two": base["one"]}
    changed = [base, {"other": base["one"]}, other_answers, two_judges]
    runs = [(matches, quick) for matches in changed]
    for update in ({"seed": 1}, {"orders": 2}, {"bootstrap": 1}):
        runs.append((base, quick.model_copy(update=update)))
    versions = {ranked(*run)["ranking_version"].iloc[0] for run in runs}
    assert len(versions) == 7


def test_the_published_scale_has_the_published_scores_also_as_a_stand_in() -> None:
    vocabulary = hedge_vocabulary(HEDGE_PHRASES.frame(), SETTINGS)
    matches = {"one": COMPARISON_MATCHES.frame()}
    frame = reference_ranking(vocabulary, matches, SETTINGS, ["rules, version 1"])
    two_judges = played(("one", noisy(0.9)), ("two", noisy(0.9)))
    own_ranking = ranked(two_judges, ExplicitSettings(bootstrap=0))
    reason = "the anchors are inverted"
    panel = ["rules, version 1"]
    instead = on_published_scale(own_ranking, ["one", "two"], reason, panel)
    for ranking, judges in ((frame, ["one"]), (instead, ["one", "two"])):
        REFERENCE_RANKING.to_arrow(ranking)
        assert len(ranking) == 42
        assert ranking["mu"].iloc[[0, 41]].tolist() == [43.4369, 7.0716]
        assert ranking["mu_sd"].eq(0.0).all()
        assert ranking["ruler"].eq("published").all()
        assert ranking["judges"].tolist() == [judges] * 42
    assert set(instead["ruler_reason"]) == {reason}
    assert set(instead["vocabulary_version"]) == set(own_ranking["vocabulary_version"])
    other_panel = reference_ranking(vocabulary, matches, SETTINGS, ["rules, version 2"])
    # No panel passes for another.
    assert set(frame["ranking_version"]).isdisjoint(other_panel["ranking_version"])


def test_a_phrase_without_a_valid_match_stays_at_the_prior() -> None:
    matches = played(("one", noisy(1.0)))["one"]
    is_or = (matches["phrase_a"] == "or") | (matches["phrase_b"] == "or")
    matches.loc[is_or, ["answer", "winner"]] = ["invalid", None]
    row = ranked({"one": matches}).set_index("phrase").loc["or"]
    assert row[["mu", "sigma"]].tolist() == pytest.approx([25.0, 8.333])
    assert row["n_matches"] == 0
    assert np.isnan(row["win_rate"])
