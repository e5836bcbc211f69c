"""A ranking without an order of play, as a cross-check of TrueSkill (explicit.md section 3).

TrueSkill plays matches one after the other and forgets slowly, so its places depend somewhat on the order and
keep a steady-state deviation. Here the same model (prior N(25, 8.333^2) per phrase, a performance noise of
4.167 on either side) is given all matches together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.explicit.rating.trueskill import BETA, MU, SIGMA, corrections

NOISE = math.sqrt(2.0) * BETA
"""Standard deviation of the difference of two performances."""

CONVERGED = 1e-10
_ITERATIONS = 200
_SMALLEST_STEP = 2.0**-40


@dataclass(frozen=True)
class OrderFreePlaces:
    """Posterior mode and standard deviation per phrase, shape (phrases,).

    `iterations` are those of Newton's method. The deviation is that of the normal approximation at the mode,
    and takes answers as independent. Answers of several judges to one sentence pair are not, so it is too
    narrow as an error bar: the ranking's bootstrap is the error bar.
    """

    mu: Floats
    sd: Floats
    iterations: int


@dataclass(frozen=True)
class OrderFreeAgreement:
    """The distance of the order-free places from TrueSkill's.

    Largest |difference| in units of mu, its phrase, and Spearman's correlation.
    """

    largest_deviation: float
    phrase: str
    spearman: float | None


def order_free_places(winners: ArrayLike, losers: ArrayLike, n_phrases: int) -> OrderFreePlaces:
    """Places of highest posterior density given all matches at once, by Newton's method.

    The model is a probit (Thurstone).

    Args:
        winners, losers: phrase numbers in 0..n_phrases-1, shape (matches,), in any order.

    The posterior is strictly log-concave, so there is one mode, also for a phrase that won or lost every
    match; a phrase without a match stays at the prior.

    Raises:
        MethodError: no convergence.
    """
    won, lost, times = _distinct(winners, losers, n_phrases)
    mu = np.full(n_phrases, MU)
    value = _loss(mu, won, lost, times)
    for iteration in range(1, _ITERATIONS + 1):
        gradient, curvature = _derivatives(mu, won, lost, times)
        change: Floats = np.asarray(np.linalg.solve(curvature, -gradient), dtype=np.float64)
        if np.abs(change).max(initial=0.0) < CONVERGED:
            return OrderFreePlaces(mu + change, np.sqrt(np.diag(np.linalg.inv(curvature))), iteration)
        mu, value = _descend(mu, change, value, won, lost, times)
    raise MethodError(
        "the order-free ranking did not converge. Report this with the number of phrases and matches."
    )


def compare_with_order(ranking: pd.DataFrame) -> OrderFreeAgreement | None:
    """Agreement of the two estimates in a `REFERENCE_RANKING` frame.

    None for the published ruler, which has no matches. Spearman's correlation is None where it is undefined
    (all places equal).
    """
    known = ranking[ranking["mu_order_free"].notna()]
    if known.empty:
        return None
    mu, other = known["mu"].to_numpy(dtype=np.float64), known["mu_order_free"].to_numpy(dtype=np.float64)
    furthest = int(np.argmax(np.abs(mu - other)))
    return OrderFreeAgreement(
        float(abs(mu - other)[furthest]), str(known["phrase"].iloc[furthest]), rank_correlation(mu, other)
    )


def rank_correlation(one: Floats, two: Floats) -> float | None:
    """Spearman's correlation of two sets of places, shape (phrases,).

    None where it is undefined: fewer than two places, or all equal.
    """
    from scipy.stats import spearmanr  # slow to import, and definitions load this module

    if len(one) < 2 or np.ptp(one) == 0.0 or np.ptp(two) == 0.0:
        return None
    return float(spearmanr(one, two).statistic)


def _distinct(winners: ArrayLike, losers: ArrayLike, n_phrases: int) -> tuple[Integers, Integers, Floats]:
    """Every winner and loser that met, and how often; the same whatever the order of the matches."""
    codes = np.asarray(winners, dtype=np.int64) * n_phrases + np.asarray(losers, dtype=np.int64)
    times = np.bincount(codes, minlength=n_phrases * n_phrases)
    met = np.flatnonzero(times).astype(np.int64)
    return met // n_phrases, met % n_phrases, times[met].astype(np.float64)


def _loss(mu: Floats, won: Integers, lost: Integers, times: Floats) -> float:
    """Negative log posterior up to a constant."""
    likelihood = times @ log_ndtr((mu[won] - mu[lost]) / NOISE)
    return float((((mu - MU) / SIGMA) ** 2).sum() / 2.0 - likelihood)


def _derivatives(mu: Floats, won: Integers, lost: Integers, times: Floats) -> tuple[Floats, Floats]:
    """Gradient (phrases,) and Hessian (phrases, phrases) of the loss.

    V and W of TrueSkill are the probit's derivatives.
    """
    size = len(mu)
    v, w = corrections((mu[won] - mu[lost]) / NOISE)
    pull, weight = times * v / NOISE, times * w / NOISE**2
    gradient = (mu - MU) / SIGMA**2 + np.bincount(lost, pull, size) - np.bincount(won, pull, size)
    between = np.bincount(won * size + lost, weight, size * size).reshape(size, size)
    between = between + between.T
    return gradient, np.diag(1.0 / SIGMA**2 + between.sum(axis=1)) - between


def _descend(
    mu: Floats, change: Floats, value: float, won: Integers, lost: Integers, times: Floats
) -> tuple[Floats, float]:
    """A Newton step, halved until the loss does not rise (beyond rounding)."""
    share = 1.0
    while True:
        moved = mu + share * change
        now = _loss(moved, won, lost, times)
        if now <= value + 1e-12 * abs(value) or share < _SMALLEST_STEP:
            return moved, now
        share /= 2.0
