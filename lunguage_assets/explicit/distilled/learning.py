"""Trains a model on what a panel said of sentences, and holds it against the panel.

docs/distilled.md. Nobody is asked: what is learnt from was paid before. The model is
tested on sentences, and on whole phrases, that it had not seen. No truth is known here:
the panel's score given all its answers is the measure, and its deviation is what may be
expected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.distilled.judge import Vectors, encode, write_scorer
from lunguage_assets.explicit.pairs import tentative_rows
from lunguage_assets.explicit.probability import Z95
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.tables.explicit import DISTILLED_SCORER

MIN_SENTENCES = 50
"""Fitted sentences below which nothing is learnt."""

FOLDS = 4

MAX_ERROR_RATIO = 1.5
"""A model is used without a warning up to this multiple of the panel's own deviation,
on held-out phrases.
"""
MIN_COVERAGE = 0.93
"""Share of its intervals that must hold there."""

_USUAL = 0.99
"""Share of held-out sentences that count as like those that were learnt."""


def panel_scores(
    findings: pd.DataFrame, fitted: pd.DataFrame, ranking: pd.DataFrame
) -> pd.DataFrame:
    """Collect the sentences that a panel has fitted, and what it made of them.

    Args:
        findings: `FINDINGS` frame of all batches that the panel fitted.
        fitted: their `FITTED_PROBABILITIES`.
        ranking: the `REFERENCE_RANKING` that the fits are of.

    Returns:
        A row for each masked sentence: `sentence_key`, `masked_sentence`, the sentence
        `sent` that it is of, its `phrases`, and the panel's `mu` with its deviation
        `mu_sd`.

    Raises:
        MethodError: too few fitted sentences, or fits of another ranking.
    """
    if set(fitted["ranking_version"]) - set(ranking["ranking_version"]):
        raise MethodError(
            "fits belong to another ranking. `lunguage run` fits again; then distill."
        )
    columns = ["sentence_key", "masked_sentence", "sent"]
    sentences = tentative_rows(findings)[columns].drop_duplicates("sentence_key")
    fits = fitted[["sentence_key", "phrases", "mu_centre", "mu_sd"]]
    fits = fits.dropna(subset="mu_centre").drop_duplicates("sentence_key")
    panel = sentences.merge(fits).rename(columns={"mu_centre": "mu"})
    if len(panel) < MIN_SENTENCES:
        raise MethodError(
            f"found {len(panel)} sentences that the panel has fitted; expected "
            f"{MIN_SENTENCES} or more, of 2,000 that docs/distilled.md advises. Let "
            "the panel fit more reports (`lunguage run`)."
        )
    return panel.sort_values("sentence_key", ignore_index=True)


def distil(
    panel: pd.DataFrame, encoder: SentenceEmbedder, folder: Path
) -> pd.DataFrame:
    """Train a model, test it, and write it into a folder.

    Args:
        panel: its scores, as of `panel_scores`.
        encoder: that reads the sentences.
        folder: of the model.

    Returns:
        A `DISTILLED_SCORER` frame.
    """
    from sklearn.linear_model import BayesianRidge

    vectors = encode(encoder, panel["masked_sentence"].tolist())
    phrases = panel["phrases"].explode().dropna()
    by_sentence = held_out_scores(vectors, panel, panel["sent"])
    by_phrase = held_out_scores(vectors, panel, phrases)
    mu = panel["mu"]
    of_panel = (panel["mu_sd"] ** 2).mean() ** 0.5
    tests = pd.DataFrame(
        [
            {"test": "panel", "n": len(panel), "rmse": of_panel},
            _distance("held-out sentences", by_sentence, mu),
            _distance("held-out phrases", by_phrase, mu),
        ]
    )
    about = {
        "encoder": encoder.identity,
        "encoder_name": encoder.name,
        "largest_sd": by_sentence["sd"].quantile(_USUAL),
        "phrases": sorted(set(phrases)),
    }
    # What is stored has learnt from everything; what was tested had not.
    digest = write_scorer(folder, BayesianRidge().fit(vectors, mu), about)
    return DISTILLED_SCORER.frame(
        tests.assign(encoder=encoder.identity, sentences=len(panel), files=digest)
    )


def shortcomings(tests: pd.DataFrame) -> list[str]:
    """Say why a model should not be used without a second thought; empty: it may.

    Args:
        tests: `DISTILLED_SCORER` frame, or its tests alone.
    """
    by_test = tests.set_index("test")
    panel: Any = by_test.loc["panel"]
    held_out: Any = by_test.loc["held-out phrases"]
    if not held_out.n:
        return ["no phrase could be held out"]
    allowed = MAX_ERROR_RATIO * panel.rmse
    problems = []
    if not held_out.rmse <= allowed:
        problems.append(
            f"its error of mu on held-out phrases is {held_out.rmse:.2f}, more than "
            f"{allowed:.2f}, which is {MAX_ERROR_RATIO} times the panel's own "
            "deviation"
        )
    if not held_out.coverage >= MIN_COVERAGE:
        problems.append(
            f"{held_out.coverage:.0%} of its intervals hold there, expected "
            f"{MIN_COVERAGE:.0%}"
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
        mu_and_sd = head.predict(vectors[is_held_out], return_std=True)
        held_out[is_held_out] = np.column_stack(mu_and_sd)
    return held_out


def _distance(test: str, held_out: pd.DataFrame, mu: pd.Series) -> dict[str, Any]:
    """Measure how far scores lie from the panel's mu, where both are known.

    Args:
        test: what was held out.
        held_out: as `held_out_scores` returns them.
        mu: of the panel, whose own noise is in the deviation of a score.
    """
    distance = (held_out["mu"] - mu).abs().dropna()
    return {
        "test": test,
        "n": len(distance),
        "rmse": (distance**2).mean() ** 0.5,
        "spearman": held_out["mu"].corr(mu, method="spearman"),
        "coverage": (distance <= Z95 * held_out["sd"][distance.index]).mean(),
    }
