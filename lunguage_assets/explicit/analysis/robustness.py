"""How much the ranking changes with half of the comparisons; no judge is asked.

Section 3 of docs/method/explicit.md. The fit is validated in `validation.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.explicit.rating.intervals import ranks
from lunguage_assets.explicit.rating.ranking import (
    CollectedAnswers,
    collect_answers,
    is_published_scale,
)
from lunguage_assets.randomness import Integers, mix, text_hash
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import RANKING_ROBUSTNESS

REPEATS = 10


def ranking_robustness(
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    repeats: int = REPEATS,
) -> pd.DataFrame:
    """Rank again with half of the comparisons of every pair, many times.

    A comparison is kept with the answers of all judges, and every repeat plays in
    random orders of its own. As many repeats with all comparisons say how much of the
    change the order of play alone makes.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        matches: the `COMPARISON_MATCHES` per judge that it was made from.
        settings: those that it was made with.
        repeats: with other halves and other orders, which follow from the seed.

    Returns:
        A `RANKING_ROBUSTNESS` frame; empty for the published scale.
    """
    if is_published_scale(ranking):
        return RANKING_ROBUSTNESS.frame()
    ordered = ranking.sort_values("phrase")
    ranked_mu = ordered["mu"].to_numpy(dtype=np.float64)
    answers = collect_answers(ordered["phrase"].tolist(), matches)
    # With all comparisons only the order of play differs: what that alone changes.
    half = max(1, settings.repetitions // 2)
    numbers_of_comparisons = sorted({half, settings.repetitions})
    rows = []
    for comparisons, repeat in product(numbers_of_comparisons, range(repeats)):
        half_seed = mix(text_hash(settings.seed, "half"), repeat)
        kept = kept_answers(answers, comparisons, half_seed)
        seed = text_hash(settings.seed, "order of play of a repeat", repeat)
        order = np.arange(settings.orders, dtype=np.uint64)[:, None]
        hashes = mix(seed, order, answers.identity[kept])
        ratings = answers.play(kept[np.argsort(hashes, axis=1, kind="stable")])
        mu = ratings.mu.mean(axis=0)
        rows.append(
            {
                "comparisons": comparisons,
                "repeat": repeat,
                "answers": len(kept),
                "mean_abs_mu": np.abs(mu - ranked_mu).mean(),
                "largest_abs_mu": np.abs(mu - ranked_mu).max(),
                "mean_abs_rank": np.abs(ranks(mu) - ranks(ranked_mu)).mean(),
                "spearman": pd.Series(mu).corr(pd.Series(ranked_mu), "spearman"),
                "ranking_version": ranking["ranking_version"].iloc[0],
            }
        )
    return RANKING_ROBUSTNESS.frame(rows)


def kept_answers(answers: CollectedAnswers, comparisons: int, seed: Any) -> Integers:
    """Draw so many comparisons of every pair of phrases.

    Args:
        answers: valid answers of all judges.
        comparisons: to keep, of those with a valid answer.
        seed: hash from which the draw follows.

    Returns:
        Ascending numbers of all answers to these comparisons.
    """
    lower = np.minimum(answers.winner, answers.loser)
    higher = np.maximum(answers.winner, answers.loser)
    # All answers to one comparison have the same hash, so the same (dense) position.
    # A double holds 53 bits: with all 64, different hashes could become equal.
    bits = mix(answers.match, seed) >> np.uint64(11)
    hashes = pd.Series(bits.astype(np.float64))
    position = hashes.groupby([lower, higher]).rank(method="dense")
    return np.flatnonzero(position <= comparisons)
