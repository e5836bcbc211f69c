"""Intervals of the reference ranking, and how far judges differ in reading a sentence.

Sections 3 and 6 of docs/method/explicit.md. All judges see the same sentence pair, so
their answers to it are resampled together; resampling single answers would make the
intervals too narrow. A judge that reads a sentence as more certain than the panel does
so in every match of that sentence; what its judges share (its own wording), and what a
single answer strays by, cancel out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr

from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.randomness import Floats, Integers, mix, random_below, text_hash
from lunguage_assets.settings import ExplicitSettings

ORDERS_PER_RESAMPLE = 2
"""Random orders per resample: the fewest that show the spread between orders, which is
then taken out.
"""

MAX_MATCHES = 100_000_000
"""Matches that all resamples play together, about half a minute on one core."""
MIN_RESAMPLES = 50
"""With many phrases there are fewer resamples, down to this."""

ASSUMED_DEVIATION = 3.0
"""Deviation of judges' readings where none can be estimated, in units of mu: between
what the published agreement leaves room for, 2.7, and the 5 of the one public log.
"""

_MATCHES_AT_ONCE = 10_000_000
"""Matches of resamples that are played side by side, for memory."""
_LEVELS = (0.025, 0.975)
_PADDING = -1


def bootstrap_intervals(
    winner: Integers,
    loser: Integers,
    cluster: Integers,
    mu: Floats,
    settings: ExplicitSettings,
) -> dict[str, Floats]:
    """Compute the deviation of mu, and 95% percentile intervals of mu and rank.

    A resample is averaged over few orders of play, the ranking over many: the excess of
    order noise is estimated from the spread between a resample's orders, and taken out
    by shrinking the deviations.

    Args:
        winner: phrase number of each answer's winner, shape (answers,).
        loser: that of its loser.
        cluster: number of the sentence pair that it is about.
        mu: the ranking's mu, shape (phrases,); an interval always contains it.
        settings: seed, `orders`, and `bootstrap` resamples; with fewer than two,
            intervals are points. See `MAX_MATCHES` for very many answers.

    Returns:
        By the name of their column, each of shape (phrases,).
    """
    resampled_mu = mu[None, :]
    mu_sd = np.zeros(len(mu))
    if settings.bootstrap > 1:
        count = resamples(len(winner), settings.bootstrap)
        played = [
            trueskill.play(winner, loser, len(mu), orders).mu
            for orders in _resampled_orders(cluster, count, settings.seed)
        ]
        by_resample = np.concatenate(played).reshape(count, -1, len(mu))
        resampled_mu, mu_sd = _without_excess_order_noise(by_resample, settings.orders)
    columns = {"mu_sd": mu_sd}
    estimates = {"mu": (mu, resampled_mu), "rank": (ranks(mu), ranks(resampled_mu))}
    for name, (estimate, resampled) in estimates.items():
        low, high = np.quantile(resampled, _LEVELS, axis=0)
        columns[f"{name}_low"] = np.minimum(low, estimate)
        columns[f"{name}_high"] = np.maximum(high, estimate)
    return columns


def resamples(answers: int, maximum: int) -> int:
    """Count the resamples: `maximum`, as far as `MAX_MATCHES` allows."""
    affordable = MAX_MATCHES // (ORDERS_PER_RESAMPLE * max(answers, 1))
    return min(maximum, max(affordable, MIN_RESAMPLES))


def ranks(mu: Floats) -> Floats:
    """Rank the phrases of every row (0 = highest mu); shape as `mu`."""
    order = np.argsort(-mu, axis=-1, kind="stable")
    return np.argsort(order, axis=-1, kind="stable").astype(np.float64)


def _without_excess_order_noise(
    resampled: Floats, orders: int
) -> tuple[Floats, Floats]:
    """Shrink resampled mu, as if each were averaged over as many orders as the ranking.

    Args:
        resampled: mu, shape (resamples, orders per resample, phrases).
        orders: over which the ranking is averaged.

    Returns:
        Resampled mu, shape (resamples, phrases), and its deviation, shape (phrases,).
    """
    means = resampled.mean(axis=1)
    centre = means.mean(axis=0)
    between = means.var(axis=0, ddof=1)
    order_noise = resampled.var(axis=1, ddof=1).mean(axis=0)
    # Means of 2 orders stray more than those of 10, of which the ranking is made.
    excess = order_noise * max(0.0, 1.0 / ORDERS_PER_RESAMPLE - 1.0 / orders)
    variance = np.minimum(between, np.maximum(between - excess, order_noise / orders))
    share = np.divide(
        variance, between, out=np.zeros_like(between), where=between > 0.0
    )
    return centre + (means - centre) * np.sqrt(share), np.sqrt(variance)


def _resampled_orders(cluster: Integers, count: int, seed: int) -> Iterator[Integers]:
    """Draw orders of play for a few resamples at a time.

    Yields:
        Answer numbers, shape (resamples x orders, longest), padded with -1.
    """
    answers_by_cluster = np.argsort(cluster, kind="stable").astype(np.int64)
    size = np.bincount(cluster)
    start = np.cumsum(size) - size
    seed = text_hash(seed, "bootstrap")
    draws = np.arange(len(size), dtype=np.uint64)
    at_once = max(1, _MATCHES_AT_ONCE // (ORDERS_PER_RESAMPLE * len(cluster)))
    for first in range(0, count, at_once):
        orders = []
        for resample in range(first, min(first + at_once, count)):
            clusters = random_below(mix(seed, resample, draws), len(size))
            sizes = size[clusters]
            # Position of each answer within its drawn cluster: 0, 1, 2, 0, 1, ...
            begins = np.repeat(np.cumsum(sizes) - sizes, sizes)
            within = np.arange(sizes.sum()) - begins
            answers = answers_by_cluster[np.repeat(start[clusters], sizes) + within]
            positions = np.arange(len(answers), dtype=np.uint64)
            # Every resample is played in orders of its own, as the ranking is.
            for order in range(ORDERS_PER_RESAMPLE):
                hashes = mix(seed, resample, order + 1, positions)
                orders.append(answers[np.argsort(hashes)])
        padded = np.full((len(orders), max(map(len, orders))), _PADDING)
        for row, answers in zip(padded, orders, strict=True):
            row[: len(answers)] = answers
        yield padded


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
    judges = len(matches)
    if judges < 2:
        return ASSUMED_DEVIATION
    answers = pd.concat(
        {
            judge: frame.set_index("match_id")["winner"]
            for judge, frame in matches.items()
        },
        axis=1,
    ).sort_index()
    questions = next(iter(matches.values())).set_index("match_id").loc[answers.index]
    # A sentence that meets itself says nothing of how it is read.
    is_different = questions["sentence_a"] != questions["sentence_b"]
    counts = answers.notna().all(axis=1) & is_different
    questions = questions[counts]
    has_a_won = answers[counts].eq(questions["phrase_a"], axis=0).T.to_numpy(float)
    departure = has_a_won - has_a_won.mean(axis=0)

    mu_by_phrase = pd.Series(mu, pd.Index(phrases))
    mu_a = mu_by_phrase.reindex(questions["phrase_a"]).to_numpy()
    mu_b = mu_by_phrase.reindex(questions["phrase_b"]).to_numpy()
    gap = (mu_a - mu_b) / trueskill.DIFFERENCE_SD
    # How steeply the probability of a win rises with mu, at this gap.
    slope = np.exp(-0.5 * gap**2) / (math.sqrt(2 * math.pi) * trueskill.DIFFERENCE_SD)
    # Of a judge's variance, what is left in its departure from the panel's mean.
    share = 1.0 - 1.0 / judges
    coin_variance = ndtr(gap) * ndtr(-gap) * share

    # Every match is listed twice: for its sentence a against phrase b, and reversed.
    sentence = pd.concat([questions["sentence_a"], questions["sentence_b"]])
    against = pd.concat([questions["phrase_b"], questions["phrase_a"]])
    departures = np.concatenate([departure, -departure], axis=1)
    products = _products_of_matches(sentence, against, departures)
    expected = np.tile([slope, coin_variance], 2)
    slopes, coins = _products_of_matches(sentence, against, expected).sum(axis=1)
    information = slopes * judges * share
    if information <= 0.0:
        return ASSUMED_DEVIATION
    # The error seen between sentences, or that of coins as uneven as the answers: a few
    # judges that happen to agree are no proof that judges do.
    between_sentences = (products.sum(axis=0) ** 2).sum()
    precision = information**2 / max(between_sentences, 2.0 * judges * coins)
    precision_of_default = 1.0 / ASSUMED_DEVIATION**4
    estimate = products.sum() / information
    weighted = precision * estimate + precision_of_default * ASSUMED_DEVIATION**2
    variance = max(weighted / (precision + precision_of_default), 0.0)
    return min(math.sqrt(variance), trueskill.BETA)


def _products_of_matches(
    sentence: pd.Series, against: pd.Series, values: Floats
) -> Floats:
    """Sum the products of two different matches of a sentence, against other phrases.

    Args:
        sentence: of each match, shape (matches,).
        against: its opponent's phrase, shape (matches,).
        values: what is multiplied, shape (rows, matches).

    Returns:
        Shape (rows, sentences); every pair of matches counts twice.
    """
    # Matches of a sentence against one phrase are a block, within which no pair counts:
    # the square of the total, less the squares of the blocks, is what remains.
    keys = [sentence.to_numpy(), against.to_numpy()]
    by_block = pd.DataFrame(values.T).groupby(keys).sum()
    total = by_block.groupby(level=0).sum()
    squares = (by_block**2).groupby(level=0).sum()
    return (total**2 - squares).T.to_numpy()
