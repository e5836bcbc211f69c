"""Trains a distilled model on a panel's scores, and holds it against the panel.

docs/distilled.md. It is tested on sentences, and on whole phrases, that it had not
seen. No truth is known here: the panel's score given all its answers is the measure,
and the distance between the halves of these answers is what may be expected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.explicit.distilled.scorer import Vectors, encode, write_scorer
from lunguage_assets.explicit.probability import Z95
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.judges.progress import steps_of
from lunguage_assets.tables.explicit import DISTILLED_SCORER

FOLDS = 4

MAX_ERROR_RATIO = 1.5
"""A model is used without a warning up to this multiple of the error between halves of
the panel, on held-out phrases.
"""
MIN_COVERAGE = 0.93
"""Share of its intervals that must hold there."""

_USUAL = 0.99
"""Share of held-out sentences that count as like those that were learnt."""


def distil(
    panel: pd.DataFrame, encoder: SentenceEmbedder, folder: Path, ranking_version: str
) -> pd.DataFrame:
    """Train a scorer, test it, and write it into a folder.

    Args:
        panel: its scores, as of `panel_scores`.
        encoder: that reads the sentences.
        folder: of the scorer.
        ranking_version: of the ranking to which the scores belong.

    Returns:
        A `DISTILLED_SCORER` frame.
    """
    from sklearn.linear_model import BayesianRidge

    sentences = panel["masked_sentence"].tolist()
    step = steps_of("reading sentences", len(sentences))
    vectors = encode(encoder, sentences, step)
    phrases = panel["phrases"].explode().dropna()
    by_sentence = held_out_scores(vectors, panel, panel["sent"])
    by_phrase = held_out_scores(vectors, panel, phrases)
    rows = [
        _distance("panel halves", panel["half_0"], panel["half_1"]),
        _distance(
            "held-out sentences", by_sentence["mu"], panel["mu"], by_sentence["sd"]
        ),
        _distance("held-out phrases", by_phrase["mu"], panel["mu"], by_phrase["sd"]),
    ]
    # What is stored has learnt from everything; what was tested had not.
    head = BayesianRidge().fit(vectors, panel["mu"])
    largest_sd = float(by_sentence["sd"].quantile(_USUAL))
    common = {
        "encoder": encoder.identity,
        "sentences": len(panel),
        "files": write_scorer(folder, head, largest_sd, encoder, set(phrases)),
        "ranking_version": ranking_version,
    }
    return DISTILLED_SCORER.frame([{**row, **common} for row in rows])


def shortcomings(scorer: pd.DataFrame) -> list[str]:
    """Say why a model should not be used without a second thought; empty: it may.

    Args:
        scorer: `DISTILLED_SCORER` frame.
    """
    by_test = scorer.set_index("test")
    n, error, coverage = (
        by_test[column]["held-out phrases"] for column in ("n", "rmse", "coverage")
    )
    if not n:
        return ["no phrase could be held out"]
    allowed = MAX_ERROR_RATIO * by_test["rmse"]["panel halves"]
    problems = []
    if not error <= allowed:
        problems.append(
            f"its error of mu on held-out phrases is {error:.2f}, more than "
            f"{allowed:.2f}, which is {MAX_ERROR_RATIO} times that between halves of "
            "the panel"
        )
    if not coverage >= MIN_COVERAGE:
        problems.append(
            f"{coverage:.0%} of its intervals hold there, expected {MIN_COVERAGE:.0%}"
        )
    return problems


def held_out_scores(
    vectors: Vectors, panel: pd.DataFrame, groups: pd.Series
) -> pd.DataFrame:
    """Score each sentence by a model that has seen none of its group.

    Args:
        vectors: of the sentences.
        panel: its scores.
        groups: by the row of the sentence. A sentence with two phrases is in two
            groups, and is held out with both.

    Returns:
        By row `mu` and its `sd`; NaN where nothing could be held out.
    """
    from sklearn.linear_model import BayesianRidge
    from sklearn.model_selection import GroupKFold

    held_out = pd.DataFrame(np.nan, index=panel.index, columns=["mu", "sd"])
    folds = min(FOLDS, groups.nunique())
    if folds < 2:
        return held_out
    for _, of_fold in GroupKFold(folds).split(groups, groups=groups):
        is_held_out = panel.index.isin(groups.index[of_fold])
        seen = panel[~is_held_out]
        if seen.empty:
            continue
        head = BayesianRidge().fit(vectors[~is_held_out], seen["mu"])
        mu, sd = head.predict(vectors[is_held_out], return_std=True)
        held_out[is_held_out] = np.column_stack([mu, sd])
    return held_out


def _distance(
    test: str, first: pd.Series, second: pd.Series, sd: pd.Series | None = None
) -> dict[str, Any]:
    """Measure how far two lists of mu lie from each other, where both are known.

    Args:
        test: what was held out.
        first: mu.
        second: mu, of the panel.
        sd: of the first, in which the panel's own noise is.
    """
    distance = (first - second).abs().dropna()
    return {
        "test": test,
        "n": len(distance),
        "rmse": (distance**2).mean() ** 0.5,
        "spearman": first.corr(second, method="spearman"),
        "coverage": None
        if sd is None
        else (distance <= Z95 * sd[distance.index]).mean(),
    }
