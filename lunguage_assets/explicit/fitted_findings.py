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
    NO_ANSWERS,
    Fits,
    Outcome,
    ReferenceScale,
)
from lunguage_assets.explicit.intervals import panel_posterior
from lunguage_assets.explicit.pairs import sentence_key, tentative_rows
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

_P_COLUMNS = ("p", "p_low", "p_high")
_UNKNOWN = (0.5, 0.0, 1.0)
"""p of a pair of which neither its sentence nor its phrases say anything."""


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
    reference = ReferenceScale.from_tables(ranking, vocabulary)

    masked = rows["masked_sentence"].where(rows["mask_state"] == "masked")
    keys = masked.map(sentence_key, na_action="ignore")
    sentences = masked.set_axis(keys).dropna()
    sentences = sentences[~sentences.index.duplicated()].sort_index()
    fit_of_sentence = _distinct_fits(sentences, panel)
    distinct = sentences.groupby(fit_of_sentence).first().tolist()
    fits = Fits(distinct, reference, panel, settings)
    fits.run()
    # Sentences of one fit have one score, which all their pairs share.
    scores = _scores(fits, reference).loc[fit_of_sentence].set_axis(sentences.index)
    pairs = rows[["finding_id", "study_id", "same_name_in_sentence"]].assign(
        phrases=rows["finding_id"].map(hedges.set_index("finding_id")["phrases"]),
        sentence_key=keys.fillna(""),
    )
    pairs = pairs.join(scores, on="sentence_key")
    log = fit_log(fits, fit_of_sentence, panel, reference)
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
    if len(scorers) < len(panel) or sentences.empty:
        return pd.Series(range(len(sentences)), sentences.index)
    blocks = []
    for start in range(0, len(sentences), _SENTENCES_READ_AT_ONCE):
        block = sentences.iloc[start : start + _SENTENCES_READ_AT_ONCE].tolist()
        blocks.append(pd.DataFrame([scorer.scores(block) for scorer in scorers]).T)
    scores = pd.concat(blocks).set_axis(sentences.index)
    return scores.groupby(list(scores), dropna=False, sort=False).ngroup()


def fit_log(
    fits: Fits,
    fit_of_sentence: pd.Series,
    panel: Sequence[Judge],
    reference: ReferenceScale,
) -> pd.DataFrame:
    """Make the `FIT_LOG` frame of fits.

    Args:
        fits: that have ended.
        fit_of_sentence: number of the fit of each sentence, by its key.
        panel: the judges.
        reference: the phrases.
    """
    if not fits.log:
        return FIT_LOG.frame()
    plays = pd.concat(fits.log)
    plays["opponent"] = np.array(reference.phrases)[plays["opponent"]]
    # 'judge=won' for every judge that was asked, in panel order.
    words = {Outcome.INVALID: "invalid", Outcome.LOST: "lost", Outcome.WON: "won"}
    plays["answers"] = ""
    for number, judge in enumerate(panel):
        answered = f" {judge.key}=" + plays[number].map(words)
        plays["answers"] += answered.fillna("")
    plays["answers"] = plays["answers"].str.strip()
    sentences = fit_of_sentence.rename("sentence").rename_axis("sentence_key")
    log = sentences.reset_index().merge(plays, on="sentence")
    return FIT_LOG.frame(log.sort_values(["sentence_key", "step"]))


def _scores(fits: Fits, reference: ReferenceScale) -> pd.DataFrame:
    """Make a row per fit; no score where it was given up.

    `mu`, `sigma` and `rank` are the filter's, from which p follows. `mu_centre` and
    `mu_sd` are of the score given all answers, from which the interval follows
    (docs/trust.md). `steps` has those without a valid answer, too.
    """
    posterior = panel_posterior(fits.answers, reference.mu, reference.variance)
    scores = pd.DataFrame(
        {
            "mu": fits.mu,
            "sigma": np.sqrt(fits.variance),
            "mu_centre": posterior.mean,
            "mu_sd": posterior.sd,
            "rank": pd.array(fits.rank, dtype="Int64"),
        }
    )
    scores.loc[fits.stop == NO_ANSWERS] = None
    return scores.assign(
        steps=fits.tried,
        answers=fits.answers.sum(axis=(1, 2, 3), dtype=np.int64),
        invalid_answers=fits.invalid,
        stop=fits.stop,
    )


def _with_probabilities(
    pairs: pd.DataFrame, ranking: pd.DataFrame, calibration: Calibration
) -> pd.DataFrame:
    """Make the `FITTED_PROBABILITIES` frame of pairs with their scores."""
    pairs = pairs.reset_index(drop=True)
    # Without a score, p is that of the phrases' mean mu, with TrueSkill's beta as its
    # error; without a ranked phrase it is unknown (section 5).
    mu_by_phrase = ranking.set_index("phrase")["mu"]
    mean_mu = pairs["phrases"].explode().map(mu_by_phrase).groupby(level=0).mean()
    applies = [pairs["mu"].notna(), mean_mu.notna()]
    by_fit = probability(pairs["mu"], pairs["mu_sd"], calibration, pairs["mu_centre"])
    by_phrases = probability(mean_mu, trueskill.BETA, calibration)
    columns = zip(_P_COLUMNS, by_fit, by_phrases, _UNKNOWN, strict=True)
    for name, fitted, of_phrases, unknown in columns:
        pairs[name] = np.select(applies, [fitted, of_phrases], unknown)
    counts = ["steps", "answers", "invalid_answers"]
    pairs[counts] = pairs[counts].fillna(0)
    pairs = pairs.assign(
        stop=pairs["stop"].fillna("not located"),
        p_source=np.select(applies, ["fitted", "phrase"], "none"),
        ruler=ranking["ruler"].iloc[0],
        ranking_version=ranking["ranking_version"].iloc[0],
    )
    return FITTED_PROBABILITIES.frame(pairs)
