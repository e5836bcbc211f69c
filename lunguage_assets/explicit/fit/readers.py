"""How far another radiologist's p would lie from ours (explicit.md section 6).

Beside the interval of the mean stands a prediction interval for one more reader, on the logit scale. The easy
version, the interval of the mean alone, becomes as narrow as one likes with more ratings, although readers
differ as much as before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri, stdtrit

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.arrays import Floats
from lunguage_assets.explicit.fit.probability import Z95
from lunguage_assets.explicit.hedges.edited_csv import edited_rows

RATING_COLUMNS = ("rater", "phrase", "sentence", "rating")
_ONE_VALUE = "one value per column, text with commas in quotes"
NEAREST = 0.005
"""Ratings of 0 and 100 count as this far from the end: no reader's certainty is infinite."""


@dataclass(frozen=True, slots=True)
class ReaderSpread:
    """How readers differ in what a phrase means to them.

    `sd` is between readers, in logits; `df` its degrees of freedom, infinite where it is a stated default;
    `source` says where it comes from.
    """

    sd: float
    df: float
    source: str

    @property
    def reach(self) -> float:
        """Standard deviations that hold 95% of further readers."""
        return Z95 if math.isinf(self.df) else float(stdtrit(self.df, 0.975))


@dataclass(frozen=True, slots=True)
class Rating:
    """What one rater said of one sentence with a phrase; `share` from 0 to 1."""

    rater: str
    phrase: str
    sentence: str
    share: float


def default_spread(points: float, source: str) -> ReaderSpread:
    """The spread when the middle 80% of readers span so many points of 100 around one half."""
    half = float(logit(0.5 + points / 200.0))
    return ReaderSpread(half / float(ndtri(0.9)), math.inf, source)


def ratings_of(path: Path) -> list[Rating]:
    """The rows of a ratings file; a phrase in lower case.

    Raises:
        InputError: missing columns, a row with too few or too many values, or an unreadable rating.
    """
    return [
        Rating(
            " ".join(row["rater"].split()),
            " ".join(row["phrase"].lower().split()),
            row["sentence"],
            _share(path, number, row["rating"]),
        )
        for number, row in edited_rows(path, RATING_COLUMNS, _ONE_VALUE)
    ]


def _share(path: Path, number: int, text: str) -> float:
    """A rating from 0 to 100 as a share."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 100.0:
        expected, remedy = "a number from 0 to 100", "Mend the rating."
        raise InputError(path.name, "no such number", expected, remedy, row=number, column="rating")
    return value / 100.0


def reader_means(ratings: Sequence[Rating]) -> dict[str, dict[str, float]]:
    """Phrase -> rater -> mean logit over the sentences that the rater saw."""
    listed: dict[str, dict[str, list[float]]] = {}
    for one in ratings:
        share = min(max(one.share, NEAREST), 1.0 - NEAREST)
        listed.setdefault(one.phrase, {}).setdefault(one.rater, []).append(float(logit(share)))
    return {
        phrase: {rater: float(np.mean(values)) for rater, values in by_rater.items()}
        for phrase, by_rater in listed.items()
    }


def spread_between(means: Mapping[str, Mapping[str, float]], source: str) -> ReaderSpread | None:
    """The spread pooled over phrases: the squared deviations of raters from their phrase's mean, by the
    degrees of freedom that they have together. None when no phrase has two raters.
    """
    rated = [np.array(list(by_rater.values())) for by_rater in means.values()]
    df = sum(len(values) - 1 for values in rated)
    if not df:
        return None
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in rated)
    return ReaderSpread(math.sqrt(squares / df), float(df), source)


def reader_range(
    p: ArrayLike, p_low: ArrayLike, p_high: ArrayLike, spread: ReaderSpread
) -> tuple[Floats, Floats]:
    """The range in which another reader's p would lie, 19 times of 20; arrays of the shape of `p`.

    Args:
        p: ours, strictly between 0 and 1.
        p_low, p_high: its own 95% interval, which the range always contains.
        spread: between readers.

    The variances of our p and between readers are added on the logit scale. The range is about what the words
    mean to a reader of the report, not about whether the finding is there.
    """
    centre, low, high = (logit(np.asarray(value, dtype=np.float64)) for value in (p, p_low, p_high))
    own = ((high - low) / (2.0 * Z95)) ** 2
    margin = spread.reach * np.sqrt(spread.sd**2 + own)
    return np.minimum(expit(centre - margin), p_low), np.maximum(expit(centre + margin), p_high)
