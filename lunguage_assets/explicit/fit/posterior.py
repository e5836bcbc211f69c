"""The score of a sentence given all its answers at once, from which its interval comes.

TrueSkill's filter depends on the order of answers and slowly forgets, so the interval
of p is made from the posterior on a grid (docs/trust.md). The prior is TrueSkill's; an
answer against a phrase is a probit with TrueSkill's noise, the phrase's score fixed.
The score that p itself is read from is the filter's, in `algorithm.py`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.randomness import Floats

Counts = NDArray[np.int16]

_GRID_STEP = 0.5
_GRID = np.arange(-25.0, 75.0 + _GRID_STEP / 2, _GRID_STEP)
"""Scores that are looked at: six prior deviations to either side of the prior. Exact to
1e-8 for posteriors of deviation 0.5 and more.
"""
_LOG_PRIOR = -0.5 * ((_GRID - trueskill.MU) / trueskill.SIGMA) ** 2

_SPREADS = np.array([0.5, 1.0, 1.5, 2.0])
_SPREAD_WEIGHTS = np.array([0.35, 0.5, 0.12, 0.03])
"""How far judges lie apart about one sentence, in units of `reading_sd`, and how often;
the mean square is close to 1.
"""

_SENTENCES_AT_ONCE = 512
"""For memory; a result depends on no other sentence."""
_SMALLEST_LIKELIHOOD = 1e-300


class Posterior(NamedTuple):
    """Mean and standard deviation of each score, both of shape (sentences,)."""

    mean: Floats
    sd: Floats


def panel_posterior(won: Counts, lost: Counts, reference: ReferenceScale) -> Posterior:
    """Estimate each sentence's score when judges read a sentence differently.

    All answers of one judge about a sentence share its reading of it. Readings are
    normal around the score. How far they lie apart is `reading_sd` on average, differs
    between sentences (`_SPREADS`), and is summed out for each sentence alone.

    Args:
        won: valid answers that the sentence won, shape (sentences, judges, phrases).
        lost: those that it lost, of the same shape.
        reference: the phrases.

    Returns:
        The posterior; without an answer it is the prior.
    """
    mean = np.empty(len(won))
    sd = np.empty(len(won))
    for start in range(0, len(won), _SENTENCES_AT_ONCE):
        block = slice(start, start + _SENTENCES_AT_ONCE)
        log_likelihood = _log_likelihood(won[block], lost[block], reference)
        density = _density(log_likelihood, reference.reading_sd)
        mean[block] = (density * _GRID).sum(axis=-1)
        squares = (_GRID - mean[block, None]) ** 2
        sd[block] = np.sqrt((density * squares).sum(axis=-1))
    return Posterior(mean, sd)


def _log_likelihood(won: Counts, lost: Counts, reference: ReferenceScale) -> Floats:
    """Log likelihood of each judge's reading, shape (sentences, judges, grid).

    Given how a judge reads the sentence, its answers stray less: the deviation of
    readings is a part of TrueSkill's noise, and is taken out of it.
    """
    noise_variance = (
        2.0 * trueskill.BETA**2 - reference.reading_sd**2 + reference.variance
    )
    noise = np.sqrt(noise_variance)[:, None]
    margin = (_GRID - reference.mu[:, None]) / noise
    of_wins: Floats = won.astype(np.float64) @ log_ndtr(margin)
    of_losses: Floats = lost.astype(np.float64) @ log_ndtr(-margin)
    return of_wins + of_losses


def _density(log_likelihood: Floats, reading_sd: float) -> Floats:
    """Density of each sentence's score on the grid, shape (sentences, grid)."""
    # Relative to the likeliest reading of each judge: where many answers are surprising
    # the likelihood itself would be 0 in doubles.
    highest = log_likelihood.max(axis=-1, keepdims=True)
    likelihood = np.exp(log_likelihood - highest)
    log_density_by_spread = []
    for weights, log_weight_of_spread in zip(
        _reading_weights(reading_sd), np.log(_SPREAD_WEIGHTS), strict=True
    ):
        # Each judge has a reading of its own, so each is summed out alone.
        by_judge = np.log(np.maximum(likelihood @ weights, _SMALLEST_LIKELIHOOD))
        log_density_by_spread.append(
            by_judge.sum(axis=1) + _LOG_PRIOR + log_weight_of_spread
        )
    log_density = np.logaddexp.reduce(log_density_by_spread, axis=0)
    density: Floats = np.exp(log_density - log_density.max(axis=-1, keepdims=True))
    density /= density.sum(axis=-1, keepdims=True)
    return density


@lru_cache(maxsize=8)
def _reading_weights(reading_sd: float) -> list[Floats]:
    """Normal weights of readings (rows) around a score (columns), for each spread."""
    weights_by_spread = []
    for deviation in (_SPREADS * reading_sd).tolist():
        weights = np.eye(len(_GRID))
        # Narrower than the grid can show is no spread: the reading is the score.
        if deviation >= _GRID_STEP / 4.0:
            weights = np.exp(-0.5 * ((_GRID[:, None] - _GRID) / deviation) ** 2)
        weights_by_spread.append(weights / weights.sum(axis=0))
    return weights_by_spread
