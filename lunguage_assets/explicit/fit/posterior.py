"""The posterior of a sentence's place given all its answers at once, on a grid (docs/trust.md).

TrueSkill's filter depends on the order of the answers and slowly forgets; this does neither. The prior is
TrueSkill's, N(25, 8.333 squared); an answer against a reference phrase is a probit with TrueSkill's noise,
the phrase's place fixed. Which answers there are is in `fits.py`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr

from lunguage_assets.draws import Floats
from lunguage_assets.explicit.fit.fits import Counts, Reference
from lunguage_assets.explicit.rating import trueskill

_STEP = 0.5
_GRID = np.arange(-25.0, 75.0 + _STEP / 2, _STEP)
"""Six prior deviations to either side; exact to 1e-8 for posteriors of deviation 0.5 and more."""

_PRIOR = -0.5 * ((_GRID - trueskill.MU) / trueskill.SIGMA) ** 2
_BLOCK = 512
"""Sentences at a time, for memory; a result depends on no other sentence."""

_TINY = 1e-300
_SPREADS = np.array([0.5, 1.0, 1.5, 2.0])
_SPREAD_WEIGHTS = np.array([0.35, 0.5, 0.12, 0.03])
"""How far judges lie apart about one sentence, in units of `reading_sd`; the mean square is close to 1."""


def posterior_of_a_panel(won: Counts, lost: Counts, reference: Reference) -> tuple[Floats, Floats]:
    """Mean and deviation of each sentence's place when judges read a sentence differently.

    A judge's answers about one sentence share its reading. Readings are normal around the place. How far they
    lie apart is the ranking's `reading_sd` on average and differs between sentences (`_SPREADS`), which is
    summed out for each sentence alone.

    Args:
        won, lost: valid answers, shape (sentences, judges, phrases).
        reference: the phrases.

    Returns:
        Two arrays of shape (sentences,); without an answer they are the prior's.
    """
    mean, sd = np.empty(len(won)), np.empty(len(won))
    kernels = _kernels(reference.reading_sd)
    for start in range(0, len(won), _BLOCK):
        part = slice(start, start + _BLOCK)
        alone = _likelihood(won[part], lost[part], reference)
        likelihood = np.exp(alone - alone.max(axis=-1, keepdims=True))
        by_spread = [
            np.log(np.maximum(likelihood @ kernel, _TINY)).sum(axis=1) + _PRIOR + weight
            for kernel, weight in zip(kernels, np.log(_SPREAD_WEIGHTS), strict=True)
        ]
        log_density = np.logaddexp.reduce(by_spread, axis=0)
        density = np.exp(log_density - log_density.max(axis=-1, keepdims=True))
        density /= density.sum(axis=-1, keepdims=True)
        mean[part] = (density * _GRID).sum(axis=-1)
        sd[part] = np.sqrt((density * (_GRID - mean[part, None]) ** 2).sum(axis=-1))
    return mean, sd


def _likelihood(won: Counts, lost: Counts, reference: Reference) -> Floats:
    """Log likelihood on the grid, shape (sentences, judges, grid).

    Given how a judge reads the sentence, its answers stray less: the deviation of readings is a part of
    TrueSkill's noise.
    """
    noise = np.sqrt(2.0 * trueskill.BETA**2 - reference.reading_sd**2 + reference.variance)[:, None]
    ahead = (_GRID - reference.mu[:, None]) / noise
    likelihood: Floats = won.astype(np.float64) @ log_ndtr(ahead) + lost.astype(np.float64) @ log_ndtr(-ahead)
    return likelihood


@lru_cache(maxsize=8)
def _kernels(reading_sd: float) -> list[Floats]:
    """Normal weights of readings (rows) around a place (columns), for each of `_SPREADS`; narrower than the
    grid sees, a judge's reading is the place.
    """
    kernels = []
    for deviation in (_SPREADS * reading_sd).tolist():
        weights = np.eye(len(_GRID))
        if deviation >= _STEP / 4.0:
            weights = np.exp(-0.5 * ((_GRID[:, None] - _GRID) / deviation) ** 2)
        kernels.append(weights / weights.sum(axis=0))
    return kernels
