"""Intervals of the reference ranking: a bootstrap of sentence pairs.

Section 3 of docs/method/explicit.md. All judges see the same sentence pair, so their
answers to it are resampled together; resampling single answers would make the intervals
too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

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
    rank = ranks(mu[None, :])[0]
    if settings.bootstrap < 2:
        return {
            "mu_sd": np.zeros(len(mu)),
            "mu_low": mu,
            "mu_high": mu,
            "rank_low": rank,
            "rank_high": rank,
        }
    count = resamples(len(winner), settings.bootstrap)
    resampled = [
        trueskill.play(winner, loser, len(mu), orders).mu
        for orders in _resampled_orders(cluster, count, settings.seed)
    ]
    by_resample = np.concatenate(resampled).reshape(-1, ORDERS_PER_RESAMPLE, len(mu))
    resampled_mu, mu_sd = _without_excess_order_noise(by_resample, settings.orders)
    mu_low, mu_high = np.quantile(resampled_mu, _LEVELS, axis=0)
    rank_low, rank_high = np.quantile(ranks(resampled_mu), _LEVELS, axis=0)
    return {
        "mu_sd": mu_sd,
        "mu_low": np.minimum(mu_low, mu),
        "mu_high": np.maximum(mu_high, mu),
        "rank_low": np.minimum(rank_low, rank),
        "rank_high": np.maximum(rank_high, rank),
    }


def resamples(answers: int, maximum: int) -> int:
    """Count the resamples: `maximum`, as far as `MAX_MATCHES` allows."""
    affordable = MAX_MATCHES // (ORDERS_PER_RESAMPLE * max(answers, 1))
    return min(maximum, max(affordable, MIN_RESAMPLES))


def ranks(mu: Floats) -> Floats:
    """Rank the phrases of every row (0 = highest mu); shape as `mu`."""
    order = np.argsort(-mu, axis=1, kind="stable")
    return np.argsort(order, axis=1, kind="stable").astype(np.float64)


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
        yield _padded(orders)


def _padded(orders: Sequence[Integers]) -> Integers:
    longest = max(map(len, orders))
    padded = np.full((len(orders), longest), _PADDING, dtype=np.int64)
    for row, order in zip(padded, orders, strict=True):
        row[: len(order)] = order
    return padded
