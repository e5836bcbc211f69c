"""From a score on the reference scale to a probability, by way of anchors.

Section 6 of docs/method/explicit.md. `calibrate` draws the line through the anchors,
`probability` reads a score off it: the line of code that decides p is there. How far
another reader of the same words would be from p: `reader_range`.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri

from lunguage_assets.corpus.whole_tables import edited_table, refuse_rows
from lunguage_assets.errors import InputError, MethodError
from lunguage_assets.packaged_data import resource
from lunguage_assets.randomness import Floats
from lunguage_assets.wording import shown_phrase

Z95 = 1.959963984540054
"""Standard deviations to either side that hold 95% of a normal distribution."""
RATING_COLUMNS = ("rater", "phrase", "sentence", "rating")

RATED = "ratings"
"""Name of the anchors that the home's ratings make."""
_ERROR_OF_ONE_RATING = 0.5
"""Standard error of a phrase with a single rating: that of the widest binomial."""


class CalibrationError(MethodError):
    """Anchors that give no probabilities on a ranking.

    Attributes:
        reason: why, without a remedy.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"no probabilities can be read off the ranking: {reason}. Set "
            'reference_scale = "auto" under [explicit] in settings.toml of the home, '
            "or rate ranked phrases in anchor_ratings.csv; then run with "
            "--rebuild-ranking."
        )


# Anchors


@dataclass(frozen=True)
class Anchor:
    """A phrase of known probability.

    Attributes:
        phrase: its wording.
        probability: that a finding is there which a report speaks of in this way.
        low: lower end of the 95% confidence interval.
        high: its upper end.
    """

    phrase: str
    probability: float
    low: float
    high: float


@dataclass(frozen=True)
class AnchorSet:
    """The anchors in use.

    Attributes:
        name: `published`, or `RATED` for ratings of one's own.
        source: where their numbers come from.
        anchors: phrases of known probability.
        file: from which they were read.
    """

    name: str
    source: str
    anchors: tuple[Anchor, ...]
    file: Path


def anchors_in_use(ratings: Path) -> AnchorSet:
    """Read the anchors that a home uses.

    Args:
        ratings: the home's `anchor_ratings.csv`; where there is none, the paper's
            anchors are used.

    Raises:
        InputError: ratings that cannot be used.
    """
    # A rating file in the home is there to be used, and needs no setting.
    if ratings.exists():
        return _rated_anchors(ratings)
    return published_anchors()


def published_anchors() -> AnchorSet:
    """Read the two anchors of the paper."""
    file = resource("anchors.toml")
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    anchors = tuple(Anchor(**entry) for entry in content["anchors"])
    return AnchorSet("published", content["source"], anchors, file)


def _rated_anchors(file: Path) -> AnchorSet:
    """Make an anchor of each phrase of a ratings file, sorted by phrase.

    An empty rating is no answer. Ratings are the unit, as published: neither raters nor
    sentences.

    Raises:
        InputError: missing columns, a row with too few or too many values, no rating,
            one that is no number from 0 to 100, or a phrase always rated 0 or 100.
    """
    rows = edited_table(file, RATING_COLUMNS)
    ratings = rows["rating"].str.strip().str.removesuffix("%")
    shares = pd.to_numeric(ratings, errors="coerce") / 100.0
    is_no_rating = (ratings != "") & ~shares.between(0.0, 1.0)
    expected = "a number from 0 to 100"
    refuse_rows(file, is_no_rating, "rating", "no number", expected, "Fix the rating.")
    phrases = rows["phrase"].str.lower().str.split().str.join(" ")
    anchors = []
    for phrase, rated in shares.dropna().groupby(phrases):
        mean = float(rated.mean())
        if not 0.0 < mean < 1.0:
            # The logit of 0 or 1 is infinite: no line goes through it.
            raise InputError(
                file.name,
                f"a mean rating of {mean:.0%} for one phrase",
                "a mean between 0 and 100",
                "Leave that phrase out.",
                column="rating",
            )
        error: Any = rated.sem() if len(rated) > 1 else _ERROR_OF_ONE_RATING
        # Few ratings near an end have an interval beyond it, whose logit there is not.
        ends = [mean - Z95 * error, mean + Z95 * error]
        low, high = np.clip(ends, mean * 0.01, 1.0 - (1.0 - mean) * 0.01)
        anchors.append(Anchor(str(phrase), mean, low, high))
    if not anchors:
        raise InputError(
            file.name,
            "no ratings",
            "two phrases rated",
            "Add ratings or remove the file.",
        )
    return AnchorSet(RATED, f"ratings in {file.name}", tuple(anchors), file)


# The line through the anchors


@dataclass(frozen=True)
class Calibration:
    """The line logit p = alpha (mu - mu_half), and how uncertain it is.

    Attributes:
        alpha: slope, in logits per unit of mu.
        mu_half: score at which p is one half.
        anchors: of each anchor its score `mu`, with the deviation `mu_sd` by the
            bootstrap of the ranking; the `logit` of its probability, with
            `logit_variance` by the ratings; how far it lies from the anchors' mean mu
            (`distance`), and its logit from the line (`residual`).
        phrases: `mu` and `mu_sd` of every ranked phrase, by ascending mu.
    """

    alpha: float
    mu_half: float
    anchors: pd.DataFrame
    phrases: pd.DataFrame


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


def ranked_phrases(ranking: pd.DataFrame) -> pd.DataFrame:
    """Select the phrases whose score is known: published, or with a valid match.

    Any other phrase of a `REFERENCE_RANKING` frame is still at the prior, which says
    nothing about it.
    """
    return ranking.query("ruler == 'published' or n_matches > 0")


def calibrate(ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> Calibration:
    """Draw the line through the anchors on the logit scale.

    It is exact for two anchors and a least-squares fit for more.

    Args:
        ranking: `REFERENCE_RANKING` frame of phrases whose score is known.
        anchors: two or more, all of them ranked.

    Raises:
        CalibrationError: fewer than two anchors, an anchor phrase that is not ranked,
            anchors that lie closer than their uncertainty, or a line that falls.
    """
    require_anchors(set(ranking["phrase"]), anchors)
    phrases = ranking.set_index("phrase")[["mu", "mu_sd"]].sort_values(
        "mu", kind="stable"
    )
    of_anchors = pd.DataFrame(list(anchors)).set_index("phrase").join(phrases)
    mu = of_anchors["mu"]
    logit_p = logit(of_anchors["probability"])
    by_mu = of_anchors.sort_values("mu", kind="stable")
    low, *_, high = by_mu["mu"]
    low_sd, *_, high_sd = by_mu["mu_sd"]
    uncertainty = Z95 * math.hypot(low_sd, high_sd)
    # So close to each other, anchors may stand in the other order by chance.
    if high - low <= uncertainty:
        places = f"{_names(by_mu.index[[0, -1]])}: {low:.2f} and {high:.2f}"
        raise CalibrationError(
            f"the anchors lie closer than their uncertainty ({places}, expected more "
            f"than {uncertainty:.2f} apart)"
        )
    # Least squares, which for two anchors is the line through both.
    distance = mu - mu.mean()
    alpha = (distance * logit_p).sum() / (distance**2).sum()
    if alpha <= 0.0:
        raise CalibrationError(
            f"the anchors {_names(mu.index)} are inverted: the more probable one is "
            "not ranked as more certain"
        )
    of_anchors = of_anchors.assign(
        logit=logit_p,
        logit_variance=_variance_of_interval(of_anchors["low"], of_anchors["high"]),
        distance=distance,
        residual=logit_p - logit_p.mean() - alpha * distance,
    )
    mu_half = mu.mean() - logit_p.mean() / alpha
    return Calibration(float(alpha), float(mu_half), of_anchors, phrases)


def _variance_of_interval(low: Any, high: Any) -> Any:
    """Compute the variance that a 95% interval of p states, on the logit scale."""
    return ((logit(high) - logit(low)) / (2.0 * Z95)) ** 2


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
    # This decides a probability: p = 1 / (1 + exp(-alpha (mu - mu_half))).
    logit_p = calibration.alpha * (np.asarray(mu) - calibration.mu_half)
    centres = np.asarray(mu if centre is None else centre)
    middle = calibration.alpha * (centres - calibration.mu_half)
    margin = Z95 * np.sqrt(_logit_variance(centres, mu_sd, calibration))
    return Probabilities(
        p=expit(logit_p),
        low=expit(np.minimum(middle - margin, logit_p)),
        high=expit(np.maximum(middle + margin, logit_p)),
    )


def _logit_variance(scores: Floats, errors: ArrayLike, line: Calibration) -> Floats:
    """Variance of logit p by the delta method: of score, ranking and anchors."""
    # How well the ranking is known there: interpolated between neighbouring phrases.
    ranking_sd = np.interp(scores, line.phrases["mu"], line.phrases["mu_sd"])
    variance: Floats = line.alpha**2 * (np.square(errors) + ranking_sd**2)
    squares = (line.anchors["distance"] ** 2).sum()
    share = (scores - line.anchors["mu"].mean()) / squares
    anchor: Any
    for anchor in line.anchors.itertuples():
        # d logit p / d anchor.logit, then d logit p / d anchor.mu.
        by_logit = 1.0 / len(line.anchors) + anchor.distance * share
        by_mu = anchor.residual * share - line.alpha * by_logit
        variance = variance + by_logit**2 * anchor.logit_variance
        variance = variance + (by_mu * anchor.mu_sd) ** 2
    return variance


def _names(phrases: Iterable[str]) -> str:
    return ", ".join(repr(shown_phrase(phrase)) for phrase in phrases)


# Other readers


@cache
def reader_spread() -> pd.DataFrame:
    """Read how far readers differ in what words mean to them, by position on the scale.

    Readers agree about "likely" and differ about "may". The deviations are those of the
    middle 80% of 5,174 people (resources/people/README.md).

    Returns:
        Logits: the position `logit_p`, and the deviation of readers `below` and `above`
        p there.
    """
    return pd.read_csv(resource("people", "reader_spread.csv"))


def reader_range(
    p: ArrayLike,
    p_low: ArrayLike,
    p_high: ArrayLike,
    share: float = 0.95,
    spread: pd.DataFrame | None = None,
) -> tuple[Floats, Floats]:
    """Compute the range in which another reader's p would lie, in the shape of `p`.

    The variances of our p and between readers are added on the logit scale.

    Args:
        p: ours, strictly between 0 and 1.
        p_low: lower end of its own 95% interval, which the range always contains.
        p_high: upper end.
        share: of readers within the range.
        spread: between readers; None: that of `reader_spread`.

    Returns:
        Its lower and its upper end.
    """
    by_position = reader_spread() if spread is None else spread
    positions = by_position["logit_p"]
    centre = logit(p)
    own_variance = _variance_of_interval(p_low, p_high)
    below = np.interp(centre, positions, by_position["below"])
    above = np.interp(centre, positions, by_position["above"])
    reach = float(ndtri(0.5 + share / 2.0))
    range_low = expit(centre - reach * np.sqrt(below**2 + own_variance))
    range_high = expit(centre + reach * np.sqrt(above**2 + own_variance))
    return np.minimum(range_low, p_low), np.maximum(range_high, p_high)
