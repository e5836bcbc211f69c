"""Checks that a stored ranking is what package `trueskill` makes of the same matches.

Section 3 of docs/method/explicit.md. The ranking itself is computed by
`rating/trueskill.py`, which plays many orders side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import trueskill as package

from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.ranking import (
    collect_answers,
    is_published_scale,
    random_orders,
)
from lunguage_assets.randomness import Floats, Integers, text_hash
from lunguage_assets.settings import ExplicitSettings

PACKAGE_TOLERANCE = 1e-5
"""The package's default backend approximates erfc; with scipy's, ten times as slow, it
is 1e-9.
"""
REPLAY_TOLERANCE = 1e-9
MAX_MATCHES_OF_PACKAGE = 10_000


class Verification(NamedTuple):
    """The largest differences of any mu or sigma.

    Attributes:
        matches: that the package played.
        order: of play that it played; -1: none, the ranking is the published one.
        package_difference: between the package and the closed form.
        replay_difference: between the stored ranking and the closed form, over all
            orders.
    """

    matches: int = 0
    order: int = -1
    package_difference: float = 0.0
    replay_difference: float = 0.0

    @property
    def passed(self) -> bool:
        return (
            self.package_difference < PACKAGE_TOLERANCE
            and self.replay_difference < REPLAY_TOLERANCE
        )


def verify_with_package(
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
) -> Verification:
    """Compare a ranking with the package, on the beginning of one order of play.

    Args:
        ranking: `REFERENCE_RANKING` frame; of the published one nothing is compared.
        matches: `COMPARISON_MATCHES` frame per judge that it was made with.
        settings: those that it was made with.
    """
    if is_published_scale(ranking):
        return Verification()
    ordered = ranking.sort_values("phrase")
    answers = collect_answers(ordered["phrase"].tolist(), matches)
    orders = random_orders(answers, settings)
    # The ranking itself decides which order is checked: the same one every time.
    version = str(ranking["ranking_version"].iloc[0])
    order = text_hash("verified order", version) % len(orders)
    # The package plays match by match in Python: of many matches a part must do.
    beginning = orders[order, :MAX_MATCHES_OF_PACKAGE]
    packaged = play_with_package(answers.winner, answers.loser, len(ordered), beginning)
    closed_form = np.concatenate(answers.play(beginning[None]))
    replayed = np.stack(answers.play(orders)).mean(axis=1)
    stored = ordered[["mu", "sigma"]].to_numpy(dtype=np.float64).T
    return Verification(
        matches=len(beginning),
        order=order,
        package_difference=float(np.abs(closed_form - packaged).max()),
        replay_difference=float(np.abs(stored - replayed).max()),
    )


def play_with_package(
    winners: Integers,
    losers: Integers,
    n_players: int,
    order: Integers,
    backend: str | None = None,
) -> Floats:
    """Play the matches in one order with the package.

    Args:
        winners: player number of each match's winner.
        losers: that of its loser.
        n_players: how many players there are.
        order: match numbers in the order of play.
        backend: of the package's normal distribution.

    Returns:
        mu and sigma, shape (2, players).
    """
    game = package.TrueSkill(
        mu=trueskill.MU,
        sigma=trueskill.SIGMA,
        beta=trueskill.BETA,
        tau=trueskill.TAU,
        draw_probability=0.0,
        backend=backend,
    )
    ratings = [game.create_rating() for _ in range(n_players)]
    played = zip(winners[order].tolist(), losers[order].tolist(), strict=True)
    for winner, loser in played:
        ratings[winner], ratings[loser] = package.rate_1vs1(
            ratings[winner], ratings[loser], env=game
        )
    return np.array([[rating.mu, rating.sigma] for rating in ratings]).T
