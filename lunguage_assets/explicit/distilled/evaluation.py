"""How well a distilled model says what its panel says, of what it had not seen.

docs/distilled.md. Beside it: what the mean of the same phrases says, and how far the
panel agrees with itself. No truth is known here: the panel's score given all its
answers (`mu_centre`) is the measure.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.explicit.distilled.folds import (
    HeldOutMasks,
    Masks,
    held_out_masks,
)
from lunguage_assets.explicit.distilled.head import HeldOutScores, out_of_fold
from lunguage_assets.explicit.distilled.model import ScoreErrors
from lunguage_assets.explicit.distilled.scorer_files import stored_model
from lunguage_assets.explicit.distilled.training import (
    FOLDS,
    model_variants,
    scorer_vectors,
)
from lunguage_assets.explicit.fit.probability import Z95, Calibration, probability
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.asking.progress import steps_of
from lunguage_assets.randomness import Floats
from lunguage_assets.tables.analyses import DISTILLED_EVALUATION

MAX_ERROR_RATIO = 1.5
"""A model is used without a warning up to this multiple of the error between halves of
the panel, on held-out phrases.
"""
MIN_COVERAGE = 0.93
"""Share of its intervals that must hold there."""

SENTENCES = "held-out sentences"
PHRASES = "held-out phrases"
HALVES = "panel halves"

_CLEARLY_APART = 2.0
"""Deviations between two findings of a sentence whose order counts."""
_SMALLEST_VARIANCE = 1e-6


def evaluate(
    answers: Answers,
    scorers: pd.DataFrame,
    folder: Path,
    reference: ReferenceScale,
    calibration: Calibration,
) -> pd.DataFrame:
    """Hold a distilled model against its panel.

    Args:
        answers: from which the model learnt.
        scorers: its `DISTILLED_SCORER` frame.
        folder: of its files.
        reference: the phrases of the ranking.
        calibration: line through the anchors.

    Returns:
        A `DISTILLED_EVALUATION` frame.
    """
    _, errors = stored_model(folder)
    panel = _Panel(answers, reference, calibration, errors)
    masks = held_out_masks(answers, FOLDS, int(scorers["seed"].iloc[0]))
    held_out_by_variant = {
        name: variant.held_out for name, variant in model_variants(folder).items()
    }
    rows = [panel.halves]
    # `HeldOut` and `HeldOutMasks` have their fields in the same order.
    for number, test in enumerate((SENTENCES, PHRASES)):
        for name, held_out in held_out_by_variant.items():
            rows.append(panel.row_with_interval(test, name, held_out[number]))
        folds = masks[number]
        # What needs no model: it must do better than the mean of the same phrases.
        rows.append(panel.row(test, "phrase mean", _phrase_means(answers, folds)))
        rows.append(panel.row(test, "mean", _means(answers, folds)))
    mu_by_variant = {
        name: held_out.sentences.mu for name, held_out in held_out_by_variant.items()
    }
    spread = float(scorers["spread"].iloc[0])
    rows += _rows_of_judges(answers, mu_by_variant, masks, folder, spread)
    rows += [_scope_row(answers, name, mu) for name, mu in mu_by_variant.items()]
    used = str(scorers.loc[scorers["is_used"], "rung"].iloc[0])
    # What a test does not measure is null.
    common = {
        **dict.fromkeys(DISTILLED_EVALUATION.names),
        "against": "panel",
        "ranking_version": str(scorers["ranking_version"].iloc[0]),
    }
    return DISTILLED_EVALUATION.frame(
        [{**common, **row, "is_used": row["scorer"] == used} for row in rows]
    )


def shortcomings(evaluation: pd.DataFrame) -> list[str]:
    """Say why a model should not be used without a second thought; empty: it may.

    Args:
        evaluation: `DISTILLED_EVALUATION` frame.
    """
    is_tested = evaluation["is_used"] & (evaluation["test"] == PHRASES)
    tested = evaluation[is_tested].iloc[0]
    between = evaluation[evaluation["test"] == HALVES].iloc[0]
    if not tested["n"]:
        return ["no phrase could be held out"]
    problems = []
    if not tested["rmse"] <= MAX_ERROR_RATIO * between["rmse"]:
        problems.append(
            f"its error of mu on held-out phrases is {tested['rmse']:.2f}, more than "
            f"{MAX_ERROR_RATIO} times the {between['rmse']:.2f} between halves of the "
            "panel"
        )
    if not tested["coverage"] >= MIN_COVERAGE:
        problems.append(
            f"{tested['coverage']:.0%} of its intervals hold there, expected "
            f"{MIN_COVERAGE:.0%}"
        )
    return problems


class _Panel:
    """The panel's scores, with which others are compared."""

    def __init__(
        self,
        answers: Answers,
        reference: ReferenceScale,
        calibration: Calibration,
        errors: ScoreErrors,
    ) -> None:
        self._answers = answers
        self._calibration = calibration
        self._errors = errors
        self._mu = answers.sentences["mu_centre"].to_numpy()
        self._mu_sd = answers.sentences["mu_sd"].to_numpy()
        halves = answers.halves(reference)
        self.halves = {
            **self._distance(halves.first, halves.second),
            "test": HALVES,
            "scorer": "half the answers",
        }
        plays = int((~answers.is_of_pair).sum())
        fitted = max(int(answers.is_fitted.sum()), 1)
        self._answers_of_sentence = plays / fitted
        # What an answer adds to the precision of a score, on average: the variance of a
        # half is half that between halves, and a half has half of the answers.
        variance = max(self.halves["rmse"] ** 2 / 2.0, _SMALLEST_VARIANCE)
        prior_precision = trueskill.SIGMA**-2
        precision = max(1.0 / variance - prior_precision, _SMALLEST_VARIANCE)
        self._precision_of_answer = precision / (self._answers_of_sentence / 2.0)

    def _distance(self, first: Floats, second: Floats) -> dict[str, Any]:
        """Measure how far two lists of mu lie from each other, where both are known."""
        from scipy.stats import spearmanr

        is_known = ~(np.isnan(first) | np.isnan(second))
        first = first[is_known]
        second = second[is_known]
        if len(first) < 3:
            return {"n": 0}
        p_first = probability(first, 0.0, self._calibration).p
        p_second = probability(second, 0.0, self._calibration).p
        spearman = np.nan
        if np.ptp(first) >= 1e-9 and np.ptp(second) >= 1e-9:
            spearman = float(spearmanr(first, second)[0])
        return {
            "n": len(first),
            "rmse": float(np.sqrt(((first - second) ** 2).mean())),
            "spearman": spearman,
            "p_error": float(np.abs(p_first - p_second).mean()),
        }

    def row(self, test: str, scorer: str, mu: Floats) -> dict[str, Any]:
        """Compare scores with the panel's.

        Args:
            test: what was held out.
            scorer: what scored.
            mu: scores of all sentences; NaN: none.
        """
        row = {"test": test, "scorer": scorer, **self._distance(mu, self._mu)}
        if not row["n"]:
            return row
        is_known = self._answers.is_fitted & ~np.isnan(mu)
        # The panel's own variance is not the scorer's error.
        panel_variance = float((self._mu_sd[is_known] ** 2).mean())
        variance = max(row["rmse"] ** 2 - panel_variance, _SMALLEST_VARIANCE)
        precision = max(1.0 / variance - trueskill.SIGMA**-2, 0.0)
        # How many answers of the panel say as much; all of them at most.
        worth = precision / self._precision_of_answer
        row["worth"] = min(worth, self._answers_of_sentence)
        return row

    def row_with_interval(
        self, test: str, scorer: str, scores: HeldOutScores
    ) -> dict[str, Any]:
        """Compare scores with the panel's, and say how often their intervals hold.

        Args:
            test: what was held out.
            scorer: what scored.
            scores: with the variance of its head.
        """
        row = self.row(test, scorer, scores.mu)
        if not row["n"]:
            return row
        is_known = self._answers.is_fitted & ~np.isnan(scores.mu)
        mu = scores.mu[is_known]
        sd = self._errors.deviation(mu, scores.variance[is_known])
        distance = np.abs(mu - self._mu[is_known])
        distance_in_sd = distance / np.sqrt(sd**2 + self._mu_sd[is_known] ** 2)
        interval = probability(mu, sd, self._calibration)
        row["coverage"] = float((distance_in_sd <= Z95).mean())
        row["width"] = float((interval.high - interval.low).mean())
        return row


