"""Fits every tentative finding into the reference scale and reads its probability off.

Section 5 of docs/method/explicit.md, from tables to tables: the algorithm is in
`algorithm.py`; from a score to a probability: `probability.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.algorithm import (
    NO_ANSWERS,
    Fits,
    Round,
    fit_sentences,
)
from lunguage_assets.explicit.fit.fit_panel import Outcome
from lunguage_assets.explicit.fit.posterior import panel_posterior
from lunguage_assets.explicit.fit.probability import (
    Anchor,
    Calibration,
    calibrate,
    probability,
    ranked_phrases,
)
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.pairs import sentence_key, tentative_rows
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.protocol import Judge
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.randomness import Integers
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import FITTED_PROBABILITIES
from lunguage_assets.tables.explicit import FIT_LOG

SENTENCES_AT_ONCE = 20_000
"""Sentences whose fits advance together; memory follows from it, results do not."""
_SENTENCES_READ_AT_ONCE = 1_000
"""By one judge after the other: what was read of a sentence is still remembered."""

_P_COLUMNS = ("p", "p_low", "p_high")
_UNKNOWN = (0.5, 0.0, 1.0)
"""p of a pair of which neither its sentence nor its phrases say anything."""

_OUTCOME_WORDS = {
    Outcome.WON: "won",
    Outcome.LOST: "lost",
    Outcome.INVALID: "invalid",
}


class FitTables(NamedTuple):
    """`FITTED_PROBABILITIES` and `FIT_LOG` frames of the same fits."""

    probabilities: pd.DataFrame
    log: pd.DataFrame


class _FittedSentences(NamedTuple):
    """Scores by sentence key, and the log of their fits."""

    scores: pd.DataFrame
    log: pa.Table


def fit_pairs(
    findings: pd.DataFrame,
    hedges: pd.DataFrame,
    vocabulary: pd.DataFrame,
    ranking: pd.DataFrame,
    panel: Sequence[Judge],
    anchors: Sequence[Anchor],
    settings: ExplicitSettings,
    scored: pd.DataFrame | None = None,
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
        scored: sentences that a distilled model has scored, which need no fit
            (`distilled.scoring.score_sentences`).

    Returns:
        Probabilities by study and row, and the plays by sentence key and step; the log
        is empty when `settings.fit_log` is off.

    Raises:
        MethodError: no judge; tables that do not belong together; unusable anchors.
    """
    rows = tentative_rows(findings)
    phrases_by_finding = dict(zip(hedges["finding_id"], hedges["phrases"], strict=True))
    if set(rows["finding_id"]) != set(phrases_by_finding):
        raise MethodError(
            f"hedge_phrases is about {len(phrases_by_finding)} pairs, findings has "
            f"{len(rows)}, and they are not the same ones. Materialise hedge_phrases "
            "again."
        )
    if not panel:
        raise MethodError(
            "the panel has no judge. Name its members in the judges file."
        )
    if rows.empty:
        return FitTables(FITTED_PROBABILITIES.frame(), FIT_LOG.frame())
    ranking = ranked_phrases(ranking)
    # Before any judge is asked: unusable anchors must not cost answers.
    calibration = calibrate(ranking, anchors)
    reference = ReferenceScale.from_tables(ranking, vocabulary)

    masked = rows.loc[rows["mask_state"] == "masked", "masked_sentence"]
    key_by_row = masked.map(sentence_key)
    sentence_by_key = dict(zip(key_by_row, masked, strict=True))
    scores = [] if scored is None else [scored]
    logs = []
    unscored = sorted(sentence_by_key.keys() - set(*[frame.index for frame in scores]))
    # One time at least, so that there is a frame of scores.
    for start in range(0, max(len(unscored), 1), SENTENCES_AT_ONCE):
        keys = unscored[start : start + SENTENCES_AT_ONCE]
        sentences = {key: sentence_by_key[key] for key in keys}
        fitted = _fit(sentences, reference, panel, settings)
        scores.append(fitted.scores)
        logs.append(fitted.log)
    pairs = rows[["finding_id", "study_id", "same_name_in_sentence"]].assign(
        phrases=rows["finding_id"].map(phrases_by_finding),
        sentence_key=key_by_row.reindex(rows.index).fillna(""),
    )
    # Sentences of one wording have one fit, which all their pairs share.
    pairs = pairs.join(pd.concat(scores), on="sentence_key")
    log = FIT_LOG.from_arrow(pa.concat_tables(logs))
    return FitTables(_with_probabilities(pairs, ranking, calibration), log)


def _fit(
    sentences: dict[str, str],
    reference: ReferenceScale,
    panel: Sequence[Judge],
    settings: ExplicitSettings,
) -> _FittedSentences:
    """Fit sentences, by their keys."""
    keys = list(sentences)
    texts = list(sentences.values())
    fit_of_sentence = _fit_numbers(texts, panel)
    _, first_sentence = np.unique(fit_of_sentence, return_index=True)
    rounds: list[Round] = []
    fits = fit_sentences(
        [texts[number] for number in first_sentence.tolist()],
        reference,
        panel,
        settings,
        rounds if settings.fit_log else None,
    )
    scores = _scores(fits, reference).iloc[fit_of_sentence]
    log = log_table(rounds, keys, fit_of_sentence, panel, reference)
    return _FittedSentences(scores.set_index(pd.Index(keys, dtype="str")), log)


