"""Trains a model on what a panel said of sentences, and holds it against the panel.

docs/distilled.md. Nobody is asked: what is learnt from was paid before. The model is
tested on sentences, and on whole phrases, that it had not seen. No truth is known here:
the panel's score given all its answers is the measure, and the distance between the
halves of these answers is what may be expected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.distilled.judge import Vectors, encode, write_scorer
from lunguage_assets.explicit.intervals import panel_posterior
from lunguage_assets.explicit.pairs import tentative_rows
from lunguage_assets.explicit.probability import Z95, ranked_phrases
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.randomness import Floats
from lunguage_assets.tables.explicit import DISTILLED_SCORER

MIN_SENTENCES = 50
"""Fitted sentences below which nothing is learnt."""

FOLDS = 4

MAX_ERROR_RATIO = 1.5
"""A model is used without a warning up to this multiple of the error between halves of
the panel, on held-out phrases.
"""
MIN_COVERAGE = 0.93
"""Share of its intervals that must hold there."""

_VALID_ANSWER = r"(?P<judge>\S+)=(?P<answer>won|lost)"
"""In the column `answers` of the log; a judge's key may have an equals sign, too."""

_USUAL = 0.99
"""Share of held-out sentences that count as like those that were learnt."""


def panel_scores(
    findings: pd.DataFrame,
    fitted: pd.DataFrame,
    log: pd.DataFrame,
    ranking: pd.DataFrame,
) -> pd.DataFrame:
    """Collect the sentences that a panel has fitted, and what it made of them.

    Args:
        findings: `FINDINGS` frame of all batches that the panel fitted.
        fitted: their `FITTED_PROBABILITIES`.
        log: their `FIT_LOG`.
        ranking: the `REFERENCE_RANKING` that the fits are of.

    Returns:
        A row for each masked sentence: `sentence_key`, `masked_sentence`, the sentence
        `sent` that it is of, its `phrases`, the panel's `mu`, and `half_0` and
        `half_1`: mu by either half of the panel's answers.

    Raises:
        MethodError: too few fitted sentences, or fits of another ranking.
    """
    if set(fitted["ranking_version"]) - set(ranking["ranking_version"]):
        raise MethodError(
            "fits belong to another ranking. `lunguage run` fits again; then distill."
        )
    columns = ["sentence_key", "masked_sentence", "sent"]
    sentences = tentative_rows(findings)[columns].drop_duplicates("sentence_key")
    fits = fitted[["sentence_key", "phrases", "mu_centre"]].dropna(subset="mu_centre")
    panel = sentences.merge(fits.drop_duplicates("sentence_key"))
    if len(panel) < MIN_SENTENCES or log.empty:
        raise MethodError(
            f"found {len(panel)} sentences that the panel has fitted, with {len(log)} "
            f"steps in fit_log; expected {MIN_SENTENCES} or more, of 2,000 that "
            "docs/distilled.md advises. Let the panel fit more reports (`lunguage "
            "run`), with fit_log = true under [explicit] in settings.toml."
        )
    panel = panel.sort_values("sentence_key", ignore_index=True)
    keys = pd.Index(panel["sentence_key"])
    halves = _halves(log, keys, ranked_phrases(ranking))
    panel[["half_0", "half_1"]] = np.column_stack(halves)
    return panel.rename(columns={"mu_centre": "mu"})


def _halves(log: pd.DataFrame, keys: pd.Index, ranking: pd.DataFrame) -> list[Floats]:
    """Score each sentence by every second answer of a judge, and by the others.

    So both halves have all judges.

    Args:
        log: 'judge=won judge=lost' are two answers.
        keys: of the sentences.
        ranking: of the phrases against which they were played.
    """
    # A sentence of several batches is in the log of each, with the same plays.
    steps = log.drop_duplicates(["sentence_key", "step"]).sort_values("step")
    steps = steps[steps["sentence_key"].isin(keys)]
    answers = steps.set_index(["sentence_key", "opponent"])["answers"]
    plays = answers.str.extractall(_VALID_ANSWER).reset_index()
    half = plays.groupby(["sentence_key", "judge"]).cumcount() % 2
    sentence = keys.get_indexer(pd.Index(plays["sentence_key"]))
    judge, judges = pd.factorize(plays["judge"], sort=True)
    phrase = pd.Index(ranking["phrase"]).get_indexer(pd.Index(plays["opponent"]))
    has_won = (plays["answer"] == "won").astype(np.int64)
    shape = (2, len(keys), len(judges), len(ranking), 2)
    counts = np.zeros(shape, dtype=np.int16)
    np.add.at(counts, (half, sentence, judge, phrase, has_won), 1)
    return [panel_posterior(answers, ranking).mean for answers in counts]


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
    tests = pd.DataFrame(
        [
            _distance("panel halves", panel["half_0"], panel["half_1"]),
            _distance("held-out sentences", by_sentence["mu"], mu, by_sentence["sd"]),
            _distance("held-out phrases", by_phrase["mu"], mu, by_phrase["sd"]),
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
    rows = tests.assign(encoder=encoder.identity, sentences=len(panel), files=digest)
    return DISTILLED_SCORER.frame(rows)


def shortcomings(tests: pd.DataFrame) -> list[str]:
    """Say why a model should not be used without a second thought; empty: it may.

    Args:
        tests: `DISTILLED_SCORER` frame, or its tests alone.
    """
    by_test = tests.set_index("test")
    halves: Any = by_test.loc["panel halves"]
    held_out: Any = by_test.loc["held-out phrases"]
    if not held_out.n:
        return ["no phrase could be held out"]
    allowed = MAX_ERROR_RATIO * halves.rmse
    problems = []
    if not held_out.rmse <= allowed:
        problems.append(
            f"its error of mu on held-out phrases is {held_out.rmse:.2f}, more than "
            f"{allowed:.2f}, which is {MAX_ERROR_RATIO} times that between halves of "
            "the panel"
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
