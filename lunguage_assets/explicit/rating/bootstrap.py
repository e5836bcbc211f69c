"""Intervals of the reference ranking: a bootstrap of sentence pairs (explicit.md section 3).

All judges see the same sentence pair, so their answers to it are resampled together; resampling single
answers would make the intervals too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.randomness import Floats, Integers, mix, random_below, text_hash
from lunguage_assets.settings import ExplicitSettings

ORDERS_PER_RESAMPLE = 2
"""Random orders per resample: the fewest that show the spread between orders, which is then taken out."""

MOST_MATCHES, FEWEST_RESAMPLES = 100_000_000, 50
"""Matches that all resamples play together, about half a minute on one core: with many phrases there are
fewer resamples, down to the fewest.
"""

_AT_ONCE = 10_000_000
"""Matches of resamples that are played side by side, for memory."""
_LEVELS = (0.025, 0.975)


def bootstrap_intervals(
    winner: Integers,
    loser: Integers,
    cluster: Integers,
    mu: Floats,
    settings: ExplicitSettings,
) -> dict[str, Floats]:
    """Standard deviation and 95% percentile intervals of mu and rank, each of shape (phrases,), by the name
    of their column.

    Args:
        winner, loser, cluster: phrase numbers and sentence-pair number of every answer, shape (answers,).
        mu: the ranking's mu, shape (phrases,); an interval always contains it.
        settings: seed, `bootstrap` resamples (fewer than two: intervals are points; fewer than set where
            there are very many answers, see `MOST_MATCHES`) and `orders`.

    A resample is averaged over few orders of play, the ranking over many: the excess of order noise is
    estimated from the spread between a resample's orders and taken out by shrinking the deviations.
    """
    rank = ranks(mu[None, :])[0]
    if settings.bootstrap < 2:
        ends = {"mu_low": mu, "mu_high": mu, "rank_low": rank, "rank_high": rank}
        return {"mu_sd": np.zeros(len(mu)), **ends}
    drawn = _resampled_orders(
        cluster, resamples(len(winner), settings.bootstrap), settings.seed
    )
    played = [trueskill.play(winner, loser, len(mu), orders)[0] for orders in drawn]
    resampled = np.concatenate(played).reshape(-1, ORDERS_PER_RESAMPLE, len(mu))
    deviations, sd = _without_excess_order_noise(resampled, settings.orders)
    found = {"mu_sd": sd}
    for name, value, drawn_values in (
        ("mu", mu, deviations),
        ("rank", rank, ranks(deviations)),
    ):
        low, high = np.quantile(drawn_values, _LEVELS, axis=0)
        found |= {
            f"{name}_low": np.minimum(low, value),
            f"{name}_high": np.maximum(high, value),
        }
    return found


def resamples(answers: int, wanted: int) -> int:
    """Resamples of so many answers: those wanted, as far as `MOST_MATCHES` allows."""
    affordable = MOST_MATCHES // (ORDERS_PER_RESAMPLE * max(answers, 1))
    return min(wanted, max(affordable, FEWEST_RESAMPLES))


def ranks(mu: Floats) -> Floats:
    """Rank of every phrase in every row (0 = highest mu), shape as `mu`."""
    order = np.argsort(-mu, axis=1, kind="stable")
    return np.argsort(order, axis=1, kind="stable").astype(np.float64)


def _without_excess_order_noise(
    resampled: Floats, orders: int
) -> tuple[Floats, Floats]:
    """Resampled mu (resamples, phrases) and its deviation (phrases,) without the excess order noise.

    Both are as if averaged over as many orders as the ranking.
    """
    means = resampled.mean(axis=1)
    centre = means.mean(axis=0)
    between = means.var(axis=0, ddof=1)
    order_noise = resampled.var(axis=1, ddof=1).mean(axis=0)
    excess = order_noise * max(0.0, 1.0 / ORDERS_PER_RESAMPLE - 1.0 / orders)
    variance = np.minimum(between, np.maximum(between - excess, order_noise / orders))
    factor = np.sqrt(
        np.divide(variance, between, out=np.zeros_like(between), where=between > 0.0)
    )
    return centre + (means - centre) * factor, np.sqrt(variance)


def _resampled_orders(cluster: Integers, count: int, seed: int) -> Iterator[Integers]:
    """Orders of play for a few resamples at a time, shape (resamples x orders, longest), padded with -1."""
    by_cluster = np.argsort(cluster, kind="stable").astype(np.int64)
    size = np.bincount(cluster)
    start = np.cumsum(size) - size
    seed = text_hash(seed, "bootstrap")
    drawn = np.arange(len(size), dtype=np.uint64)
    at_once = max(1, _AT_ONCE // (ORDERS_PER_RESAMPLE * len(cluster)))
    for first in range(0, count, at_once):
        orders = []
        for resample in range(first, min(first + at_once, count)):
            clusters = random_below(mix(seed, resample, drawn), len(size))
            counts = size[clusters]
            within = np.arange(counts.sum()) - np.repeat(
                np.cumsum(counts) - counts, counts
            )
            answers = by_cluster[np.repeat(start[clusters], counts) + within]
            places = np.arange(len(answers), dtype=np.uint64)
            for order in range(ORDERS_PER_RESAMPLE):
                orders.append(
                    answers[np.argsort(mix(seed, resample, order + 1, places))]
                )
        padded = np.full((len(orders), max(map(len, orders))), -1, dtype=np.int64)
        for row, order in zip(padded, orders, strict=True):
            row[: len(order)] = order
        yield padded
