"""Fits every tentative finding into the reference scale and reads its probability off.

Sections 5 and 6 of docs/method/explicit.md, from tables to tables: the algorithm is in
`fit.py`; from a score to a probability: `probability.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.fit import (
    Fits,
    phrase_examples,
)
from lunguage_assets.explicit.pairs import tentative_rows
from lunguage_assets.explicit.probability import (
    Anchor,
    Calibration,
    calibrate,
    probability,
    ranked_phrases,
)
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import FIT_LOG

_SENTENCES_READ_AT_ONCE = 1_000
"""By one judge after the other: what was read of a sentence is still remembered."""

_UNKNOWN = {
    "p": 0.5,
    "p_low": 0.0,
    "p_high": 1.0,
    "steps": 0,
    "answers": 0,
    "invalid_answers": 0,
    "stop": "not located",
}
"""What stands of a pair where neither its sentence nor its phrases say anything."""


class FitTables(NamedTuple):
    """`FITTED_PROBABILITIES` and `FIT_LOG` frames of the same fits."""

    probabilities: pd.DataFrame
    log: pd.DataFrame


def fit_pairs(
    findings: pd.DataFrame,
    hedges: pd.DataFrame,
    vocabulary: pd.DataFrame,
    ranking: pd.DataFrame,
    panel: Sequence[Judge],
    anchors: Sequence[Anchor],
    settings: ExplicitSettings,
) -> FitTables:
    """Fit every tentative finding and read its probability off its score.

    Identical masked sentences are fitted once. A result depends on its sentence, the
    ranking, the panel, the anchors and the settings, and on no other sentence.

    Args:
        findings: `FINDINGS` frame of a batch.
        hedges: its `HEDGE_PHRASES` frame.
        vocabulary: the `HEDGE_VOCABULARY` frame that was ranked.
        ranking: its `REFERENCE_RANKING` frame.
        panel: judges, in the order in which their answers are used.
        anchors: phrases of known probability.
        settings: options of the fit, seed, position.

    Returns:
        Probabilities by study and row, and the plays by sentence key and step; the log
        is empty when `settings.fit_log` is off.

    Raises:
        CalibrationError: unusable anchors.
    """
    rows = tentative_rows(findings)
    if rows.empty:
        return FitTables(FITTED_PROBABILITIES.frame(), FIT_LOG.frame())
    ranking = ranked_phrases(ranking)
    # Before any judge is asked: unusable anchors must not cost answers.
    calibration = calibrate(ranking, anchors)
    examples = phrase_examples(ranking, vocabulary)

    located = rows[rows["sentence_key"] != ""].drop_duplicates("sentence_key")
    sentences = located.set_index("sentence_key")["masked_sentence"]
    fit_of_sentence = _distinct_fits(sentences, panel)
    distinct = sentences.groupby(fit_of_sentence).first().tolist()
    fits = Fits(distinct, ranking, examples, panel, settings)
    fits.run()
    # Sentences of one fit have one score, which all their pairs share.
    scores = fits.scores().loc[fit_of_sentence].set_axis(sentences.index)
    phrases = hedges[["finding_id", "phrases"]]
    pairs = rows.merge(phrases, how="left").join(scores, on="sentence_key")
    log = FIT_LOG.frame()
    if fits.log:
        fitted = fit_of_sentence.rename("sentence").reset_index()
        plays = fitted.merge(fits.plays(), on="sentence")
        log = FIT_LOG.frame(plays.sort_values(["sentence_key", "step"]))
    return FitTables(_with_probabilities(pairs, ranking, calibration), log)


def _distinct_fits(sentences: pd.Series, panel: Sequence[Judge]) -> pd.Series:
    """Number the fits, from 0 on, and say of each sentence which is its own.

    A panel of scorers plays by the scores and the step alone (`fit.Fits`), so
    sentences of the same scores have one fit.

    Args:
        sentences: by their keys.
        panel: that fits them.
    """
    scorers = [judge for judge in panel if isinstance(judge, Scorer)]
    if len(scorers) < len(panel):
        return pd.Series(range(len(sentences)), sentences.index)
    scores = pd.DataFrame(0.0, sentences.index, range(len(scorers)))
    for start in range(0, len(sentences), _SENTENCES_READ_AT_ONCE):
        block = slice(start, start + _SENTENCES_READ_AT_ONCE)
        for number, scorer in enumerate(scorers):
            scores.iloc[block, number] = scorer.scores(sentences.iloc[block].tolist())
    return scores.groupby(list(scores), dropna=False).ngroup()


def _with_probabilities(
    pairs: pd.DataFrame, ranking: pd.DataFrame, calibration: Calibration
) -> pd.DataFrame:
    """Make the `FITTED_PROBABILITIES` frame of pairs with their scores."""
    # Without a score, p is that of the phrases' mean mu, with TrueSkill's beta as its
    # error; without a ranked phrase it is unknown (section 5).
    mu_by_phrase = ranking.set_index("phrase")["mu"]
    mu_of_phrases = pairs["phrases"].explode().map(mu_by_phrase)
    mean_mu = mu_of_phrases.groupby(level=0).mean()
    mu = pairs["mu"].fillna(mean_mu)
    p, p_low, p_high = probability(
        mu,
        pairs["mu_sd"].fillna(trueskill.BETA),
        calibration,
        centre=pairs["mu_centre"].fillna(mean_mu),
    )
    sources = np.select([pairs["mu"].notna(), mu.notna()], ["fitted", "phrase"], "none")
    fitted = pairs.assign(
        p=p,
        p_low=p_low,
        p_high=p_high,
        p_source=sources,
        ruler=ranking["ruler"].iloc[0],
        ranking_version=ranking["ranking_version"].iloc[0],
    )
    return FITTED_PROBABILITIES.frame(fitted.fillna(_UNKNOWN))
