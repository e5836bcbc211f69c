"""TrueSkill in closed form beside the same loop over the package `trueskill`: python
benchmarks/trueskill_speed.py [package orders].

34,440 matches (42 phrases, 861 pairs, 10 comparisons, 4 judges: the published corpus) in 10 random orders.
Both play the same matches in the same orders in one run. The package plays as many of the orders as asked for
(1 by default); its time for ten is ten times the mean of one. The largest difference of the ratings is
printed too: a fast loop that computes something else is worth nothing.
"""

from __future__ import annotations

import sys
import time
from itertools import combinations

import numpy as np

from lunguage_assets.explicit.analysis.trust.verification import play_with_package
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.rules.published import published_ranking

PER_PAIR = 40
ORDERS = 10
RUNS = 5


def matches() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Winners, losers, orders: phrases at their published places, answers with the noise of the model."""
    rng = np.random.default_rng(0)
    mu = np.array([entry.mu for entry in published_ranking()])
    one, two = np.repeat(list(combinations(range(len(mu)), 2)), PER_PAIR, axis=0).T
    first = rng.normal(mu[one] - mu[two], np.sqrt(2.0) * trueskill.BETA) > 0.0
    orders = np.stack([rng.permutation(len(one)) for _ in range(ORDERS)])
    return np.where(first, one, two), np.where(first, two, one), orders


def main(package_orders: int = 1) -> None:
    winners, losers, orders = matches()
    players = int(winners.max()) + 1
    times, busy = [], []
    for _ in range(RUNS):
        start, work = time.perf_counter(), time.process_time()
        mu, sigma = trueskill.play(winners, losers, players, orders)
        times.append(time.perf_counter() - start)
        busy.append(time.process_time() - work)
    closed = float(np.median(times))
    print(
        f"closed form, {len(winners):,} matches x {ORDERS} orders: {closed:.3f} s (median of {RUNS}, from "
        f"{min(times):.3f} to {max(times):.3f}; processor time {np.median(busy):.3f} s)"
    )
    start = time.perf_counter()
    played = [play_with_package(winners, losers, players, order) for order in orders[:package_orders]]
    package = (time.perf_counter() - start) / package_orders * ORDERS
    said = "measured" if package_orders == ORDERS else f"from {package_orders} measured"
    print(
        f"package trueskill, the same {ORDERS} orders: {package:.1f} s ({said}), "
        f"{package / ORDERS / len(winners) * 1e6:.0f} us per match"
    )
    difference = max(
        float(np.abs(np.stack([mu[i], sigma[i]]) - ratings).max()) for i, ratings in enumerate(played)
    )
    print(f"{package / closed:.0f} times faster; largest difference of a mu or sigma {difference:.1e}")


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:]))
