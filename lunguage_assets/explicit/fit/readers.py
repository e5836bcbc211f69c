"""How far another reader's p would lie from ours for the same words.

Section 6 of docs/method/explicit.md.

Readers agree about "likely" and differ about "may", so the spread depends on the
position on the scale. It comes from ratings per rater, from a stated number of points,
or from the numbers that many people gave for phrases. Which of them is in use belongs
to the anchors (`anchors.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri, stdtrit

from lunguage_assets.corpus.whole_tables import edited_rows
from lunguage_assets.errors import ConfigurationError, InputError
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

NUMBER_COLUMNS = (
    "phrase",
    "people",
    "mean",
    "sd",
    "p10",
    "p25",
    "median",
    "p75",
    "p90",
)
_SHARES = NUMBER_COLUMNS[2:]
_QUANTILES = ("p10", "p25", "median", "p75", "p90")
_Z80 = float(ndtri(0.9))


class ReaderSpread(NamedTuple):
    """How readers differ in what a phrase means to them.

    Attributes:
        positions: logits of p at which the spread is known.
        below: deviation of the readers below p there, in logits; as many as
            `positions`.
        above: the same of the readers above p.
        df: degrees of freedom of the deviations; infinite where they are taken as
            given.
        source: where they come from.
    """

    positions: tuple[float, ...]
    below: tuple[float, ...]
    above: tuple[float, ...]
    df: float
    source: str

    @classmethod
    def everywhere(cls, sd: float, df: float, source: str) -> ReaderSpread:
        """Make a spread that is the same at every position, below and above.

        Args:
            sd: deviation between readers, in logits.
            df: its degrees of freedom.
            source: where it comes from.
        """
        return cls((0.0,), (sd,), (sd,), df, source)

    def deviations(self, position: ArrayLike) -> tuple[Floats, Floats]:
        """Compute the deviations below and above p at logits `position`, in its shape.

        The variances of neighbouring positions are pooled. Beyond the outermost ones
        nothing is known, and the spread stays what it is there.
        """
        positions = np.array(self.positions)
        nearest = np.clip(
            np.asarray(position, dtype=np.float64), positions.min(), positions.max()
        )
        distance = (nearest[..., None] - positions) / NEIGHBOURHOOD
        weights = np.exp(-0.5 * distance**2)
        weights /= weights.sum(axis=-1, keepdims=True)
        below = np.sqrt(weights @ np.square(self.below))
        above = np.sqrt(weights @ np.square(self.above))
        return below, above


def people_numbers(path: Path) -> pd.DataFrame:
    """Read the numbers that people gave for phrases, a row per phrase.

    Args:
        path: CSV with `NUMBER_COLUMNS`; numbers are percentages from 0 to 100.

    Returns:
        `phrase` in lower case, `people` (how many gave a number), and mean, deviation
        and quantiles as shares from 0 to 1.

    Raises:
        InputError: a missing column, a phrase twice, a number that is none, or
            quantiles that fall.
    """
    rows = []
    for row_number, cells in edited_rows(path, NUMBER_COLUMNS):
        phrase = " ".join(cells["phrase"].lower().split())
        people = _number(cells, "people", path, row_number, highest=math.inf)
        shares = {
            column: _number(cells, column, path, row_number, highest=100.0) / 100.0
            for column in _SHARES
        }
        quantiles = [shares[column] for column in _QUANTILES]
        if quantiles != sorted(quantiles):
            raise InputError(
                path.name,
                "quantiles that fall",
                "p10 <= p25 <= median <= p75 <= p90",
                "Fix the row.",
                row=row_number,
            )
        rows.append({"phrase": phrase, "people": int(people), **shares})
    if not rows:
        raise InputError(
            path.name, "no phrase", "a row per phrase", "Restore the file."
        )
    numbers = pd.DataFrame(rows, columns=list(NUMBER_COLUMNS))
    is_repeated = numbers["phrase"].duplicated().to_numpy()
    if is_repeated.any():
        raise InputError(
            path.name,
            "a phrase for the second time",
            "each phrase once",
            "Delete one.",
            row=int(is_repeated.argmax()) + 1,
            column="phrase",
        )
    return numbers


def _number(
    cells: dict[str, str],
    column: str,
    path: Path,
    row_number: int,
    highest: float,
) -> float:
    """Read the number in a cell, from 0 to `highest`."""
    try:
        number = float(cells[column])
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= highest:
        expected = "a count"
        if highest == 100.0:
            expected = "a number from 0 to 100"
        raise InputError(
            path.name,
            "no such number",
            expected,
            "Fix the cell.",
            row=row_number,
            column=column,
        )
    return number


def spread_of_numbers(
    numbers: pd.DataFrame,
    left_out: Collection[str],
    source: str,
) -> ReaderSpread:
    """Take the spread by position from the middle 80% of people who gave numbers.

    Args:
        numbers: as `people_numbers` returns them.
        left_out: phrases that name their number ("about even"), about which there is no
            doubt.
        source: who the people are.

    Raises:
        ConfigurationError: no phrase is left.
    """
    hedges = numbers[~numbers["phrase"].isin(left_out)]
    if hedges.empty:
        raise ConfigurationError(
            f"[readers]: found no phrase that is not left out of {len(numbers)}; "
            "expected one at least. Shorten left_out."
        )
    shares = hedges[["p10", "mean", "p90"]].clip(NEAREST, 1.0 - NEAREST)
    lowest_tenth, position, highest_tenth = logit(shares.to_numpy(dtype=np.float64)).T
    # Both sides count from the mean, because p is one: people who take "improbable" for
    # nearly impossible are further below it than anybody is above.
    below = np.maximum(position - lowest_tenth, 0.0) / _Z80
    above = np.maximum(highest_tenth - position, 0.0) / _Z80
    return ReaderSpread(
        positions=tuple(position.tolist()),
        below=tuple(below.tolist()),
        above=tuple(above.tolist()),
        df=math.inf,
        source=source,
    )


def spread_of_points(points: float, source: str) -> ReaderSpread:
    """Take the spread of readers by the points that their middle 80% span around 50."""
    half = float(logit(0.5 + points / 200.0))
    return ReaderSpread.everywhere(half / _Z80, math.inf, source)


def spread_between(means: Iterable[ArrayLike], source: str) -> ReaderSpread | None:
    """Pool the spread over phrases.

    It is the squared deviations of raters from their phrase's mean, by the degrees of
    freedom that they have together.

    Args:
        means: the raters' mean logits of each phrase.
        source: who the raters are.

    Returns:
        None when no phrase has two raters.
    """
    rated = [np.asarray(values, dtype=np.float64) for values in means]
    df = sum(len(values) - 1 for values in rated)
    if not df:
        return None
    squares = [float(((values - values.mean()) ** 2).sum()) for values in rated]
    sd = math.sqrt(sum(squares) / df)
    return ReaderSpread.everywhere(sd, float(df), source)


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
    low = logit(np.asarray(p_low, dtype=np.float64))
    high = logit(np.asarray(p_high, dtype=np.float64))
    # An interval of 95% is 2 * 1.96 deviations wide.
    own_variance = ((high - low) / (2.0 * Z95)) ** 2
    below, above = spread.deviations(centre)
    # With few raters their spread is uncertain itself: Student's t instead of the
    # normal, 1.96 only where the spread is taken as given.
    tail = 0.5 + share / 2.0
    reach = float(ndtri(tail))
    if not math.isinf(spread.df):
        reach = float(stdtrit(spread.df, tail))
    range_low = expit(centre - reach * np.sqrt(below**2 + own_variance))
    range_high = expit(centre + reach * np.sqrt(above**2 + own_variance))
    return np.minimum(range_low, p_low), np.maximum(range_high, p_high)
