"""Ratings as the package `trueskill` makes them, match by match."""

from __future__ import annotations

import numpy as np
import pandas as pd
import trueskill as package

from lunguage_assets.explicit import trueskill


def play_with_package(
    matches: pd.DataFrame, players: int, order: np.ndarray, backend: str | None = None
) -> np.ndarray:
    """mu and sigma after the matches in one order, shape (2, players)."""
    game = package.TrueSkill(
        mu=trueskill.MU,
        sigma=trueskill.SIGMA,
        beta=trueskill.BETA,
        tau=trueskill.TAU,
        draw_probability=0.0,
        backend=backend,
    )
    ratings = [game.create_rating() for _ in range(players)]
    played = matches[["winner", "loser"]].iloc[order]
    for winner, loser in played.itertuples(index=False):
        ratings[winner], ratings[loser] = package.rate_1vs1(
            ratings[winner], ratings[loser], env=game
        )
    return np.array([[rating.mu, rating.sigma] for rating in ratings]).T
