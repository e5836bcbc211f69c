"""How well a distilled model says what its panel says, of sentences and of phrases that it had not seen;
beside it what the mean of the same phrases says, and how far the panel agrees with itself. No truth is known
here: the panel's place given all its answers (`mu_centre`) is the measure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.explicit.distilled.answers import Answers
from lunguage_assets.explicit.distilled.head import out_of_fold
from lunguage_assets.explicit.distilled.training import (
    Masks,
    held_out_masks,
    rungs_of,
    scorer_vectors,
)
from lunguage_assets.explicit.fit.probability import Z95, Calibration, probability
from lunguage_assets.explicit.fit.reference import ReferenceScale
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.judges.asking.progress import steps_of
from lunguage_assets.judges.distilled import Errors, stored_model
from lunguage_assets.randomness import Floats
from lunguage_assets.tables.analyses import DISTILLED_EVALUATION

MOST_ERROR, LEAST_COVERAGE = 1.5, 0.93
"""A model is used without a warning up to this multiple of the error between halves of the panel, on
held-out phrases, and from this coverage on.
"""

SENTENCES, PHRASES, HALVES = "held-out sentences", "held-out phrases", "panel halves"


def evaluate(
    answers: Answers,
    scorers: pd.DataFrame,
    folder: Path,
    reference: ReferenceScale,
    calibration: Calibration,
) -> pd.DataFrame:
    """A `DISTILLED_EVALUATION` frame.

    Args:
        answers: from which the model learnt.
        scorers: its `DISTILLED_SCORER` frame, of the files in `folder`.
        reference, calibration: of the ranking.
    """
    found = _Evaluation(answers, reference, calibration, stored_model(folder)[1])
    rungs, rows = rungs_of(folder), list[dict[str, Any]]()
    masks = held_out_masks(answers, int(scorers["seed"].iloc[0]))
    rows.append(found.of_halves)
    for number, (test, folds) in enumerate(
        zip((SENTENCES, PHRASES), masks, strict=True)
    ):
        for name, rung in rungs.items():
            held = rung.held_out
            rows.append(found.row(test, name, held[2 * number], held[2 * number + 1]))
        rows.append(found.row(test, "phrase mean", _phrase_means(answers, folds)))
        rows.append(found.row(test, "mean", _means(answers, folds)))
    spread = float(scorers["spread"].iloc[0])
    vectors = scorer_vectors(folder)
    among = _among_judges(answers)
    several = len(answers.judges) > 1
    step = steps_of(
        "leaving out judge after judge", several * len(answers.judges) * len(masks[0])
    )
    for number, judge in enumerate(answers.judges):
        mine = answers.only(answers.judge == number)
        for name, rung in rungs.items():
            rows.append(
                _agreeing(
                    "judges", name, judge, mine, rung.held_out.sentences, among[judge]
                )
            )
        if several:
            others = answers.only(answers.judge != number)
            left_out = out_of_fold(vectors, others, masks[0], spread, step)[0]
            rows.append(
                _agreeing(
                    "judge left out", "frozen", judge, mine, left_out, among[judge]
                )
            )
    rows += [
        _scope(answers, name, rung.held_out.sentences) for name, rung in rungs.items()
    ]
    version = str(scorers["ranking_version"].iloc[0])
    used = str(scorers.loc[scorers["is_used"], "rung"].iloc[0])
    shared = {"ranking_version": version}
    return DISTILLED_EVALUATION.frame(
        [{**_EMPTY, **shared, **row, "is_used": row["scorer"] == used} for row in rows]
    )


def shortcomings(evaluation: pd.DataFrame) -> list[str]:
    """Why a model should not be used without a second thought; empty: it may."""
    tested = evaluation[evaluation["is_used"] & (evaluation["test"] == PHRASES)].iloc[0]
    between = evaluation[evaluation["test"] == HALVES].iloc[0]
    found = []
    if not tested["n"]:
        found.append("no phrase could be held out")
    elif not tested["rmse"] <= MOST_ERROR * between["rmse"]:
        found.append(
            f"its error of mu on held-out phrases is {tested['rmse']:.2f}, more than {MOST_ERROR} times the "
            f"{between['rmse']:.2f} between halves of the panel"
        )
    if tested["n"] and not tested["coverage"] >= LEAST_COVERAGE:
        found.append(
            f"{tested['coverage']:.0%} of its intervals hold there, expected {LEAST_COVERAGE:.0%}"
        )
    return found


_EMPTY: dict[str, Any] = {
    "against": "panel",
    **dict.fromkeys(
        ("rmse", "spearman", "p_error", "coverage", "width", "agreement"), np.nan
    ),
    **dict.fromkeys(("among_judges", "worth"), np.nan),
}


class _Evaluation:
    """What is compared with the panel's places."""

    def __init__(
        self,
        answers: Answers,
        reference: ReferenceScale,
        calibration: Calibration,
        errors: Errors,
    ) -> None:
        self.answers, self.line, self.errors = answers, calibration, errors
        frame = answers.sentences
        self.panel, self.own = frame["mu_centre"].to_numpy(), frame["mu_sd"].to_numpy()
        first, second = answers.halves(reference)
        self.of_halves = {
            **self.compared(first, second),
            "test": HALVES,
            "scorer": "half the answers",
        }
        self.played = int((answers.other < 0).sum()) / max(
            int(answers.is_fitted.sum()), 1
        )
        half = max(self.of_halves["rmse"] ** 2 / 2.0, 1e-6)
        prior = trueskill.SIGMA**-2
        self.of_one = max(1.0 / half - prior, 1e-6) / (self.played / 2.0)
        """What an answer adds to the precision of a place, on average."""

    def compared(self, mu: Floats, panel: Floats) -> dict[str, Any]:
        """How far two lists of places lie from each other, where both are known."""
        from scipy.stats import spearmanr

        known = ~(np.isnan(mu) | np.isnan(panel))
        one, two = mu[known], panel[known]
        if len(one) < 3:
            return {"n": 0}
        p, q = (probability(places, 0.0, self.line)[0] for places in (one, two))
        flat = np.ptp(one) < 1e-9 or np.ptp(two) < 1e-9
        return {
            "n": len(one),
            "rmse": float(np.sqrt(((one - two) ** 2).mean())),
            "spearman": np.nan if flat else float(spearmanr(one, two)[0]),
            "p_error": float(np.abs(p - q).mean()),
        }

    def row(
        self, test: str, scorer: str, mu: Floats, head: Floats | None = None
    ) -> dict[str, Any]:
        """A scorer against the panel; with the variance of its head also its intervals."""
        found: dict[str, Any] = {
            "test": test,
            "scorer": scorer,
            **self.compared(mu, self.panel),
        }
        known = self.answers.is_fitted & ~np.isnan(mu)
        if not found["n"]:
            return found
        own = max(found["rmse"] ** 2 - float((self.own[known] ** 2).mean()), 1e-6)
        worth = max(1.0 / own - trueskill.SIGMA**-2, 0.0) / self.of_one
        found["worth"] = min(
            worth, self.played
        )  # what errs no more than all answers is worth all of them
        if head is not None:
            sd = self.errors.deviation(mu[known], head[known])
            away = np.abs(mu[known] - self.panel[known]) / np.sqrt(
                sd**2 + self.own[known] ** 2
            )
            _, low, high = probability(mu[known], sd, self.line)
            found |= {
                "coverage": float((away <= Z95).mean()),
                "width": float((high - low).mean()),
            }
        return found


