"""Verification of the ranking by the package `trueskill`: same matches, same order (explicit.md section 3).

The package is slow, so it plays the beginning of one of the ranking's random orders. That the closed form
makes the stored ranking out of all orders is verified as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import trueskill as package

from lunguage_assets.draws import Floats, Integers, text_hash
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.ranking import collect_answers, random_orders
from lunguage_assets.settings import ExplicitSettings

PACKAGE_TOLERANCE = 1e-5
"""The package's default backend approximates erfc; with scipy's, ten times as slow, it is 1e-9."""

REPLAY_TOLERANCE = 1e-9
SAMPLE = 10_000
"""The most matches that the package plays."""


class Verification(NamedTuple):
    """`matches` that the package played of an `order` (-1: none, the ranking is the published one), and the
    largest differences of any mu or sigma: package against closed form, and stored ranking against the closed
    form over all orders.
    """

    matches: int = 0
    order: int = -1
    package_difference: float = 0.0
    replay_difference: float = 0.0

    @property
    def passed(self) -> bool:
        return self.package_difference < PACKAGE_TOLERANCE and self.replay_difference < REPLAY_TOLERANCE


def verify_with_package(
    ranking: pd.DataFrame, matches: Mapping[str, pd.DataFrame], settings: ExplicitSettings
) -> Verification:
    """Compare a `REFERENCE_RANKING` frame with the `trueskill` package, on the beginning of one order, hashed
    from the ranking's version; of the published one nothing is compared. `matches` (`COMPARISON_MATCHES`
    frame per judge) and settings are those that the ranking was made with.
    """
    if (ranking["ruler"] == "published").all():
        return Verification()
    phrases = sorted(ranking["phrase"].tolist())
    answers = collect_answers(phrases, matches)
    orders = random_orders(answers, settings)
    number = text_hash("verified order", str(ranking["ranking_version"].iloc[0])) % len(orders)
    part = orders[number, :SAMPLE]
    closed = np.concatenate(trueskill.play(answers.winner, answers.loser, len(phrases), part[None]))
    packaged = play_with_package(answers.winner, answers.loser, len(phrases), part)
    mus, sigmas = trueskill.play(answers.winner, answers.loser, len(phrases), orders)
    stored = ranking.set_index("phrase").loc[phrases, ["mu", "sigma"]].to_numpy(dtype=np.float64).T
    replayed = np.stack([mus.mean(axis=0), sigmas.mean(axis=0)])
    differences = (
        float(np.abs(one - other).max()) for one, other in ((closed, packaged), (stored, replayed))
    )
    return Verification(len(part), number, *differences)


def play_with_package(
    winners: Integers, losers: Integers, n_players: int, order: Integers, backend: str | None = None
) -> Floats:
    """mu and sigma after playing the matches in one order with the package, shape (2, players).

    Args:
        winners, losers: player numbers, shape (matches,).
        order: match numbers in the order of play, shape (length,).
        backend: the package's implementation of the normal distribution: None (its own) or "scipy".
    """
    constants = {"mu": trueskill.MU, "sigma": trueskill.SIGMA, "beta": trueskill.BETA, "tau": trueskill.TAU}
    game = package.TrueSkill(**constants, draw_probability=0.0, backend=backend)
    ratings = [game.create_rating() for _ in range(n_players)]
    for winner, loser in zip(winners[order].tolist(), losers[order].tolist(), strict=True):
        ratings[winner], ratings[loser] = package.rate_1vs1(ratings[winner], ratings[loser], env=game)
    return np.array([[rating.mu for rating in ratings], [rating.sigma for rating in ratings]])
