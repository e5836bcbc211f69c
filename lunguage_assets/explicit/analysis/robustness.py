"""The change of the ranking when every phrase pair is compared half as often (explicit.md section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.draws import mix, text_hash
from lunguage_assets.explicit.arrays import Integers
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
        ranking: `REFERENCE_RANKING` frame; the published ruler, which has no matches, gives an empty frame.
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
    ordered = ranking.sort_values("phrase")
    phrases, stored = ordered["phrase"].tolist(), ordered["mu"].to_numpy(dtype=np.float64)
    answers = collect_answers(phrases, matches)
    rows = []
    for comparisons in sorted({max(1, settings.repetitions // 2), settings.repetitions}):
        for repeat in range(repeats):
            kept = kept_answers(answers, comparisons, mix(text_hash(settings.seed, "half"), repeat))
            seed = text_hash(settings.seed, "order of play of a repeat", repeat)
            drawn = (mix(seed, order, answers.identity[kept]) for order in range(settings.orders))
            orders = np.stack([kept[np.argsort(draws, kind="stable")] for draws in drawn])
            mu = trueskill.play(answers.winner, answers.loser, len(phrases), orders)[0].mean(axis=0)
            one, two = ranks(np.stack([mu, stored]))
            correlation = pd.Series(mu).corr(pd.Series(stored), method="spearman")
            rows.append(
                {
                    "comparisons": comparisons,
                    "repeat": repeat,
                    "answers": len(kept),
                    "mean_abs_mu": float(np.abs(mu - stored).mean()),
                    "largest_abs_mu": float(np.abs(mu - stored).max()),
                    "mean_abs_rank": float(np.abs(one - two).mean()),
                    "spearman": float(correlation) if np.isfinite(correlation) else None,
                    "ranking_version": str(ranking["ranking_version"].iloc[0]),
                }
            )
    return RANKING_ROBUSTNESS.frame(rows)


def kept_answers(answers: Answers, comparisons: int, seed: Any) -> Integers:
    """Numbers of the answers to the `comparisons` comparisons of every pair with the smallest hashes.

    They are ascending. Comparisons without any valid answer are not among those to choose from.
    """
    low, high = np.minimum(answers.winner, answers.loser), np.maximum(answers.winner, answers.loser)
    lots = pd.Series((mix(answers.match, seed) >> np.uint64(11)).astype(np.float64))
    place = lots.groupby(low * len(answers.phrases) + high).rank(method="dense")
    return np.flatnonzero(place <= comparisons).astype(np.int64)
