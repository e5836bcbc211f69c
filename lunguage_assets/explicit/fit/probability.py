"""From a place on the ranking to a probability with an interval, through anchors (explicit.md section 6)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

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
_Share = Annotated[float, Field(gt=0.0, lt=1.0)]


class NoScale(MethodError):
    """Anchors that give no probabilities on a ranking; `reason` says why, without a remedy."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f'no probabilities can be read off the ranking: {reason}. Set ruler = "auto", or choose other '
            "anchors, under [explicit] in settings.toml of the home, or rate ranked phrases in "
            "anchor_ratings.csv; then run with --rebuild-ranking."
        )


@checked_dataclass(frozen=True, config={"extra": "forbid"})
class Anchor:
    """A phrase of known probability, with its 95% confidence interval; `optional`: it is left out where the
    ranking does not have the phrase.
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
    """The line logit p = alpha (mu - mu_half) through the anchors, with the sources of its uncertainty.

    Arrays over anchors: `anchor_mu`, `anchor_logit`, `anchor_mu_variance` (bootstrap of the ranking),
    `anchor_logit_variance` (ratings); over phrases, mu ascending: `phrase_mu`, `phrase_mu_sd`.
    """

    alpha: float
    mu_half: float
    anchor_mu: Floats
    anchor_logit: Floats
    anchor_mu_variance: Floats
    anchor_logit_variance: Floats
    phrase_mu: Floats
    phrase_mu_sd: Floats


def require_anchors(phrases: Collection[str], anchors: Sequence[Anchor]) -> None:
    """Refuse too few anchors and anchors that are not ranked, before any comparison is paid for.

    Raises:
        NoScale: fewer than two anchors, or an anchor phrase that is not ranked.
    """
    missing = [anchor.phrase for anchor in anchors if anchor.phrase not in phrases]
    if missing:
        raise NoScale(f"no anchor phrase {_names(missing)}")
    if len(anchors) < 2:
        raise NoScale(f"{len(anchors)} anchor given; two are the least")


def unmapped(ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> str:
    """Why a `REFERENCE_RANKING` frame cannot be mapped to probabilities; empty: it can."""
    known = placed(ranking)
    without = set(ranking["phrase"]) - set(known["phrase"])
    unplayed = [anchor.phrase for anchor in anchors if anchor.phrase in without]
    if unplayed:
        return f"no valid match of the anchor phrase {_names(unplayed)}"
    try:
        calibrate(known, anchors)
    except NoScale as error:
        return error.reason
    return ""


def placed(ranking: pd.DataFrame) -> pd.DataFrame:
    """The phrases of a `REFERENCE_RANKING` frame that have a place: published, or with a valid match. Another
    one stays at the prior and says nothing.
    """
    known: pd.DataFrame = ranking[
        ((ranking["ruler"] == "published") | (ranking["n_matches"] > 0)).to_numpy(
            dtype=bool
        )
    ]
    return known


def calibrate(ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> Calibration:
    """The line through the anchors on the logit scale (explicit.md section 6).

    It is exact for two anchors and a least-squares fit for more.

    Raises:
        NoScale: fewer than two anchors, an anchor phrase that is not ranked, anchors at the same place, or a
            line that falls.
        MethodError: an anchor whose place is not a number.
    """
    place = {phrase: i for i, phrase in enumerate(ranking["phrase"].tolist())}
    require_anchors(place, anchors)
    mus, sds = (
        ranking["mu"].to_numpy(dtype=np.float64),
        ranking["mu_sd"].to_numpy(dtype=np.float64),
    )
    rows = [place[anchor.phrase] for anchor in anchors]
    mu, logits = mus[rows], np.array([anchor.logit for anchor in anchors])
    names = _names([anchor.phrase for anchor in anchors])
    if not np.isfinite(mu).all():
        raise MethodError(
            f"the anchors {names} have places that are not numbers. Materialise reference_ranking again."
        )
    spread = mu - mu.mean()
    total = float((spread**2).sum())
    if total < 1e-12:
        raise NoScale(f"the anchors {names} have the same place in the ranking")
    alpha = float((spread * logits).sum()) / total
    if alpha <= 0.0:
        raise NoScale(
            f"the anchors {names} are inverted: the more probable one is not ranked as more certain"
        )
    ascending = np.argsort(mus, kind="stable")
    return Calibration(
        alpha=alpha,
        mu_half=float(mu.mean() - logits.mean() / alpha),
        anchor_mu=mu,
        anchor_logit=logits,
        anchor_mu_variance=sds[rows] ** 2,
        anchor_logit_variance=np.array([anchor.logit_variance for anchor in anchors]),
        phrase_mu=mus[ascending],
        phrase_mu_sd=sds[ascending],
    )


def probability(
    mu: ArrayLike,
    mu_sd: ArrayLike,
    calibration: Calibration,
    centre: ArrayLike | None = None,
) -> tuple[Floats, Floats, Floats]:
    """p, p_low, p_high (95%) of places on the ranking; arrays of the shape of `mu`.

    Args:
        mu: places on the ranking, from which p follows.
        mu_sd: standard error of each place, from its own comparisons.
        calibration: the line through the anchors.
        centre: places around which the intervals are made, when they are not `mu`. An interval always
            contains p.

    The interval is by the delta method on the logit scale, so it stays inside (0, 1). It adds, as if
    independent: the place itself, the ranking there (bootstrap, interpolated between the neighbouring
    phrases), and the anchors (their ratings, and the bootstrap of their own places); docs/trust.md.
    """
    line = calibration
    logit = line.alpha * (np.asarray(mu, dtype=np.float64) - line.mu_half)
    places = np.asarray(mu if centre is None else centre, dtype=np.float64)
    middle = line.alpha * (places - line.mu_half)
    margin = Z95 * np.sqrt(
        _logit_variance(places, np.asarray(mu_sd, dtype=np.float64), line)
    )
    return (
        expit(logit),
        expit(np.minimum(middle - margin, logit)),
        expit(np.maximum(middle + margin, logit)),
    )


def _logit_variance(places: Floats, errors: Floats, line: Calibration) -> Floats:
    """Variance of logit p by the delta method: the place's, the ranking's there, the anchors'."""
    ranking_sd = np.interp(places, line.phrase_mu, line.phrase_mu_sd)
    variance: Floats = line.alpha**2 * (errors**2 + ranking_sd**2)
    spread = line.anchor_mu - line.anchor_mu.mean()
    total = float((spread**2).sum())
    residual = line.anchor_logit - line.anchor_logit.mean() - line.alpha * spread
    for i in range(len(spread)):
        away = (places - line.anchor_mu.mean()) / total
        weight = 1.0 / len(spread) + spread[i] * away  # d logit / d anchor_logit[i]
        by_place = residual[i] * away - line.alpha * weight  # d logit / d anchor_mu[i]
        variance = (
            variance
            + weight**2 * line.anchor_logit_variance[i]
            + by_place**2 * line.anchor_mu_variance[i]
        )
    return variance


def _names(phrases: Sequence[str]) -> str:
    return ", ".join(repr(shown_phrase(phrase)) for phrase in phrases)


def _logit(p: float) -> float:
    return math.log(p / (1.0 - p))
