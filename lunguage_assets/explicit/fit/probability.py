"""From a score on the reference scale to a probability, by way of anchors.

Section 6 of docs/method/explicit.md. `calibrate` draws the line through the anchors,
`probability` reads a score off it: the line of code that decides p is there. Which
anchors are in use is in `anchors.py`; how another reader would differ, in `readers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass as checked_dataclass
from scipy.special import expit

from lunguage_assets.errors import MethodError
from lunguage_assets.randomness import Floats
from lunguage_assets.wording import shown_phrase

Z95 = 1.959963984540054
"""Standard deviations to either side that hold 95% of a normal distribution."""
_Share = Annotated[float, Field(gt=0.0, lt=1.0)]
_SAME_SCORE = 1e-12
"""Squares below which the anchors have one and the same score."""


class CalibrationError(MethodError):
    """Anchors that give no probabilities on a ranking.

    Attributes:
        reason: why, without a remedy.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"no probabilities can be read off the ranking: {reason}. Set "
            'reference_scale = "auto", or choose other anchors, under [explicit] in '
            "settings.toml of the home, or rate ranked phrases in anchor_ratings.csv; "
            "then run with --rebuild-ranking."
        )


@checked_dataclass(frozen=True, config={"extra": "forbid"})
class Anchor:
    """A phrase of known probability.

    Attributes:
        phrase: its wording.
        probability: that a finding is there which a report speaks of in this way.
        low: lower end of the 95% confidence interval.
        high: its upper end.
        optional: the anchor is left out where the ranking does not have the phrase.
    """

    phrase: Annotated[str, Field(min_length=1)]
    probability: _Share
    low: _Share
    high: _Share
    optional: bool = Field(default=False, repr=False)

    @model_validator(mode="after")
    def _in_order(self) -> Anchor:
        if not self.low <= self.probability <= self.high:
            raise ValueError("expected low <= probability <= high")
        return self

    @property
    def logit(self) -> float:
        return _logit(self.probability)

    @property
    def logit_variance(self) -> float:
        return ((_logit(self.high) - _logit(self.low)) / (2.0 * Z95)) ** 2


@dataclass(frozen=True)
class Calibration:
    """The line logit p = alpha (mu - mu_half), and how uncertain it is.

    Attributes:
        alpha: slope, in logits per unit of mu.
        mu_half: score at which p is one half.
        anchor_mu: score of each anchor, shape (anchors,).
        anchor_logit: logit of its probability.
        anchor_mu_variance: of its score, by the bootstrap of the ranking.
        anchor_logit_variance: of its probability, by the ratings.
        phrase_mu: score of each ranked phrase, ascending, shape (phrases,).
        phrase_mu_sd: deviation of that score, by the bootstrap of the ranking.
    """

    alpha: float
    mu_half: float
    anchor_mu: Floats
    anchor_logit: Floats
    anchor_mu_variance: Floats
    anchor_logit_variance: Floats
    phrase_mu: Floats
    phrase_mu_sd: Floats


class Probabilities(NamedTuple):
    """Probabilities with their 95% intervals, each of the shape of the scores."""

    p: Floats
    low: Floats
    high: Floats


def require_anchors(phrases: Collection[str], anchors: Sequence[Anchor]) -> None:
    """Refuse anchors that cannot work, before any comparison is paid for.

    Raises:
        CalibrationError: fewer than two anchors, or a phrase that is not ranked.
    """
    missing = [anchor.phrase for anchor in anchors if anchor.phrase not in phrases]
    if missing:
        raise CalibrationError(f"no anchor phrase {_names(missing)}")
    if len(anchors) < 2:
        raise CalibrationError(f"{len(anchors)} anchor given; two are the least")


