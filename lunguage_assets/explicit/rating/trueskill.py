"""TrueSkill for two players without draws, for many sequences of matches at once (explicit.md section 3).

Sequences are replayed exactly: matches of one sequence that share no player commute, so they are gathered
into waves, and one wave of all sequences is one vectorised step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfcx

from lunguage_assets.draws import Floats, Integers

MU = 25.0
SIGMA = 8.333
BETA = 4.167
TAU = 0.083
"""The constants as the paper rounds them; 25/3, 25/6, 25/300 would move its numbers by about 1e-3."""

_SEQUENCES_AT_ONCE, _MATCHES_AT_ONCE = 128, 2_000_000
"""Many sequences go side by side, a stretch of matches after the other: wide waves in bounded memory."""

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


def update(mu: Any, variance: Any, opponent_mu: Any, opponent_variance: Any, won: Any) -> tuple[Any, Any]:
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


def play(winners: ArrayLike, losers: ArrayLike, n_players: int, orders: ArrayLike) -> tuple[Floats, Floats]:
    """Ratings after playing the matches in each of many orders, every order from the prior on.

    Args:
        winners: player numbers in 0..n_players-1, shape (matches,).
        losers: the same, of the other side.
        orders: match numbers in the order of play, shape (orders, length). A match may occur any number of
            times (a bootstrap resample); -1 is no match (padding).

    Returns:
        mu and sigma, each of shape (orders, n_players); exactly those of sequential play.
    """
    won, lost = np.asarray(winners, dtype=np.int64), np.asarray(losers, dtype=np.int64)
    sequences = np.atleast_2d(np.asarray(orders, dtype=np.int64))
    mu = np.full((len(sequences), n_players), MU)
    variance = np.full((len(sequences), n_players), SIGMA**2)
    for start in range(0, len(sequences), _SEQUENCES_AT_ONCE):
        part = slice(start, start + _SEQUENCES_AT_ONCE)
        stretch = _MATCHES_AT_ONCE // len(mu[part])
        for first in range(0, sequences.shape[1], stretch):
            _play_block(won, lost, sequences[part, first : first + stretch], mu[part], variance[part])
    return mu, np.sqrt(variance)


def _play_block(won: Integers, lost: Integers, sequences: Integers, mu: Floats, variance: Floats) -> None:
    """Play on in some sequences, changing `mu` and `variance` (contiguous blocks of rows) in place."""
    n_orders, n_players = mu.shape
    if not sequences.size or not len(won):
        return
    offset = np.arange(n_orders, dtype=np.int64) * n_players
    matches = np.ascontiguousarray(sequences.T)
    winner, loser = won[matches] + offset, lost[matches] + offset
    padding = matches < 0
    winner[padding] = loser[padding] = n_orders * n_players
    wave = _waves(winner, loser, n_orders * n_players)
    wave[padding] = wave.max(initial=0) + 1
    narrow = wave.astype(np.uint16) if wave.max(initial=0) < 2**16 else wave  # short integers sort by radix
    by_wave = np.argsort(narrow, axis=None, kind="stable")[: padding.size - np.count_nonzero(padding)]
    winner, loser = winner.ravel()[by_wave], loser.ravel()[by_wave]
    flat_mu, flat_variance = mu.reshape(-1), variance.reshape(-1)
    start = 0
    for size in np.bincount(wave.ravel()).tolist():
        end = min(start + size, len(by_wave))
        _play_wave(winner[start:end], loser[start:end], flat_mu, flat_variance)
        start = end


def _waves(winner: Integers, loser: Integers, n_slots: int) -> NDArray[np.int32]:
    """Wave of every match, shape (length, orders).

    It is one more than the latest earlier wave of either player in that order.
    """
    latest = np.full(n_slots + 1, -1, dtype=np.int32)  # the last slot takes the padding
    wave = np.empty(winner.shape, dtype=np.int32)
    for position in range(len(winner)):
        w, l = winner[position], loser[position]  # noqa: E741
        own = np.maximum(latest[w], latest[l])
        own += 1
        wave[position] = own
        latest[w] = own
        latest[l] = own
    return wave


def _play_wave(winner: Integers, loser: Integers, mu: Floats, variance: Floats) -> None:
    """Play matches that share no player."""
    mu_w, mu_l = mu[winner], mu[loser]
    v_w, v_l = variance[winner] + TAU**2, variance[loser] + TAU**2
    c2 = v_w + v_l + 2.0 * BETA**2
    c = np.sqrt(c2)
    v, w = corrections((mu_w - mu_l) / c)
    v /= c
    w /= c2
    mu[winner] = mu_w + v_w * v
    mu[loser] = mu_l - v_l * v
    variance[winner] = v_w * (1.0 - v_w * w)
    variance[loser] = v_l * (1.0 - v_l * w)
