"""From a place on the ranking to a probability with an interval, through anchors (explicit.md section 6)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError, InputError, MethodError
from lunguage_assets.explicit.hedges.edited_csv import edited_rows
from lunguage_assets.explicit.hedges.shown import shown_phrase

Z95 = 1.959963984540054
_REMEDY = 'Set ruler = "published" in settings.toml, or give ratings of other phrases in anchor_ratings.csv.'
ONE_VALUE = "one value per column, text with commas in quotes"
RATING_COLUMNS = ("rater", "phrase", "sentence", "rating")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A phrase of known probability, with its 95% confidence interval; all strictly between 0 and 1."""

    phrase: str
    probability: float
    low: float
    high: float

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


def load_anchors(path: Path | None = None) -> tuple[Anchor, ...]:
    """Anchors from a ratings CSV when `path` exists, else the published ones (`anchors.py` knows other sets).

    Raises:
        InputError: the ratings file cannot be used.
    """
    if path is not None and path.exists():
        return anchors_from_ratings(path)
    file = resource("anchors.toml")
    try:
        entries: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["sets"]["published"][
            "anchors"
        ]
        anchors = tuple(
            Anchor(str(e["phrase"]), float(e["probability"]), float(e["low"]), float(e["high"]))
            for e in entries
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"{file}: not readable as anchors ({type(error).__name__}). Restore the file."
        ) from None
    if any(not 0.0 < a.low <= a.probability <= a.high < 1.0 for a in anchors):
        raise ConfigurationError(
            f"{file}: expected 0 < low <= probability <= high < 1 for every anchor. Mend the anchor."
        )
    return anchors


def anchors_from_ratings(path: Path) -> tuple[Anchor, ...]:
    """One anchor per rated phrase: its mean rating with a 95% confidence interval, sorted by phrase.

    Ratings are the unit, as published. The interval is kept inside (0, 1). A phrase with a single rating has
    no interval of its own: it is given that of the widest binomial with one observation's information
    (standard error 0.5).

    Raises:
        InputError: missing columns, a row with too few or too many values, an unreadable rating, no rating at
            all, or a phrase always rated 0 or always 100.
    """
    ratings: dict[str, list[float]] = {}
    for number, row in edited_rows(path, RATING_COLUMNS, ONE_VALUE):
        phrase = " ".join(row["phrase"].lower().split())
        ratings.setdefault(phrase, []).append(read_rating(path, number, row["rating"]))
    if not ratings:
        raise InputError(
            path.name, "no ratings", "at least two phrases rated", "Add ratings or remove the file."
        )
    return tuple(
        _rated_anchor(path, phrase, np.asarray(values) / 100.0) for phrase, values in sorted(ratings.items())
    )


def require_anchors(phrases: Collection[str], anchors: Sequence[Anchor]) -> None:
    """Refuse too few anchors and anchors that are not ranked, before any comparison is paid for.

    Raises:
        MethodError: fewer than two anchors, or an anchor phrase that is not ranked.
    """
    missing = [anchor.phrase for anchor in anchors if anchor.phrase not in phrases]
    if missing:
        raise MethodError(
            "the ranking has no anchor phrase "
            f"{', '.join(repr(shown_phrase(name)) for name in missing)}. {_REMEDY}"
        )
    if len(anchors) < 2:
        raise MethodError(f"{len(anchors)} anchor given; two are the least. {_REMEDY}")


def calibrate(ranking: pd.DataFrame, anchors: Sequence[Anchor]) -> Calibration:
    """The line through the anchors on the logit scale (explicit.md section 6).

    It is exact for two anchors and a least-squares fit for more.

    Raises:
        MethodError: fewer than two anchors, an anchor phrase that is not ranked or has no place, anchors at
            the same place, or a line that falls.
    """
    place = {phrase: i for i, phrase in enumerate(ranking["phrase"].tolist())}
    require_anchors(place, anchors)
    mus, sds = ranking["mu"].to_numpy(dtype=np.float64), ranking["mu_sd"].to_numpy(dtype=np.float64)
    rows = [place[anchor.phrase] for anchor in anchors]
    mu, logits = mus[rows], np.array([anchor.logit for anchor in anchors])
    names = ", ".join(repr(shown_phrase(anchor.phrase)) for anchor in anchors)
    if not np.isfinite(mu).all():
        raise MethodError(
            f"the anchors {names} have places that are not numbers. Materialise reference_ranking again."
        )
    spread = mu - mu.mean()
    total = float((spread**2).sum())
    if total < 1e-12:
        raise MethodError(f"the anchors {names} have the same place in the ranking. {_REMEDY}")
    alpha = float((spread * logits).sum()) / total
    if alpha <= 0.0:
        raise MethodError(
            f"the anchors {names} are inverted: the more probable "
            f"one is not ranked as more certain. {_REMEDY}"
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
    mu: ArrayLike, mu_sd: ArrayLike, calibration: Calibration, centre: ArrayLike | None = None
) -> tuple[Floats, Floats, Floats]:
    """p, p_low, p_high (95%) of places on the ranking; arrays of the shape of `mu`.

    Args:
        mu: places on the ranking, from which p follows.
        mu_sd: standard error of each place, from its own comparisons.
        calibration: the line through the anchors.
        centre: places around which the intervals are made, when they are not `mu`: a fit's mu and the mean of
            the place given the same answers differ a little. An interval always contains p.

    The interval is a delta-method interval on the logit scale, so it stays inside (0, 1). It covers three
    sources: the place itself (few comparisons, one sentence), the ranking it is measured on (bootstrap over
    sentence pairs, interpolated between the neighbouring phrases), and the anchors (their ratings' confidence
    intervals, and the bootstrap of their own places). The three are added as if independent; the bootstraps
    of a place and of an anchor near it are in truth positively correlated, which makes the interval near an
    anchor somewhat too wide. What it does not cover, and how often it held on simulated reports, is in
    docs/intervals.md.
    """
    line = calibration
    logit = line.alpha * (np.asarray(mu, dtype=np.float64) - line.mu_half)
    places = np.asarray(mu if centre is None else centre, dtype=np.float64)
    middle, margin = (
        line.alpha * (places - line.mu_half),
        Z95 * np.sqrt(_logit_variance(places, np.asarray(mu_sd, dtype=np.float64), line)),
    )
    return expit(logit), expit(np.minimum(middle - margin, logit)), expit(np.maximum(middle + margin, logit))


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
            variance + weight**2 * line.anchor_logit_variance[i] + by_place**2 * line.anchor_mu_variance[i]
        )
    return variance


def _logit(p: float) -> float:
    return math.log(p / (1.0 - p))


def read_rating(path: Path, number: int, text: str) -> float:
    """A rating from 0 to 100; raises `InputError` for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 100.0:
        raise InputError(
            path.name,
            "no such number",
            "a number from 0 to 100",
            "Mend the rating.",
            row=number,
            column="rating",
        )
    return value


def _rated_anchor(path: Path, phrase: str, shares: Floats) -> Anchor:
    mean = float(shares.mean())
    if not 0.0 < mean < 1.0:
        raise InputError(
            path.name,
            f"a mean rating of {mean:.0%} for one phrase",
            "a mean between 0 and 100",
            "Leave that phrase out.",
            column="rating",
        )
    error = float(shares.std(ddof=1)) / math.sqrt(len(shares)) if len(shares) > 1 else 0.5
    low, high = mean - Z95 * error, mean + Z95 * error
    return Anchor(phrase, mean, max(low, mean * 0.01), min(high, 1.0 - (1.0 - mean) * 0.01))
