"""How far the scale and a sentence's score are known: intervals of mu.

Sections 3 and 6 of docs/method/explicit.md, and docs/trust.md. For the ranking answers
are resampled; all judges see the same sentence pair, so their answers to it go
together. For a sentence there is the posterior given all its answers: a judge that
reads it as more certain than the panel does so in every answer about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_ndtr

from lunguage_assets.explicit import trueskill
from lunguage_assets.randomness import Floats, Integers, mix, random_below, text_hash
from lunguage_assets.settings import ExplicitSettings

# The ranking

ORDERS_PER_RESAMPLE = 2
"""Random orders that a resample is averaged over. The ranking has more: its intervals
have a little of the noise of orders in them.
"""

MAX_MATCHES = 100_000_000
"""Matches that all resamples play together, about half a minute on one core."""
MIN_RESAMPLES = 50
"""With many phrases there are fewer resamples, down to this."""

_MATCHES_AT_ONCE = 10_000_000
"""Matches of resamples that are played side by side, for memory."""
_LEVELS = (0.025, 0.975)
_PADDING = -1


def bootstrap_intervals(
    answers: pd.DataFrame, mu: Floats, settings: ExplicitSettings
) -> dict[str, Floats]:
    """Compute the deviation of mu, and 95% percentile intervals of mu and rank.

    Args:
        answers: as `ranking.collect_answers` returns them.
        mu: the ranking's mu, shape (phrases,); an interval always contains it.
        settings: seed, and `bootstrap` resamples; with fewer than two, intervals are
            points. See `MAX_MATCHES` for very many answers.

    Returns:
        By the name of their column, each of shape (phrases,).
    """
    resampled_mu = mu[None, :]
    mu_sd = np.zeros(len(mu))
    if settings.bootstrap > 1:
        affordable = MAX_MATCHES // (ORDERS_PER_RESAMPLE * len(answers))
        count = min(settings.bootstrap, max(affordable, MIN_RESAMPLES))
        played = [
            trueskill.play(answers, len(mu), orders).mu
            for orders in _resampled_orders(answers["cluster"], count, settings.seed)
        ]
        by_resample = np.concatenate(played).reshape(count, -1, len(mu))
        resampled_mu = by_resample.mean(axis=1)
        mu_sd = resampled_mu.std(axis=0, ddof=1)
    columns = {"mu_sd": mu_sd}
    estimates = {"mu": (mu, resampled_mu), "rank": (ranks(mu), ranks(resampled_mu))}
    for name, (estimate, resampled) in estimates.items():
        low, high = np.quantile(resampled, _LEVELS, axis=0)
        columns[f"{name}_low"] = np.minimum(low, estimate)
        columns[f"{name}_high"] = np.maximum(high, estimate)
    return columns


def ranks(mu: Floats) -> Floats:
    """Rank the phrases of every row (0 = highest mu); shape as `mu`."""
    order = np.argsort(-mu, axis=-1, kind="stable")
    return np.argsort(order, axis=-1, kind="stable").astype(np.float64)


def _resampled_orders(cluster: pd.Series, count: int, seed: int) -> Iterator[Integers]:
    """Draw orders of play for a few resamples at a time.

    Yields:
        Answer numbers, shape (resamples x orders, longest), padded with -1.
    """
    sizes = np.bincount(cluster)
    by_cluster = np.argsort(cluster.to_numpy(), kind="stable")
    answers_of_clusters = np.split(by_cluster, np.cumsum(sizes)[:-1])
    seed = text_hash(seed, "bootstrap")
    draws = np.arange(len(sizes), dtype=np.uint64)
    at_once = max(1, _MATCHES_AT_ONCE // (ORDERS_PER_RESAMPLE * len(cluster)))
    for first in range(0, count, at_once):
        orders = []
        for resample in range(first, min(first + at_once, count)):
            clusters = random_below(mix(seed, resample, draws), len(sizes))
            answers = np.concatenate([answers_of_clusters[c] for c in clusters])
            positions = np.arange(len(answers), dtype=np.uint64)
            # Every resample is played in orders of its own, as the ranking is.
            for order in range(1, ORDERS_PER_RESAMPLE + 1):
                hashes = mix(seed, resample, order, positions)
                orders.append(answers[np.argsort(hashes)])
        padded = np.full((len(orders), max(map(len, orders))), _PADDING)
        for row, answers in zip(padded, orders, strict=True):
            row[: len(answers)] = answers
        yield padded


# A sentence

READING_SD = 3.0
"""Deviation of judges' readings of one sentence, in units of mu: between what the
published agreement leaves room for, 2.7, and the 5 of the one public log.
"""

_GRID_STEP = 0.5
_GRID = np.arange(-25.0, 75.0 + _GRID_STEP / 2, _GRID_STEP)
"""Scores that are looked at: six prior deviations to either side of the prior. Exact to
1e-8 for posteriors of deviation 0.5 and more.
"""
_LOG_PRIOR = -0.5 * ((_GRID - trueskill.MU) / trueskill.SIGMA) ** 2

_SPREADS = np.array([0.5, 1.0, 1.5, 2.0])
_SPREAD_WEIGHTS = np.array([0.35, 0.5, 0.12, 0.03])
"""How far judges lie apart about one sentence, in units of `READING_SD`, and how often;
the mean square is close to 1.
"""

_SENTENCES_AT_ONCE = 512
"""For memory; a result depends on no other sentence."""
_SMALLEST_LIKELIHOOD = 1e-300


class Posterior(NamedTuple):
    """Mean and standard deviation of each score, both of shape (sentences,)."""

    mean: Floats
    sd: Floats


def panel_posterior(
    answers: NDArray[np.int16],
    mu: Floats,
    variance: Floats,
) -> Posterior:
    """Estimate each sentence's score given all its answers at once.

    TrueSkill's filter, from which p is read, depends on the order of answers and slowly
    forgets; so the interval of p is made from the posterior on a grid. The prior is
    TrueSkill's; an answer against a phrase is a probit with TrueSkill's noise. All
    answers of one judge about a sentence share its reading of it. Readings are normal
    around the score. How far they lie apart is `READING_SD` on average, differs between
    sentences (`_SPREADS`), and is summed out for each sentence alone.

    Args:
        answers: valid answers that the sentence lost and won, shape (sentences, judges,
            phrases, 2).
        mu: scores of the phrases, which are fixed.
        variance: squares of their sigma.

    Returns:
        The posterior; without an answer it is the prior.
    """
    # Given how a judge reads the sentence, its answers stray less: the deviation of
    # readings is a part of TrueSkill's noise, and is taken out of it.
    noise = np.sqrt(2.0 * trueskill.BETA**2 - READING_SD**2 + variance)[:, None]
    margin = (_GRID - mu[:, None]) / noise
    mean = np.empty(len(answers))
    sd = np.empty(len(answers))
    for start in range(0, len(answers), _SENTENCES_AT_ONCE):
        block = slice(start, start + _SENTENCES_AT_ONCE)
        lost, won = np.moveaxis(answers[block].astype(np.float64), -1, 0)
        log_likelihood = won @ log_ndtr(margin) + lost @ log_ndtr(-margin)
        density = _density(log_likelihood)
        mean[block] = (density * _GRID).sum(axis=-1)
        squares = (_GRID - mean[block, None]) ** 2
        sd[block] = np.sqrt((density * squares).sum(axis=-1))
    return Posterior(mean, sd)


def _density(log_likelihood: Floats) -> Floats:
    """Compute the density of each sentence's score on the grid, (sentences, grid).

    Args:
        log_likelihood: of each judge's reading, shape (sentences, judges, grid).
    """
    # Relative to the likeliest reading of each judge: where many answers are surprising
    # the likelihood itself would be 0 in doubles.
    highest = log_likelihood.max(axis=-1, keepdims=True)
    likelihood = np.exp(log_likelihood - highest)
    # Each judge has a reading of its own, so each is summed out alone.
    by_judge = likelihood[:, None] @ _reading_weights()
    by_spread = np.log(np.maximum(by_judge, _SMALLEST_LIKELIHOOD)).sum(axis=2)
    by_spread += _LOG_PRIOR
    by_spread += np.log(_SPREAD_WEIGHTS)[:, None]
    log_density = np.logaddexp.reduce(by_spread, axis=1)
    density: Floats = np.exp(log_density - log_density.max(axis=-1, keepdims=True))
    density /= density.sum(axis=-1, keepdims=True)
    return density


@cache
def _reading_weights() -> Floats:
    """Compute normal weights of readings around scores, (spreads, readings, scores)."""
    deviations = _SPREADS[:, None, None] * READING_SD
    weights: Floats = np.exp(-0.5 * ((_GRID[:, None] - _GRID) / deviations) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
