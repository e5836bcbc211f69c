"""How far another reader's p would lie from ours for the same words.

Section 6 of docs/method/explicit.md. Readers agree about "likely" and differ about
"may", so the spread depends on the position on the scale. It comes from the numbers
that many people gave for phrases (`resources/people/people_numbers.csv`).
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri

from lunguage_assets.explicit.fit.probability import Z95
from lunguage_assets.randomness import Floats

NEAREST = 0.005
"""Numbers of 0 and 100 count as this far from the end: no reader's certainty is
infinite.
"""

NEIGHBOURHOOD = 0.5
"""Logits over which the spread of neighbouring phrases is pooled, as the deviation of a
normal weight. With each of people's phrases left out in turn, 0.4 to 0.8 predict its
spread equally well; less follows single phrases, more loses the difference between
"may" and "likely" (benchmarks/people.py).
"""

_Z80 = float(ndtri(0.9))


class ReaderSpread(NamedTuple):
    """How readers differ in what a phrase means to them.

    Attributes:
        positions: logits of p at which the spread is known.
        below: deviation of the readers below p there, in logits; as many as
            `positions`.
        above: the same of the readers above p.
        source: where they come from.
    """

    positions: tuple[float, ...]
    below: tuple[float, ...]
    above: tuple[float, ...]
    source: str

    def deviations(self, position: ArrayLike) -> tuple[Floats, Floats]:
        """Compute the deviations below and above p at logits `position`, in its shape.

        The variances of neighbouring positions are pooled. Beyond the outermost ones
        nothing is known, and the spread stays what it is there.
        """
        positions = np.array(self.positions)
        nearest = np.clip(position, positions.min(), positions.max())
        distance = (np.asarray(nearest)[..., None] - positions) / NEIGHBOURHOOD
        weights = np.exp(-0.5 * distance**2)
        weights /= weights.sum(axis=-1, keepdims=True)
        below = np.sqrt(weights @ np.square(self.below))
        above = np.sqrt(weights @ np.square(self.above))
        return below, above


def people_numbers(path: Path) -> pd.DataFrame:
    """Read the numbers that people gave for phrases, a row per phrase.

    Returns:
        `phrase` in lower case, `people` (how many gave a number), and mean, deviation
        and quantiles as shares from 0 to 1.
    """
    numbers = pd.read_csv(path, float_precision="round_trip")
    shares = numbers.columns.drop(["phrase", "people"])
    numbers[shares] = numbers[shares] / 100.0
    return numbers.assign(phrase=numbers["phrase"].str.lower())


def spread_of_numbers(
    numbers: pd.DataFrame, left_out: Collection[str], source: str
) -> ReaderSpread:
    """Take the spread by position from the middle 80% of people who gave numbers.

    Args:
        numbers: as `people_numbers` returns them.
        left_out: phrases that name their number ("about even"), about which there is no
            doubt.
        source: who the people are.
    """
    hedges = numbers[~numbers["phrase"].isin(left_out)]
    shares = hedges[["p10", "mean", "p90"]].clip(NEAREST, 1.0 - NEAREST)
    lowest_tenth, position, highest_tenth = logit(shares.to_numpy(dtype=np.float64)).T
    # Both sides count from the mean, because p is one: people who take "improbable" for
    # nearly impossible are further below it than anybody is above.
    below = np.maximum(position - lowest_tenth, 0.0) / _Z80
    above = np.maximum(highest_tenth - position, 0.0) / _Z80
    return ReaderSpread(
        tuple(position.tolist()), tuple(below.tolist()), tuple(above.tolist()), source
    )


def reader_range(
    p: ArrayLike,
    p_low: ArrayLike,
    p_high: ArrayLike,
    spread: ReaderSpread,
    share: float = 0.95,
) -> tuple[Floats, Floats]:
    """Compute the range in which another reader's p would lie, in the shape of `p`.

    The variances of our p and between readers are added on the logit scale.

    Args:
        p: ours, strictly between 0 and 1.
        p_low: lower end of its own 95% interval, which the range always contains.
        p_high: upper end.
        spread: between readers.
        share: of readers within the range.

    Returns:
        Its lower and its upper end.
    """
    centre = logit(np.asarray(p, dtype=np.float64))
    width = logit(np.asarray(p_high, np.float64)) - logit(np.asarray(p_low, np.float64))
    # An interval of 95% is 2 * 1.96 deviations wide.
    own_variance = (width / (2.0 * Z95)) ** 2
    below, above = spread.deviations(centre)
    reach = float(ndtri(0.5 + share / 2.0))
    range_low = expit(centre - reach * np.sqrt(below**2 + own_variance))
    range_high = expit(centre + reach * np.sqrt(above**2 + own_variance))
    return np.minimum(range_low, p_low), np.maximum(range_high, p_high)
