"""The order-free ranking: the mode of the same model given all matches at once, and how far TrueSkill is from
it.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from recorded_matches import noisy, ranked, recorded
from scipy.optimize import minimize
from scipy.stats import norm

from lunguage_assets.explicit.hedges.vocabulary import hedge_vocabulary
from lunguage_assets.explicit.rating.order_free import compare_with_order, order_free_places, rank_correlation
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.explicit.rating.trueskill import MU, SIGMA
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES, HEDGE_PHRASES, REFERENCE_RANKING

SETTINGS = ExplicitSettings(bootstrap=0)
GAMES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=80)


def played(games: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Winners and losers of five phrases from (winner, which of the other four)."""
    winner = np.array([w for w, _ in games])
    loser = np.array([(w + 1 + other) % 5 for w, other in games])
    return winner, loser


def log_posterior(mu: np.ndarray, winner: np.ndarray, loser: np.ndarray) -> float:
    """As explicit.md states the model: prior N(25, 8.333^2), win when a difference of variance 2 x 4.167^2 is
    positive.
    """
    likelihood = norm.logcdf(mu[winner] - mu[loser], scale=np.sqrt(2.0 * 4.167**2)).sum()
    return float(likelihood + norm.logpdf(mu, 25.0, 8.333).sum())


@given(GAMES)
@examples(40)
def test_the_places_are_the_mode_of_the_posterior(games: list[tuple[int, int]]) -> None:
    winner, loser = played(games)
    places = order_free_places(winner, loser, 5)
    found = minimize(
        lambda mu: -log_posterior(mu, winner, loser), np.full(5, MU), method="BFGS", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(places.mu, found.x, atol=1e-4)
    step = 1e-3
    for i in range(5):
        for sign in (-1.0, 1.0):
            moved = places.mu.copy()
            moved[i] += sign * step
            assert log_posterior(moved, winner, loser) < log_posterior(places.mu, winner, loser)


def test_the_deviation_is_that_of_the_curvature_at_the_mode() -> None:
    winner, loser = played([(0, 0), (0, 1), (1, 0), (2, 3), (4, 2), (0, 0), (3, 1), (1, 2)] * 3)
    places = order_free_places(winner, loser, 5)
    step, size = 1e-3, 5
    curvature = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            corners = [
                si
                * sj
                * log_posterior(
                    places.mu + step * (si * np.eye(size)[i] + sj * np.eye(size)[j]), winner, loser
                )
                for si in (-1, 1)
                for sj in (-1, 1)
            ]
            curvature[i, j] = -sum(corners) / (4.0 * step**2)
    np.testing.assert_allclose(places.sd, np.sqrt(np.diag(np.linalg.inv(curvature))), rtol=1e-4)


@given(GAMES, st.randoms(use_true_random=False))
@examples(40)
def test_no_order_of_the_matches_changes_a_bit(games: list[tuple[int, int]], random: object) -> None:
    places = order_free_places(*played(games), 5)
    random.shuffle(games)  # type: ignore[attr-defined]
    again = order_free_places(*played(games), 5)
    assert np.array_equal(places.mu, again.mu)
    assert np.array_equal(places.sd, again.sd)


def test_a_phrase_without_matches_stays_at_the_prior() -> None:
    places = order_free_places([0, 0], [1, 1], 3)
    assert places.mu[2] == pytest.approx(MU)
    assert places.sd[2] == pytest.approx(SIGMA)
    nobody = order_free_places([], [], 2)
    assert nobody.mu == pytest.approx(np.full(2, MU))


def test_equal_scores_are_equal_places() -> None:
    places = order_free_places([0, 1] * 50, [1, 0] * 50, 2)
    assert places.mu == pytest.approx([MU, MU])


def test_a_phrase_that_always_wins_has_a_finite_place() -> None:
    places = order_free_places([0] * 100_000, [1] * 100_000, 2)
    assert MU < places.mu[0] < 100.0
    assert places.mu.sum() == pytest.approx(2 * MU), "the prior holds the middle"


def test_impossible_circles_still_converge() -> None:
    winner = np.repeat([0, 1, 2, 2], [10**6, 10**6, 10**6, 1])
    loser = np.repeat([1, 2, 0, 1], [10**6, 10**6, 10**6, 1])
    assert np.abs(order_free_places(winner, loser, 3).mu - MU).max() < 0.1


def test_the_ranking_states_both_estimates_and_their_agreement() -> None:
    ranking = ranked(recorded(10, ["one", "two"], noisy()), SETTINGS)
    REFERENCE_RANKING.to_arrow(ranking)
    agreement = compare_with_order(ranking)
    assert agreement is not None
    assert agreement.spearman is not None
    assert agreement.spearman > 0.97
    assert 0.0 < agreement.largest_deviation < 4.0
    assert (ranking["sd_order_free"] > 0.0).all()
    shifted = ranking.assign(
        mu_order_free=np.where(ranking["phrase"] == "p03", ranking["mu"] - 9.0, ranking["mu_order_free"])
    )
    deviating = compare_with_order(shifted)
    assert deviating is not None
    assert (deviating.phrase, deviating.largest_deviation) == ("p03", pytest.approx(9.0))


def test_the_published_ruler_has_no_order_free_estimate() -> None:
    vocabulary = hedge_vocabulary(HEDGE_PHRASES.frame(), SETTINGS)
    ranking = reference_ranking(vocabulary, {"one": COMPARISON_MATCHES.frame()}, SETTINGS)
    REFERENCE_RANKING.to_arrow(ranking)
    assert ranking["mu_order_free"].isna().all()
    assert ranking["sd_order_free"].isna().all()
    assert compare_with_order(ranking) is None


def test_an_undefined_correlation_is_none() -> None:
    assert rank_correlation(np.full(3, 25.0), np.array([1.0, 2.0, 3.0])) is None
    assert rank_correlation(np.array([1.0]), np.array([2.0])) is None
    assert rank_correlation(np.array([1.0, 5.0, 9.0]), np.array([3.0, 2.0, 1.0])) == pytest.approx(-1.0)
