"""Spearman correlation between rankings (explicit.md section 3).

Compared are each judge alone, in each random order of play, and the reference rankings.
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
    versions = {
        version for frame in compared.values() for version in frame["vocabulary_version"].unique().tolist()
    }
    own = {
        ranker: frame
        for ranker, frame in sorted(rankings.items())
        if len(frame) and (frame["ruler"] == "own").all() and set(frame["vocabulary_version"]) == versions
    }
    phrases = sorted(
        {
            phrase
            for frame in compared.values()
            for name in ("phrase_a", "phrase_b")
            for phrase in frame[name].unique()
        }
    )
    labels: list[tuple[str, int]] = []
    rated: list[Floats] = []
    for judge, frame in compared.items():
        mus = _ratings_of_orders(phrases, judge, frame, settings)
        labels += [(judge, order) for order in range(len(mus))]
        rated += list(mus)
    labels += [(ranker, AVERAGED) for ranker in own]
    rated += [_ratings_of_ranking(phrases, frame) for frame in own.values()]
    return _frame(labels, np.array(rated).reshape(len(rated), len(phrases)))


def _ratings_of_orders(
    phrases: list[str], judge: str, frame: pd.DataFrame, settings: ExplicitSettings
) -> Floats:
    """mu in each random order, shape (orders, phrases).

    NaN for a phrase without a valid match; no rows without any valid match.
    """
    answers = collect_answers(phrases, {judge: frame})
    if not len(answers):
        return np.zeros((0, len(phrases)))
    mus, _ = trueskill.play(answers.winner, answers.loser, len(phrases), random_orders(answers, settings))
    won, lost = answers.counts
    return np.where(won + lost > 0, mus, np.nan)


def _ratings_of_ranking(phrases: list[str], ranking: pd.DataFrame) -> Floats:
    played = ranking[ranking["n_matches"] > 0]
    mu = dict(zip(played["phrase"].tolist(), played["mu"].tolist(), strict=True))
    return np.array([mu.get(phrase, np.nan) for phrase in phrases])


def _frame(labels: list[tuple[str, int]], rated: Floats) -> pd.DataFrame:
    first, second = np.triu_indices(len(labels), k=1)
    present = np.isfinite(rated).astype(np.int64)
    places = pd.DataFrame(rated.T, columns=range(len(labels)))
    correlation = places.corr(method="spearman", min_periods=_FEWEST).to_numpy()[first, second]
    return RANKING_CORRELATIONS.frame(
        {
            "first": [labels[i][0] for i in first.tolist()],
            "first_order": [labels[i][1] for i in first.tolist()],
            "second": [labels[i][0] for i in second.tolist()],
            "second_order": [labels[i][1] for i in second.tolist()],
            "spearman": [value if np.isfinite(value) else None for value in correlation.tolist()],
            "n_phrases": (present @ present.T)[first, second].tolist(),
        }
    )
