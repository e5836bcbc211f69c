"""How far judges lie apart in reading one sentence, estimated from the comparison matches (explicit.md
section 6).

A judge that reads a sentence as more certain than the panel does so in every match of that sentence. What a
sentence's judges share (its own wording) and what a single answer strays by cancel out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr

from lunguage_assets.explicit.rating.trueskill import BETA
from lunguage_assets.randomness import Floats, Integers

NOISE = math.sqrt(2.0) * BETA
"""Standard deviation of the difference of two performances."""

ASSUMED_DEVIATION = 3.0
"""Deviation of judges' readings of a sentence where none can be estimated, in units of mu (explicit.md
section 6): between what the published agreement leaves room for, 2.7, and the 5 of the one public log.
"""


def reading_deviation(
    phrases: Sequence[str], mu: Floats, matches: Mapping[str, pd.DataFrame]
) -> float:
    """Standard deviation of judges' readings of one sentence around its place, in units of mu.

    Args:
        phrases: the ranked phrases.
        mu: their places in the panel's ranking, shape (phrases,).
        matches: `COMPARISON_MATCHES` frame per judge, all about the same sentence pairs.

    In a match a judge's answer departs from the panel's mean answer. Two departures of one judge about one
    sentence, against two different phrases, have the readings' variance times the two slopes of the probit as
    expected product. The sum of all products over the sum of the slopes' products is the estimate; it is
    averaged with the default by precision, and never exceeds beta. Only matches that every judge answered
    validly count.
    """
    if len(matches) < 2:
        return ASSUMED_DEVIATION
    frames = [
        frame.sort_values("match_id", kind="stable") for frame in matches.values()
    ]
    valid = np.all([frame["winner"].notna().to_numpy() for frame in frames], axis=0)
    valid &= (frames[0]["sentence_a"] != frames[0]["sentence_b"]).to_numpy(dtype=bool)
    frames = [frame[valid] for frame in frames]
    if not valid.any():
        return ASSUMED_DEVIATION
    variance, error = _variance(phrases, mu, frames)
    if not math.isfinite(error):
        return ASSUMED_DEVIATION
    weight, weight_of_default = 1.0 / error**2, 1.0 / ASSUMED_DEVIATION**4
    mean = (weight * variance + weight_of_default * ASSUMED_DEVIATION**2) / (
        weight + weight_of_default
    )
    return min(math.sqrt(max(mean, 0.0)), BETA)


def _variance(
    phrases: Sequence[str], mu: Floats, frames: Sequence[pd.DataFrame]
) -> tuple[float, float]:
    """Variance of the readings and its standard error; infinite when no sentence was in two matches.

    The error is that seen between sentences, or that of coins as uneven as the answers, whichever is greater:
    a few judges that happen to agree are no proof. `frames` are the judges' answers to the same matches.
    """
    one, judges = frames[0], len(frames)
    first, second = (
        pd.Index(phrases).get_indexer(pd.Index(one[f"phrase_{side}"])) for side in "ab"
    )
    own, _ = pd.factorize(pd.concat([one["sentence_a"], one["sentence_b"]]))
    phrase_a = one["phrase_a"].to_numpy()
    won = np.array(
        [frame["winner"].to_numpy() == phrase_a for frame in frames], dtype=np.float64
    )
    share = (
        1.0 - 1.0 / judges
    )  # of a judge's variance that is left in its departure from the mean
    departure = won - won.mean(axis=0)
    gap = (mu[first] - mu[second]) / NOISE
    slope = np.exp(-0.5 * gap**2) / (math.sqrt(2.0 * math.pi) * NOISE)
    coin = ndtr(gap) * ndtr(-gap) * share
    against = np.concatenate([second, first])
    sides = np.stack([np.concatenate([slope, slope]), np.concatenate([coin, coin])])
    slopes, coins = _pairs_of_matches(own, against, sides).sum(axis=1).tolist()
    information = slopes * judges * share
    if information <= 0.0:
        return 0.0, math.inf
    products = _pairs_of_matches(
        own, against, np.concatenate([departure, -departure], axis=1)
    )
    seen = float((products.sum(axis=0) ** 2).sum())
    return float(products.sum()) / information, math.sqrt(
        max(seen, 2.0 * judges * coins)
    ) / information


def _pairs_of_matches(own: Integers, against: Integers, values: Floats) -> Floats:
    """Sum of the products of the values of two different matches of a sentence, against different phrases.

    Args:
        own, against: a match's sentence and its opponent's phrase, shape (matches,).
        values: shape (rows, matches).

    Returns:
        Shape (rows, sentences); every pair of matches counts twice.
    """
    size = int(own.max()) + 1
    _, block = np.unique(own * (int(against.max()) + 1) + against, return_inverse=True)
    owner = np.zeros(int(block.max()) + 1, dtype=np.int64)
    owner[block] = own
    sums = []
    for row in values:
        by_block = np.bincount(block, weights=row)
        total = np.bincount(owner, weights=by_block, minlength=size)
        sums.append(total**2 - np.bincount(owner, weights=by_block**2, minlength=size))
    return np.array(sums)
