"""How far the scale and a sentence's score are known: intervals of mu.

Sections 3 and 6 of docs/method/explicit.md, and docs/trust.md. For the ranking answers
are resampled; all judges see the same sentence pair, so their answers to it go
together. For a sentence there is the posterior given all its answers: a judge that
reads it as more certain than the panel does so in every answer about it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_ndtr, softmax

from lunguage_assets.explicit import trueskill
from lunguage_assets.randomness import Floats, mix, random_below, text_hash
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
    resampled = mu[None, :]
    mu_sd = np.zeros(len(mu))
    if settings.bootstrap > 1:
        resampled = _resampled_mu(answers, len(mu), settings)
        mu_sd = resampled.std(axis=0, ddof=1)
    columns = {"mu_sd": mu_sd}
    estimates = {"mu": (mu, resampled), "rank": (ranks(mu), ranks(resampled))}
    for name, (estimate, of_resamples) in estimates.items():
        low, high = np.quantile(of_resamples, _LEVELS, axis=0)
        columns[f"{name}_low"] = np.minimum(low, estimate)
        columns[f"{name}_high"] = np.maximum(high, estimate)
    return columns


def ranks(mu: Floats) -> Floats:
    """Rank the phrases of every row (0 = highest mu); shape as `mu`."""
    # Slow to import, and Dagster's definitions load this module.
    from scipy.stats import rankdata

    ranked: Floats = rankdata(-mu, method="ordinal", axis=-1) - 1.0
    return ranked


def _resampled_mu(
    answers: pd.DataFrame, phrases: int, settings: ExplicitSettings
) -> Floats:
    """Rank the phrases by resamples of the sentence pairs, (resamples, phrases).

    Args:
        answers: as of `bootstrap_intervals`.
        phrases: how many there are.
        settings: seed and number of resamples.
    """
    of_pairs = answers.groupby("cluster").indices
    pairs = np.arange(len(of_pairs), dtype=np.uint64)
    seed = text_hash(settings.seed, "bootstrap")
    matches = ORDERS_PER_RESAMPLE * len(answers)
    count = min(settings.bootstrap, max(MAX_MATCHES // matches, MIN_RESAMPLES))
    at_once = max(1, _MATCHES_AT_ONCE // matches)
    blocks = []
    for numbers in np.array_split(np.arange(count), math.ceil(count / at_once)):
        orders = []
        for number in numbers.tolist():
            drawn = random_below(mix(seed, number, pairs), len(pairs))
            resample = np.concatenate([of_pairs[pair] for pair in drawn.tolist()])
            positions = np.arange(len(resample), dtype=np.uint64)
            # Every resample is played in orders of its own, as the ranking is.
            for repeat in range(1, ORDERS_PER_RESAMPLE + 1):
                hashes = mix(seed, number, repeat, positions)
                orders.append(resample[np.argsort(hashes)])
        # The shorter ones end with what is no match.
        padded = np.full((len(orders), max(map(len, orders))), -1)
        for row, order in zip(padded, orders, strict=True):
            row[: len(order)] = order
        played = trueskill.play(answers, phrases, padded)
        of_resamples = played.mu.reshape(-1, ORDERS_PER_RESAMPLE, phrases)
        blocks.append(of_resamples.mean(axis=1))
    return np.concatenate(blocks)


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


def panel_posterior(answers: NDArray[np.int16], ranking: pd.DataFrame) -> Posterior:
    """Estimate each sentence's score given all its answers at once.

    TrueSkill's filter, from which p is read, depends on the order of answers and slowly
    forgets; so the interval of p is made from the posterior on a grid. The prior is
    TrueSkill's; an answer against a phrase is a probit with TrueSkill's noise. All
    answers of one judge about a sentence share its reading of it. Readings are normal
    around the score. How far they lie apart is `READING_SD` on average, differs between
    sentences (`_SPREADS`), and is summed out for each sentence alone.

    Args:
        answers: how often the sentence lost and won, shape (sentences, judges, phrases,
            2); what else was said is left out.
        ranking: `mu` and `sigma` of the phrases, which are fixed.

    Returns:
        The posterior; without an answer it is the prior.
    """
    # Given how a judge reads the sentence, its answers stray less: the deviation of
    # readings is a part of TrueSkill's noise, and is taken out of it.
    variance = ranking["sigma"].to_numpy() ** 2
    noise = np.sqrt(2.0 * trueskill.BETA**2 - READING_SD**2 + variance)
    margin = (_GRID - ranking["mu"].to_numpy()[:, None]) / noise[:, None]
    blocks = []
    for start in range(0, max(len(answers), 1), _SENTENCES_AT_ONCE):
        times = answers[start : start + _SENTENCES_AT_ONCE].astype(np.float64)
        lost, won, *_ = np.moveaxis(times, -1, 0)
        density = _density(won @ log_ndtr(margin) + lost @ log_ndtr(-margin))
        mean = (density * _GRID).sum(axis=-1)
        squares = (_GRID - mean[:, None]) ** 2
        blocks.append([mean, np.sqrt((density * squares).sum(axis=-1))])
    return Posterior(*np.concatenate(blocks, axis=1))


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
    density: Floats = softmax(np.logaddexp.reduce(by_spread, axis=1), axis=-1)
    return density


@cache
def _reading_weights() -> Floats:
    """Compute normal weights of readings around scores, (spreads, readings, scores)."""
    deviations = _SPREADS[:, None, None] * READING_SD
    distances = (_GRID[:, None] - _GRID) / deviations
    weights: Floats = softmax(-0.5 * distances**2, axis=1)
    return weights
