"""Spearman correlation between rankings (explicit.md section 3).

Compared are each judge alone, in each random order of play, and the reference rankings.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit.analysis.agreement import comparable
from lunguage_assets.explicit.analysis.reliability import ratio
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.ranking import collect_answers, random_orders
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import RANKING_CORRELATIONS

AVERAGED = -1
"""The order number of a reference ranking, which is averaged over random orders."""

_FEWEST = 3
Floats = NDArray[np.float64]


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
    correlation, common = _spearman(rated)
    values = correlation[first, second]
    return RANKING_CORRELATIONS.frame(
        {
            "first": [labels[i][0] for i in first.tolist()],
            "first_order": [labels[i][1] for i in first.tolist()],
            "second": [labels[i][0] for i in second.tolist()],
            "second_order": [labels[i][1] for i in second.tolist()],
            "spearman": [value if np.isfinite(value) else None for value in values.tolist()],
            "n_phrases": common[first, second].tolist(),
        }
    )


def _spearman(rated: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Correlation of every two rows over the columns that both have, and the number of those columns."""
    from scipy.stats import rankdata

    present = np.isfinite(rated)
    common = present.astype(np.int64) @ present.T.astype(np.int64)
    correlation = np.full(common.shape, np.nan)
    patterns, pattern = np.unique(present, axis=0, return_inverse=True)
    for i, j in combinations_with_replacement(range(len(patterns)), 2):
        columns = patterns[i] & patterns[j]
        rows, others = np.flatnonzero(pattern == i), np.flatnonzero(pattern == j)
        if columns.sum() >= _FEWEST:
            one, other = (
                _standardised(rankdata(rated[which][:, columns], axis=1)) for which in (rows, others)
            )
            correlation[np.ix_(rows, others)] = np.clip(one @ other.T, -1.0, 1.0)
            correlation[np.ix_(others, rows)] = correlation[np.ix_(rows, others)].T
    return correlation, common


def _standardised(ranks: Floats) -> Floats:
    """Rows of mean 0 and length 1; NaN where a row does not vary."""
    centred: Floats = ranks - ranks.mean(axis=1, keepdims=True)
    length: Floats = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    return ratio(centred, length)
