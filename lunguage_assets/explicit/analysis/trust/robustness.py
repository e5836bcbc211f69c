"""The change of the ranking when every phrase pair is compared half as often (explicit.md section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.draws import mix, text_hash
from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.bootstrap import ranks
from lunguage_assets.explicit.rating.ranking import Answers, collect_answers
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import RANKING_ROBUSTNESS

REPEATS = 10


def ranking_robustness(
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    repeats: int = REPEATS,
) -> pd.DataFrame:
    """The ranking from half of the comparisons of every pair, a `RANKING_ROBUSTNESS` frame.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        matches: `COMPARISON_MATCHES` frame per judge, those that the ranking was made from.
        settings: seed, `repetitions` (comparisons per pair; half of an odd number is rounded down, and one is
            the least), `orders`.
        repeats: random choices of a half; which comparisons are kept is hashed from the seed, the repeat and
            the match.

    A comparison is kept with the answers of all judges, as a study of half the size would have had them, and
    every repeat plays in random orders of its own. As many repeats with all comparisons and other orders say
    how much of the change the order of play alone makes.
    """
    if (ranking["ruler"] == "published").all():
        return RANKING_ROBUSTNESS.frame()
    phrases = sorted(ranking["phrase"].tolist())
    stored = ranking.set_index("phrase").loc[phrases, "mu"].to_numpy(dtype=np.float64)
    answers = collect_answers(phrases, matches)
    version = str(ranking["ranking_version"].iloc[0])
    rows = []
    for comparisons in sorted({max(1, settings.repetitions // 2), settings.repetitions}):
        for repeat in range(repeats):
            kept = kept_answers(answers, comparisons, mix(text_hash(settings.seed, "half"), repeat))
            mu = _replayed(answers, kept, repeat, settings)
            row = {"comparisons": comparisons, "repeat": repeat, "answers": len(kept)}
            rows.append({**row, **_changes(mu, stored), "ranking_version": version})
    return RANKING_ROBUSTNESS.frame(rows)


def kept_answers(answers: Answers, comparisons: int, seed: Any) -> Integers:
    """Numbers of the answers to the `comparisons` comparisons of every pair with the smallest hashes.

    They are ascending. Comparisons without any valid answer are not among those to choose from.
    """
    size = len(answers.phrases)
    matches, first, of_answer = np.unique(answers.match, return_index=True, return_inverse=True)
    winner, loser = answers.winner[first], answers.loser[first]
    pair = np.minimum(winner, loser) * size + np.maximum(winner, loser)
    ordered = np.lexsort((mix(matches, seed), pair))
    start = np.flatnonzero(np.diff(pair[ordered], prepend=-1))
    place = np.arange(len(ordered)) - np.repeat(start, np.diff(start, append=len(ordered)))
    kept = np.zeros(len(matches), dtype=bool)
    kept[ordered[place < comparisons]] = True
    return np.flatnonzero(kept[of_answer]).astype(np.int64)


def _replayed(answers: Answers, kept: Integers, repeat: int, settings: ExplicitSettings) -> Floats:
    """mu of every phrase, shape (phrases,), averaged over as many random orders as the ranking's."""
    seed = text_hash(settings.seed, "order of play of a repeat", repeat)
    orders = np.stack(
        [
            kept[np.argsort(mix(seed, order, answers.identity[kept]), kind="stable")]
            for order in range(settings.orders)
        ]
    )
    mus, _ = trueskill.play(answers.winner, answers.loser, len(answers.phrases), orders)
    return np.asarray(mus.mean(axis=0), dtype=np.float64)


def _changes(mu: Floats, stored: Floats) -> dict[str, float | None]:
    both = ranks(np.stack([mu, stored]))
    return {
        "mean_abs_mu": float(np.abs(mu - stored).mean()),
        "largest_abs_mu": float(np.abs(mu - stored).max()),
        "mean_abs_rank": float(np.abs(both[0] - both[1]).mean()),
        "spearman": rank_correlation(mu, stored),
    }


def rank_correlation(one: Floats, two: Floats) -> float | None:
    """Spearman's correlation of two sets of places, shape (phrases,).

    None where it is undefined: fewer than two places, or all equal.
    """
    from scipy.stats import spearmanr  # slow to import, and definitions load this module

    if len(one) < 2 or np.ptp(one) == 0.0 or np.ptp(two) == 0.0:
        return None
    return float(spearmanr(one, two).statistic)
