"""Half of the comparisons: which are kept, what is compared, and what the order of play alone changes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from recorded_matches import noisy, ranked, recorded

from lunguage_assets.draws import mix, text_hashes
from lunguage_assets.explicit.analysis.robustness import kept_answers, ranking_robustness
from lunguage_assets.explicit.rating.ranking import collect_answers
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import RANKING_ROBUSTNESS

SETTINGS = ExplicitSettings(bootstrap=0)
MATCHES = recorded(12, ["one", "two", "three"], noisy())
RANKING = ranked(MATCHES, SETTINGS)


def test_five_comparisons_of_every_pair_are_kept_with_the_answers_of_all_judges() -> None:
    answers = collect_answers(sorted(RANKING["phrase"]), MATCHES)
    kept = kept_answers(answers, 5, mix(7))
    pairs = Counter(
        zip(
            np.minimum(answers.winner, answers.loser)[kept],
            np.maximum(answers.winner, answers.loser)[kept],
            strict=True,
        )
    )
    assert len(pairs) == 66
    assert set(pairs.values()) == {5 * 3}
    assert set(Counter(answers.match[kept].tolist()).values()) == {3}
    assert set(answers.match[kept].tolist()) != set(answers.match[kept_answers(answers, 5, mix(8))].tolist())
    assert len(kept_answers(answers, 10, mix(7))) == len(answers)


def test_half_of_the_comparisons_change_more_than_the_order_of_play_alone() -> None:
    frame = ranking_robustness(RANKING, MATCHES, SETTINGS)
    RANKING_ROBUSTNESS.to_arrow(frame)
    assert frame[["comparisons", "repeat"]].to_numpy().tolist() == [
        [n, repeat] for n in (5, 10) for repeat in range(10)
    ]
    assert set(frame.loc[frame["comparisons"] == 5, "answers"]) == {66 * 5 * 3}
    mean = frame.groupby("comparisons")[["mean_abs_mu", "spearman"]].mean()
    assert mean.loc[5, "mean_abs_mu"] > mean.loc[10, "mean_abs_mu"] > 0.0
    assert mean.loc[10, "spearman"] > 0.97
    assert frame.loc[frame["comparisons"] == 5, "mean_abs_mu"].nunique() == 10, (
        "every repeat draws its own half"
    )


def test_changes_are_measured_against_the_stored_ranking() -> None:
    moved = RANKING.assign(mu=RANKING["mu"] + 1000.0)
    frame, of_moved = (
        ranking_robustness(RANKING, MATCHES, SETTINGS, 2),
        ranking_robustness(moved, MATCHES, SETTINGS, 2),
    )
    assert of_moved["mean_abs_mu"].tolist() == pytest.approx([1000.0] * 4, abs=1.0)
    assert of_moved["mean_abs_rank"].tolist() == frame["mean_abs_rank"].tolist()
    reversed_ranking = RANKING.assign(mu=-RANKING["mu"])
    assert ranking_robustness(reversed_ranking, MATCHES, SETTINGS, 2)["spearman"].max() < -0.9


def test_the_order_of_rows_changes_nothing() -> None:
    shuffled = {judge: frame.sample(frac=1.0, random_state=1) for judge, frame in reversed(MATCHES.items())}
    pd.testing.assert_frame_equal(
        ranking_robustness(RANKING, MATCHES, SETTINGS, 3),
        ranking_robustness(RANKING.sample(frac=1.0, random_state=2), shuffled, SETTINGS, 3),
        check_exact=True,
    )


def test_comparisons_without_a_valid_answer_are_not_chosen_from() -> None:
    def decide(a: str, b: str, repetition: int, judge: str) -> bool | None:
        return None if repetition < 3 else noisy()(a, b, repetition, judge)

    matches = recorded(4, ["one"], decide)
    answers = collect_answers(["p00", "p01", "p02", "p03"], matches)
    assert len(kept_answers(answers, 5, mix(1))) == 6 * 5
    assert len(kept_answers(answers, 9, mix(1))) == 6 * 7
    invalid = set(text_hashes(matches["one"].loc[matches["one"]["answer"] == "invalid", "match_id"]).tolist())
    assert not invalid & set(answers.match.tolist())
