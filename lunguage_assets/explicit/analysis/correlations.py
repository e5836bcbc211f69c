"""Spearman correlation between rankings: each judge alone, in each random order of play, and the reference
rankings (explicit.md section 3).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lunguage_assets.explicit.analysis.agreement import comparable
from lunguage_assets.explicit.arrays import Floats
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.ranking import collect_answers, random_orders
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import RANKING_CORRELATIONS

AVERAGED = -1
"""The order number of a reference ranking, which is averaged over random orders."""

_FEWEST = 3


def ranking_correlations(
    matches: Mapping[str, pd.DataFrame],
    rankings: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
    vocabulary_version: str | None = None,
) -> pd.DataFrame:
    """Correlations of every two of all rankings, a `RANKING_CORRELATIONS` frame; each pair once.

    Args:
        matches: `COMPARISON_MATCHES` frame per judge. Each judge's matches alone are played in
            `settings.orders` random orders.
        rankings: `REFERENCE_RANKING` frame per ranker (the pooled ranking, and any other).
        vocabulary_version: as in `judge_agreement`, which lists the judges that are left out; rankings of
            another vocabulary are left out likewise.

    A phrase counts where both sides have a valid match of it.

    Raises:
        MethodError: judges have matches of different vocabularies and no version is given.
    """
    compared, _ = comparable(matches, vocabulary_version)
    versions = {version for frame in compared.values() for version in frame["vocabulary_version"].unique()}
    phrases = sorted(
        {phrase for frame in compared.values() for name in ("phrase_a", "phrase_b") for phrase in frame[name]}
    )
    rated: dict[tuple[str, int], Floats] = {}
    for judge, frame in compared.items():
        answers = collect_answers(phrases, {judge: frame})
        if len(answers):
            orders = random_orders(answers, settings)
            mus, _ = trueskill.play(answers.winner, answers.loser, len(phrases), orders)
            played = np.sum(answers.counts, axis=0) > 0
            rated |= {(judge, order): np.where(played, mu, np.nan) for order, mu in enumerate(mus)}
    for ranker, frame in sorted(rankings.items()):
        if len(frame) and (frame["ruler"] == "own").all() and set(frame["vocabulary_version"]) == versions:
            mu = frame[frame["n_matches"] > 0].set_index("phrase")["mu"]
            rated[ranker, AVERAGED] = mu.reindex(phrases).to_numpy(dtype=np.float64)
    labels, places = list(rated), np.array(list(rated.values())).reshape(len(rated), len(phrases))
    first, second = np.triu_indices(len(labels), k=1)
    present = np.isfinite(places).astype(np.int64)
    correlation = pd.DataFrame(places.T).corr(method="spearman", min_periods=_FEWEST).to_numpy()
    return RANKING_CORRELATIONS.frame(
        {
            "first": [labels[i][0] for i in first.tolist()],
            "first_order": [labels[i][1] for i in first.tolist()],
            "second": [labels[i][0] for i in second.tolist()],
            "second_order": [labels[i][1] for i in second.tolist()],
            "spearman": [value if np.isfinite(value) else None for value in correlation[first, second]],
            "n_phrases": (present @ present.T)[first, second].tolist(),
        }
    )
