"""TrueSkill for two players without draws, for many sequences of matches at once.

Section 3 of docs/method/explicit.md. Every sequence is played match by match, all of
them side by side. Who plays whom is decided in `ranking.py` and in `fit.py`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import erfcx

from lunguage_assets.randomness import Floats, Integers

MU = 25.0
SIGMA = 8.333
BETA = 4.167
TAU = 0.083
"""The constants as the paper rounds them; 25/3, 25/6 and 25/300 would move its numbers
by about 1e-3.
"""

_INV_SQRT2 = 1.0 / math.sqrt(2.0)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)

_SIGNS = np.array([[1.0], [-1.0]])
"""A winner's score rises, a loser's falls."""


class Ratings(NamedTuple):
    """Ratings after several orders of play, each of shape (orders, players)."""

    mu: Floats
    sigma: Floats


def truncated_normal_moments(t: Any) -> tuple[Any, Any]:
    """Compute V = pdf(t)/cdf(t) and W = V (V + t), after a win by surprise -t.

    V is what a win adds to a mean, W what it takes from a variance, in units of c.
    Written with the scaled complementary error function, because cdf(t) is 0 in doubles
    below t = -38. W lies in [0, 1]; rounding beyond about t = -1e7 is clipped back.
    """
    v = _SQRT_2_OVER_PI / erfcx(-_INV_SQRT2 * t)
    return v, np.minimum(np.maximum(v * (v + t), 0.0), 1.0)


def update(
    mu: Any, variance: Any, opponent_mu: Any, opponent_variance: Any, won: Any
) -> tuple[Any, Any]:
    """Compute mean and variance of one side after a match; the other is not touched.

    Args:
        mu: score of the side, before the match; all arguments broadcast.
        variance: square of its sigma.
        opponent_mu: score of the other side.
        opponent_variance: square of its sigma.
        won: whether the side won.

    Returns:
        New mu and variance.
    """
    # Both grow uncertain between matches, as in `play`.
    own_variance = variance + TAU**2
    other_variance = opponent_variance + TAU**2
    # The deviation of the difference of the two performances.
    c2 = 2.0 * BETA**2 + own_variance + other_variance
    c = np.sqrt(c2)
    sign = np.where(won, 1.0, -1.0)
    v, w = truncated_normal_moments(sign * (mu - opponent_mu) / c)
    new_mu = mu + sign * own_variance / c * v
    new_variance = own_variance * (1.0 - own_variance / c2 * w)
    return new_mu, new_variance


def play(matches: pd.DataFrame, players: int, orders: Integers) -> Ratings:
    """Play the matches in each of many orders, every order from the prior on.

    Args:
        matches: numbers of the players who are `winner` and `loser` of each.
        players: how many there are.
        orders: match numbers in the order of play, shape (orders, length). A match may
            occur any number of times (a bootstrap resample); -1 is no match (padding).

    Returns:
        Exactly the ratings of sequential play, in each order.
    """
    # Padding is played between a player that nobody asks about and itself.
    nobody = [[players], [players]]
    sides = np.append(matches[["winner", "loser"]].to_numpy().T, nobody, axis=1)
    mu = np.full((len(orders), players + 1), MU)
    variance = np.full_like(mu, SIGMA**2)
    # In one row, in which the places of a match are looked up fastest.
    flat_mu = mu.reshape(-1)
    flat_variance = variance.reshape(-1)
    start = np.arange(0, mu.size, players + 1)
    # Match by match, because each changes what the next one finds; in all orders at
    # once. Not by `update`, which would compute both moments twice: it is by far the
    # longest loop of the ranking.
    for match in orders.T:
        both = start + sides.take(match, axis=1)
        mu_before = flat_mu.take(both)
        grown = flat_variance.take(both) + TAU**2
        c2 = grown.sum(axis=0) + 2.0 * BETA**2
        c = np.sqrt(c2)
        v, w = truncated_normal_moments((mu_before[0] - mu_before[1]) / c)
        flat_mu[both] = mu_before + _SIGNS * grown * (v / c)
        flat_variance[both] = grown * (1.0 - grown * (w / c2))
    return Ratings(mu[:, :players], np.sqrt(variance[:, :players]))