def _means(answers: Answers, masks: Masks) -> Floats:
    """The mean of the other folds."""
    panel, found = (
        answers.sentences["mu_centre"].to_numpy(),
        np.full(len(answers.sentences), np.nan),
    )
    for mask in masks:
        found[mask] = np.nanmean(panel[~mask])
    return found


def _phrase_means(answers: Answers, masks: Masks) -> Floats:
    """The mean place of each sentence's phrases in the other folds; of all, where none of them is there."""
    frame, found = answers.sentences, _means(answers, masks)
    said = frame["phrases"].tolist()
    for mask in masks:
        known = frame[~mask & answers.is_fitted].explode("phrases")
        place = known.groupby("phrases")["mu_centre"].mean().to_dict()
        for row in np.flatnonzero(mask).tolist():
            if places := [place[phrase] for phrase in said[row] if phrase in place]:
                found[row] = sum(places) / len(places)
    return found


def _agreeing(
    test: str, scorer: str, judge: str, mine: Answers, mu: Floats, among: float
) -> dict[str, Any]:
    """In how many of a judge's answers a scorer says the same."""
    ahead = mine.ahead(mu)
    known = ~np.isnan(ahead)
    same = float(((ahead > 0) == mine.won)[known].mean()) if known.any() else np.nan
    told = {"agreement": same, "among_judges": among}
    return {
        "test": test,
        "scorer": scorer,
        "against": judge,
        "n": int(known.sum()),
        **told,
    }


def _among_judges(answers: Answers) -> dict[str, float]:
    """In how many answers to the same question the other judges say the same as each judge."""
    names = ("one", "other", "opponent", "step")
    frame = pd.DataFrame({name: getattr(answers, name) for name in names})
    frame = frame.assign(judge=answers.judge, won=answers.won)
    both = frame.merge(frame, on=list(names), suffixes=("", "_other"))
    both = both[both["judge"] != both["judge_other"]]
    share = (both["won"] == both["won_other"]).groupby(both["judge"]).mean()
    return {
        judge: float(share.get(number, np.nan))
        for number, judge in enumerate(answers.judges)
    }


def _scope(answers: Answers, scorer: str, mu: Floats) -> dict[str, Any]:
    """Two findings of one sentence, which only their places in it tell apart: in how many pairs that the
    panel places clearly apart the scorer has the same order.
    """
    frame = answers.sentences.assign(score=mu)
    frame = frame[answers.is_fitted & (frame["pair"] != "") & ~np.isnan(mu)]
    same = [_in_order(rows) for _, rows in frame.groupby("pair") if len(rows) > 1]
    flat: list[bool] = [one for part in same for one in part]
    agreement = float(np.mean(flat)) if flat else np.nan
    return {"test": "scope", "scorer": scorer, "n": len(flat), "agreement": agreement}


def _in_order(rows: pd.DataFrame) -> Iterator[bool]:
    panel, own, score = (
        rows[name].to_numpy() for name in ("mu_centre", "mu_sd", "score")
    )
    for i in range(len(rows)):
        for j in range(i):
            if abs(panel[i] - panel[j]) > 2.0 * np.hypot(own[i], own[j]):
                yield bool((panel[i] > panel[j]) == (score[i] > score[j]))