def calibration_problem(ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> str:
    """Say why a `REFERENCE_RANKING` frame gives no probabilities; empty: it does."""
    ranked = ranked_phrases(ranking)
    # An anchor without a valid match is still at the prior: a line through it would be
    # a line through nothing.
    unplayed_phrases = set(ranking["phrase"]) - set(ranked["phrase"])
    unplayed = [
        anchor.phrase for anchor in anchors if anchor.phrase in unplayed_phrases
    ]
    if unplayed:
        return f"no valid match of the anchor phrase {_names(unplayed)}"
    try:
        line = calibrate(ranked, anchors)
    except CalibrationError as error:
        return error.reason
    return _closeness(line, [anchor.phrase for anchor in anchors])


def _closeness(line: Calibration, phrases: Sequence[str]) -> str:
    """Say that the outer anchors lie closer than their uncertainty; empty: they don't.

    A line through such anchors has a slope of chance: any score becomes any p.
    """
    lowest = int(np.argmin(line.anchor_mu))
    highest = int(np.argmax(line.anchor_mu))
    distance = float(line.anchor_mu[highest] - line.anchor_mu[lowest])
    variances = line.anchor_mu_variance[[lowest, highest]]
    uncertainty = Z95 * math.sqrt(float(variances.sum()))
    if distance > uncertainty:
        return ""
    outer = ", ".join(
        f"{shown_phrase(phrases[anchor])!r} {line.anchor_mu[anchor]:.2f}"
        for anchor in (lowest, highest)
    )
    return (
        f"the anchors lie closer than their uncertainty ({outer}: "
        f"{distance:.2f} apart, expected more than {uncertainty:.2f})"
    )


def ranked_phrases(ranking: pd.DataFrame) -> pd.DataFrame:
    """Select the phrases whose score is known: published, or with a valid match.

    Any other phrase of a `REFERENCE_RANKING` frame is still at the prior, which says
    nothing about it.
    """
    is_published = ranking["ruler"] == "published"
    has_match = ranking["n_matches"] > 0
    ranked: pd.DataFrame = ranking[(is_published | has_match).to_numpy(dtype=bool)]
    return ranked


def calibrate(ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> Calibration:
    """Draw the line through the anchors on the logit scale.

    It is exact for two anchors and a least-squares fit for more.

    Args:
        ranking: `REFERENCE_RANKING` frame of phrases whose score is known.
        anchors: two or more, all of them ranked.

    Raises:
        CalibrationError: fewer than two anchors, an anchor phrase that is not ranked,
            anchors of the same score, or a line that falls.
        MethodError: an anchor whose score is not a number.
    """
    row_by_phrase = {phrase: row for row, phrase in enumerate(ranking["phrase"])}
    require_anchors(row_by_phrase, anchors)
    phrase_mu = ranking["mu"].to_numpy(dtype=np.float64)
    phrase_mu_sd = ranking["mu_sd"].to_numpy(dtype=np.float64)
    rows = [row_by_phrase[anchor.phrase] for anchor in anchors]
    mu = phrase_mu[rows]
    logits = np.array([anchor.logit for anchor in anchors])
    names = _names([anchor.phrase for anchor in anchors])
    if not np.isfinite(mu).all():
        raise MethodError(
            f"the anchors {names} have places that are not numbers. Materialise "
            "reference_ranking again."
        )
    # Least squares, which for two anchors is the line through both.
    deviation = mu - mu.mean()
    squares = float((deviation**2).sum())
    if squares < _SAME_SCORE:
        raise CalibrationError(
            f"the anchors {names} have the same place in the ranking"
        )
    alpha = float((deviation * logits).sum()) / squares
    if alpha <= 0.0:
        raise CalibrationError(
            f"the anchors {names} are inverted: the more probable one is not ranked as "
            "more certain"
        )
    ascending = np.argsort(phrase_mu, kind="stable")
    return Calibration(
        alpha=alpha,
        mu_half=float(mu.mean() - logits.mean() / alpha),
        anchor_mu=mu,
        anchor_logit=logits,
        anchor_mu_variance=phrase_mu_sd[rows] ** 2,
        anchor_logit_variance=np.array([anchor.logit_variance for anchor in anchors]),
        phrase_mu=phrase_mu[ascending],
        phrase_mu_sd=phrase_mu_sd[ascending],
    )


def probability(
    mu: ArrayLike,
    mu_sd: ArrayLike,
    calibration: Calibration,
    centre: ArrayLike | None = None,
) -> Probabilities:
    """Read probabilities off scores, with 95% intervals.

    The interval is made on the logit scale, so it stays inside (0, 1), and always
    contains p. It adds, as if independent, the variances of the score, of the ranking
    there, and of the anchors (docs/trust.md).

    Args:
        mu: scores, from which p follows; arrays of any shape.
        mu_sd: standard error of each score, from its own comparisons.
        calibration: the line through the anchors.
        centre: scores around which the intervals are made, when they are not `mu`.
    """
    scores = np.asarray(mu, dtype=np.float64)
    # This decides a probability: p = 1 / (1 + exp(-alpha (mu - mu_half))).
    logit_p = calibration.alpha * (scores - calibration.mu_half)
    p = expit(logit_p)

    centres = scores if centre is None else np.asarray(centre, dtype=np.float64)
    errors = np.asarray(mu_sd, dtype=np.float64)
    middle = calibration.alpha * (centres - calibration.mu_half)
    margin = Z95 * np.sqrt(_logit_variance(centres, errors, calibration))
    return Probabilities(
        p=p,
        low=expit(np.minimum(middle - margin, logit_p)),
        high=expit(np.maximum(middle + margin, logit_p)),
    )


def _logit_variance(scores: Floats, errors: Floats, line: Calibration) -> Floats:
    """Variance of logit p by the delta method: of score, ranking and anchors."""
    # How well the ranking is known there: interpolated between neighbouring phrases.
    ranking_sd = np.interp(scores, line.phrase_mu, line.phrase_mu_sd)
    variance: Floats = line.alpha**2 * (errors**2 + ranking_sd**2)
    deviation = line.anchor_mu - line.anchor_mu.mean()
    squares = float((deviation**2).sum())
    residual = line.anchor_logit - line.anchor_logit.mean() - line.alpha * deviation
    for anchor in range(len(deviation)):
        distance = (scores - line.anchor_mu.mean()) / squares
        # d logit p / d anchor_logit, then d logit p / d anchor_mu.
        by_logit = 1.0 / len(deviation) + deviation[anchor] * distance
        by_mu = residual[anchor] * distance - line.alpha * by_logit
        variance = (
            variance
            + by_logit**2 * line.anchor_logit_variance[anchor]
            + by_mu**2 * line.anchor_mu_variance[anchor]
        )
    return variance


def _names(phrases: Sequence[str]) -> str:
    return ", ".join(repr(shown_phrase(phrase)) for phrase in phrases)


def _logit(p: float) -> float:
    return math.log(p / (1.0 - p))