def _means(answers: Answers, masks: Masks) -> Floats:
    """Score each sentence by the panel's mean over the other folds."""
    panel_mu = answers.sentences["mu_centre"].to_numpy()
    mu = np.full(len(panel_mu), np.nan)
    for mask in masks:
        mu[mask] = np.nanmean(panel_mu[~mask])
    return mu


def _phrase_means(answers: Answers, masks: Masks) -> Floats:
    """Score each sentence by the mean of its phrases in the other folds.

    Where none of them is there, the mean of all stands in.
    """
    frame = answers.sentences
    mu = _means(answers, masks)
    phrases_of_sentence = frame["phrases"].tolist()
    for mask in masks:
        seen = frame[~mask & answers.is_fitted].explode("phrases")
        mean_by_phrase = seen.groupby("phrases")["mu_centre"].mean().to_dict()
        for row in np.flatnonzero(mask).tolist():
            means = [
                mean_by_phrase[phrase]
                for phrase in phrases_of_sentence[row]
                if phrase in mean_by_phrase
            ]
            if means:
                mu[row] = sum(means) / len(means)
    return mu


def _rows_of_judges(
    answers: Answers,
    mu_by_variant: dict[str, Floats],
    masks: HeldOutMasks,
    folder: Path,
    spread: float,
) -> list[dict[str, Any]]:
    """Compare variants with each judge, and a head that learnt without that judge."""
    rows = []
    agreement_among_judges = _agreement_among_judges(answers)
    has_others = len(answers.judges) > 1
    heads = len(answers.judges) * len(masks.sentences) if has_others else 0
    step = steps_of("leaving out judge after judge", heads)
    vectors = scorer_vectors(folder)
    for number, judge in enumerate(answers.judges):
        of_judge = answers.subset(answers.judge == number)
        compared = [("judges", name, mu) for name, mu in mu_by_variant.items()]
        if has_others:
            # Held against a judge that it has learnt from, a model would be held
            # against its own teacher.
            of_others = answers.subset(answers.judge != number)
            left_out = out_of_fold(vectors, of_others, masks.sentences, spread, step)
            compared.append(("judge left out", "frozen", left_out.mu))
        for test, scorer, mu in compared:
            margin = of_judge.margin(mu)
            is_known = ~np.isnan(margin)
            is_same = (margin > 0) == of_judge.won
            row = {
                "test": test,
                "scorer": scorer,
                "against": judge,
                "n": int(is_known.sum()),
                "agreement": _share(is_same[is_known]),
                "among_judges": agreement_among_judges[judge],
            }
            rows.append(row)
    return rows


