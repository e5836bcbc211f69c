"""TrueSkill in closed form equals the package, match by match, in any number of orders
(explicit.md section 3).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from trueskill_package import play_with_package

from lunguage_assets.explicit.trueskill import (
    MU,
    SIGMA,
    play,
    truncated_normal_moments,
    update,
)


def random_matches(players: int, matches: int, seed: int) -> pd.DataFrame:
    """Matches of players whose strength grows with their number, with upsets."""
    rng = np.random.default_rng(seed)
    players_1 = rng.integers(players, size=matches)
    two = (players_1 + 1 + rng.integers(players - 1, size=matches)) % players
    first = rng.random(matches) < 1.0 / (1.0 + np.exp(-(players_1 - two) * 0.5))
    winner = np.where(first, players_1, two)
    return pd.DataFrame({"winner": winner, "loser": players_1 + two - winner})


@pytest.mark.parametrize(
    ("backend", "matches", "tolerance"), [(None, 600, 1e-5), ("scipy", 150, 1e-9)]
)
def test_a_full_sequence_equals_the_package(
    backend: str | None, matches: int, tolerance: float
) -> None:
    played = random_matches(players=12, matches=matches, seed=1)
    orders = np.stack(
        [np.random.default_rng(seed).permutation(matches) for seed in (2, 3)]
    )
    mu, sigma = play(played, 12, orders)
    for row, order in enumerate(orders):
        expected = play_with_package(played, 12, order, backend)
        assert np.abs(np.stack([mu[row], sigma[row]]) - expected).max() < tolerance


@given(st.integers(2, 7), st.integers(1, 60), st.integers(0, 10**6), st.integers(1, 5))
@examples(60)
def test_many_orders_side_by_side_are_exactly_sequential_play(
    players: int, matches: int, seed: int, n_orders: int
) -> None:
    played = random_matches(players, matches, seed)
    rng = np.random.default_rng(seed + 1)
    # Repeats, and padding anywhere.
    orders = rng.integers(-1, matches, size=(n_orders, matches + 5))
    mu, sigma = play(played, players, orders)
    for row, order in enumerate(orders.tolist()):
        m = np.full(players, MU)
        v = np.full(players, SIGMA**2)
        for match in (match for match in order if match >= 0):
            w, l = played.loc[match]  # noqa: E741
            (m[w], v[w]), (m[l], v[l]) = (
                update(m[w], v[w], m[l], v[l], True),
                update(m[l], v[l], m[w], v[w], False),
            )
        np.testing.assert_allclose(mu[row], m, rtol=0, atol=1e-11)
        np.testing.assert_allclose(sigma[row], np.sqrt(v), rtol=0, atol=1e-11)


def test_corrections_keep_their_digits_where_the_cdf_is_zero() -> None:
    # Laplace's continued fraction of the Mills ratio: pdf(t)/cdf(t) for t = -x is x +
    # 1/(x + 2/(x + 3/(x + ...)))
    for x in (6.0, 20.0, 40.0, 300.0, 5000.0):
        tail = x
        for k in range(400, 0, -1):
            tail = x + k / tail
        v, w = truncated_normal_moments(np.array([-x]))
        assert v[0] == pytest.approx(tail, rel=1e-12)
        assert w[0] == pytest.approx(tail * (tail - x), rel=1e-7)