def _fit_numbers(sentences: Sequence[str], panel: Sequence[Judge]) -> Integers:
    """Number the fits, from 0 on, and say of each sentence which is its own.

    A panel of scorers plays by the scores and the step alone (`FitPanel`), so sentences
    of the same scores have one fit.
    """
    scorers = [judge for judge in panel if isinstance(judge, Scorer)]
    if len(scorers) < len(panel) or not sentences:
        return np.arange(len(sentences))
    blocks = []
    for start in range(0, len(sentences), _SENTENCES_READ_AT_ONCE):
        block = sentences[start : start + _SENTENCES_READ_AT_ONCE]
        blocks.append(pd.DataFrame([scorer.scores(block)[0] for scorer in scorers]).T)
    scores = pd.concat(blocks, ignore_index=True)
    same_scores = scores.groupby(list(scores), dropna=False, sort=False)
    return np.asarray(same_scores.ngroup(), dtype=np.int64)


def log_table(
    rounds: Sequence[Round],
    keys: Sequence[str],
    fit_of_sentence: Integers,
    panel: Sequence[Judge],
    reference: ReferenceScale,
) -> pa.Table:
    """Make an Arrow table of `FIT_LOG` from the rounds of fits.

    Args:
        rounds: in the order in which they were played.
        keys: of the sentences, in the order of the result.
        fit_of_sentence: number of the fit of each.
        panel: the judges.
        reference: the phrases.
    """
    if not rounds:
        return FIT_LOG.arrow.empty_table()
    plays = Round._make(map(np.concatenate, zip(*rounds, strict=True)))
    # Rounds are in the order of steps; the log has each sentence's steps together.
    order = np.lexsort((plays.step, plays.sentence))
    steps_of_fit = np.bincount(plays.sentence)
    first_of_fit = np.cumsum(steps_of_fit) - steps_of_fit
    steps = steps_of_fit[fit_of_sentence]
    step = np.arange(steps.sum()) - np.repeat(np.cumsum(steps) - steps, steps)
    order = order[np.repeat(first_of_fit[fit_of_sentence], steps) + step]
    # A few combinations make up millions of plays: each is put into words once.
    distinct, texts = np.unique(plays.outcomes, axis=0, return_inverse=True)
    answers = [_answers_text(outcomes, panel) for outcomes in distinct.tolist()]
    columns = {
        "sentence_key": pa.array(keys).take(np.repeat(np.arange(len(keys)), steps)),
        "step": step,
        "opponent": pa.array(reference.phrases).take(plays.opponent[order]),
        "draw_probability": plays.draw_probability[order],
        "answers": pa.array(answers).take(texts.ravel()[order]),
        "mu": plays.mu[order],
        "sigma": plays.sigma[order],
        "rank": plays.rank[order],
    }
    return pa.table(columns).cast(FIT_LOG.arrow)


def _answers_text(outcomes: Sequence[int], panel: Sequence[Judge]) -> str:
    """Write 'judge=won' for every judge that was asked, in panel order."""
    answers = zip(panel, map(Outcome, outcomes), strict=True)
    return " ".join(
        f"{judge.key}={_OUTCOME_WORDS[outcome]}"
        for judge, outcome in answers
        if outcome != Outcome.NOT_ASKED
    )


def _scores(fits: Fits, reference: ReferenceScale) -> pd.DataFrame:
    """Make a row per fit; no score where it was given up.

    `mu`, `sigma` and `rank` are the filter's, from which p follows. `mu_centre` and
    `mu_sd` are of the score given all answers, from which the interval follows
    (docs/trust.md). `steps` has those without a valid answer, too.
    """
    posterior = panel_posterior(fits.won, fits.lost, reference)
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
        answers=(fits.won + fits.lost).sum(axis=(1, 2), dtype=np.int64),
        invalid_answers=fits.invalid,
        stop=fits.stop,
    )


def _with_probabilities(
    pairs: pd.DataFrame, ranking: pd.DataFrame, calibration: Calibration
) -> pd.DataFrame:
    """Make the `FITTED_PROBABILITIES` frame of pairs with their scores."""
    pairs = pairs.reset_index(drop=True).assign(
        ruler=ranking["ruler"].iloc[0],
        ranking_version=ranking["ranking_version"].iloc[0],
        p_source="fitted",
        stop=pairs["stop"].fillna("not located").tolist(),
    )
    of_fit = probability(pairs["mu"], pairs["mu_sd"], calibration, pairs["mu_centre"])
    for name, values in zip(_P_COLUMNS, of_fit, strict=True):
        pairs[name] = values
    counts = ["steps", "answers", "invalid_answers"]
    pairs[counts] = pairs[counts].fillna(0).astype("int64")
    mu_by_phrase = ranking.set_index("phrase")["mu"]
    # Without a score, p is that of the phrases' mean mu, with TrueSkill's beta as its
    # error; without a ranked phrase it is unknown (section 5).
    is_unfitted = pairs["mu"].isna()
    unfitted = pairs.loc[is_unfitted, "phrases"]
    mean_mu = unfitted.explode().map(mu_by_phrase).groupby(level=0).mean()
    by_phrases = probability(mean_mu, trueskill.BETA, calibration)
    is_unknown = mean_mu.isna()
    for name, values, unknown in zip(_P_COLUMNS, by_phrases, _UNKNOWN, strict=True):
        pairs.loc[is_unfitted, name] = np.where(is_unknown, unknown, values)
    pairs.loc[is_unfitted, "p_source"] = np.where(is_unknown, "none", "phrase")
    return FITTED_PROBABILITIES.frame(
        {name: pairs[name].tolist() for name in FITTED_PROBABILITIES.names}
    )