def _share(is_same: Any) -> float:
    """Compute the share of those that are true; NaN of none."""
    return float(np.mean(is_same)) if len(is_same) else np.nan


def _agreement_among_judges(answers: Answers) -> dict[str, float]:
    """Say how often other judges give the same answer as each, to the same question."""
    question = ["sentence", "other_sentence", "phrase", "step"]
    frame = pd.DataFrame({name: getattr(answers, name) for name in question})
    frame = frame.assign(judge=answers.judge, won=answers.won)
    pairs = frame.merge(frame, on=question, suffixes=("", "_other"))
    pairs = pairs[pairs["judge"] != pairs["judge_other"]]
    is_same = pairs["won"] == pairs["won_other"]
    share = is_same.groupby(pairs["judge"]).mean()
    return {
        judge: float(share.get(number, np.nan))
        for number, judge in enumerate(answers.judges)
    }


def _scope_row(answers: Answers, scorer: str, mu: Floats) -> dict[str, Any]:
    """Compare two findings of one sentence, which only their places in it tell apart.

    "Likely edema, no definite pneumonia": counted are the pairs that the panel puts
    clearly apart, and those of them that the scorer has in the same order.
    """
    frame = answers.sentences.assign(score=mu)
    has_pair = frame["pair"] != ""
    frame = frame[answers.is_fitted & has_pair & ~np.isnan(mu)]
    is_same_order: list[bool] = []
    for _, rows in frame.groupby("pair"):
        mu_sd_score = rows[["mu_centre", "mu_sd", "score"]].to_numpy()
        for first, second in combinations(mu_sd_score, 2):
            first_mu, first_sd, first_score = first
            second_mu, second_sd, second_score = second
            apart = second_mu - first_mu
            # Closer than their errors allow to tell, the order is chance.
            if abs(apart) > _CLEARLY_APART * np.hypot(second_sd, first_sd):
                is_same_order.append((apart > 0) == (second_score > first_score))
    return {
        "test": "scope",
        "scorer": scorer,
        "n": len(is_same_order),
        "agreement": _share(is_same_order),
    }
