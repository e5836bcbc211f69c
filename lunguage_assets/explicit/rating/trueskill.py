"""TrueSkill for two players without draws, for many sequences of matches at once (explicit.md section 3):
every sequence is played match by match, all of them side by side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx

from lunguage_assets.randomness import Floats

MU = 25.0
SIGMA = 8.333
BETA = 4.167
TAU = 0.083
"""The constants as the paper rounds them; 25/3, 25/6, 25/300 would move its numbers by about 1e-3."""

_INV_SQRT2 = 1.0 / math.sqrt(2.0)
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)


def corrections(t: Any) -> tuple[Any, Any]:
    """V = pdf(t)/cdf(t) and W = V (V + t), the corrections of mean and variance after a win.

    Written with the scaled complementary error function, because cdf(t) is 0 in doubles below t = -38. W lies
    in [0, 1]; rounding beyond about t = -1e7 is clipped back.
    """
    with np.errstate(over="ignore"):
        v = _SQRT_2_OVER_PI / erfcx(-_INV_SQRT2 * t)
    return v, np.clip(v * (v + t), 0.0, 1.0)


def update(
    mu: Any, variance: Any, opponent_mu: Any, opponent_variance: Any, won: Any
) -> tuple[Any, Any]:
    """Mean and variance of one side after a match (explicit.md section 5, step 3).

    The other side is not touched. Arrays broadcast; `won` is boolean. Both variances grow by tau squared
    before the match, as in `play`.
    """
    own, other = variance + TAU**2, opponent_variance + TAU**2
    c2 = 2.0 * BETA**2 + own + other
    c = np.sqrt(c2)
    sign = np.where(won, 1.0, -1.0)
    v, w = corrections(sign * (mu - opponent_mu) / c)
    return mu + sign * own / c * v, own * (1.0 - own / c2 * w)


def play(
    winners: ArrayLike, losers: ArrayLike, n_players: int, orders: ArrayLike
) -> tuple[Floats, Floats]:
    """Ratings after playing the matches in each of many orders, every order from the prior on.

    Args:
        winners: player numbers in 0..n_players-1, shape (matches,).
        losers: the same, of the other side.
        orders: match numbers in the order of play, shape (orders, length). A match may occur any number of
            times (a bootstrap resample); -1 is no match (padding).

    Returns:
        mu and sigma, each of shape (orders, n_players); exactly those of sequential play.
    """
    won, lost = (
        np.append(np.asarray(of, dtype=np.int64), n_players) for of in (winners, losers)
    )
    sequences = np.atleast_2d(np.asarray(orders, dtype=np.int64))
    mu = np.full(
        (len(sequences), n_players + 1), MU
    )  # a player more, whom padding plays
    variance = np.full(mu.shape, SIGMA**2)
    flat_mu, flat_variance = mu.reshape(-1), variance.reshape(-1)
    start = np.arange(len(sequences)) * (n_players + 1)
    for match in np.ascontiguousarray(sequences.T):
        winner, loser = start + won[match], start + lost[match]
        mu_w, mu_l = flat_mu[winner], flat_mu[loser]
        v_w, v_l = flat_variance[winner] + TAU**2, flat_variance[loser] + TAU**2
        c2 = v_w + v_l + 2.0 * BETA**2
        c = np.sqrt(c2)
        v, w = corrections((mu_w - mu_l) / c)
        v /= c
        w /= c2
        flat_mu[winner] = mu_w + v_w * v
        flat_mu[loser] = mu_l - v_l * v
        flat_variance[winner] = v_w * (1.0 - v_w * w)
        flat_variance[loser] = v_l * (1.0 - v_l * w)
    return mu[:, :n_players], np.sqrt(variance[:, :n_players])
