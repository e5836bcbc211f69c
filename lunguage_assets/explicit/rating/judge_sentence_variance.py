"""How far judges differ in reading one sentence, estimated from comparison matches.

Section 6 of docs/method/explicit.md. A judge that reads a sentence as more certain than
the panel does so in every match of that sentence. What a sentence's judges share (its
own wording), and what a single answer strays by, cancel out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr

from lunguage_assets.explicit.rating.trueskill import BETA, DIFFERENCE_SD
from lunguage_assets.randomness import Floats, Integers

ASSUMED_DEVIATION = 3.0
"""Deviation of judges' readings where none can be estimated, in units of mu: between
what the published agreement leaves room for, 2.7, and the 5 of the one public log.
"""


def judge_sentence_deviation(
    phrases: Sequence[str], mu: Floats, matches: Mapping[str, pd.DataFrame]
) -> float:
    """Estimate how far judges' readings of a sentence lie from its score, in mu.

    In a match a judge's answer departs from the panel's mean answer. Two departures of
    one judge about one sentence, against two different phrases, have as their expected
    product the readings' variance times the two slopes of the probit. The sum of all
    products over the sum of the slopes' products is the estimate; it is averaged with
    the default by precision, and never exceeds beta.

    Args:
        phrases: the ranked phrases.
        mu: their scores in the panel's ranking, shape (phrases,).
        matches: `COMPARISON_MATCHES` frame per judge, all about the same sentence
            pairs. Only those that every judge answered validly count.

    Returns:
        A standard deviation.
    """
    if len(matches) < 2:
        return ASSUMED_DEVIATION
    frames = [
        frame.sort_values("match_id", kind="stable") for frame in matches.values()
    ]
    is_valid = np.all([frame["winner"].notna().to_numpy() for frame in frames], axis=0)
    # A sentence that meets itself says nothing of how it is read.
    is_different = frames[0]["sentence_a"] != frames[0]["sentence_b"]
    is_valid &= is_different.to_numpy(dtype=bool)
    if not is_valid.any():
        return ASSUMED_DEVIATION
    variance, error = _estimate_variance(
        phrases, mu, [frame[is_valid] for frame in frames]
    )
    if not math.isfinite(error):
        return ASSUMED_DEVIATION
    weight = 1.0 / error**2
    weight_of_default = 1.0 / ASSUMED_DEVIATION**4
    weighted = weight * variance + weight_of_default * ASSUMED_DEVIATION**2
    mean = weighted / (weight + weight_of_default)
    return min(math.sqrt(max(mean, 0.0)), BETA)


def _estimate_variance(
    phrases: Sequence[str], mu: Floats, frames: Sequence[pd.DataFrame]
) -> tuple[float, float]:
    """Estimate the variance of readings from the judges' answers to the same matches.

    Returns:
        The variance and its standard error, which is infinite when nothing is known.
    """
    matches = frames[0]
    judges = len(frames)
    phrase_numbers = pd.Index(phrases)
    phrase_a = phrase_numbers.get_indexer(pd.Index(matches["phrase_a"]))
    phrase_b = phrase_numbers.get_indexer(pd.Index(matches["phrase_b"]))
    # Every match is listed twice: for its sentence a against phrase b, and reversed.
    both_sentences = pd.concat([matches["sentence_a"], matches["sentence_b"]])
    sentence, _ = pd.factorize(both_sentences)
    against = np.concatenate([phrase_b, phrase_a])

    wording_a = matches["phrase_a"].to_numpy()
    has_a_won = np.array(
        [frame["winner"].to_numpy() == wording_a for frame in frames], dtype=np.float64
    )
    departure = has_a_won - has_a_won.mean(axis=0)
    departures = np.concatenate([departure, -departure], axis=1)
    # Of a judge's variance, what is left in its departure from the panel's mean.
    share = 1.0 - 1.0 / judges

    gap = (mu[phrase_a] - mu[phrase_b]) / DIFFERENCE_SD
    # How steeply the probability of a win rises with mu, at this gap.
    slope = np.exp(-0.5 * gap**2) / (math.sqrt(2.0 * math.pi) * DIFFERENCE_SD)
    coin_variance = ndtr(gap) * ndtr(-gap) * share
    expected = np.tile([slope, coin_variance], 2)
    expected_products = _products_of_matches(sentence, against, expected)
    slopes, coin_variances = expected_products.sum(axis=1).tolist()
    information = slopes * judges * share
    if information <= 0.0:
        return 0.0, math.inf
    products = _products_of_matches(sentence, against, departures)
    between_sentences = float((products.sum(axis=0) ** 2).sum())
    # The error seen between sentences, or that of coins as uneven as the answers: a few
    # judges that happen to agree are no proof that judges do.
    of_coins = 2.0 * judges * coin_variances
    error = math.sqrt(max(between_sentences, of_coins)) / information
    return float(products.sum()) / information, error


def _products_of_matches(
    sentence: Integers, against: Integers, values: Floats
) -> Floats:
    """Sum the products of two different matches of a sentence, against other phrases.

    Args:
        sentence: number of each match's sentence, shape (matches,).
        against: number of its opponent's phrase, shape (matches,).
        values: what is multiplied, shape (rows, matches).

    Returns:
        Shape (rows, sentences); every pair of matches counts twice.
    """
    sentences = int(sentence.max()) + 1
    # Matches of a sentence against one phrase are a block, within which no pair counts:
    # the square of the total, less the squares of the blocks, is what remains.
    pair = sentence * (int(against.max()) + 1) + against
    _, block = np.unique(pair, return_inverse=True)
    sentence_of_block = np.zeros(int(block.max()) + 1, dtype=np.int64)
    sentence_of_block[block] = sentence
    sums = []
    for row in values:
        by_block = np.bincount(block, weights=row)
        total = np.bincount(sentence_of_block, weights=by_block, minlength=sentences)
        squares = np.bincount(
            sentence_of_block, weights=by_block**2, minlength=sentences
        )
        sums.append(total**2 - squares)
    return np.array(sums)
