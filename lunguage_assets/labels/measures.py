"""Measures of probabilities against outcomes, and of two codings against each other.

Arrays go in, numbers come out; which cells are measured together is in
`calibration.py` and `comparison.py`. A p of 0 or 1 has no logit: slope and intercept
leave such cells out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from lunguage_assets.randomness import Floats

BINS = 10

_Z_95 = 1.959963984540054
_NEWTON_STEPS = 100
_CONVERGED = 1e-10

_SAME_LOGIT = 1e-9
"""Logits that lie this close together are one."""


class RecalibrationLine(NamedTuple):
    """logit P(outcome) = intercept + slope * logit p, and the covariance of the two."""

    intercept: float
    slope: float
    covariance: Floats


class Estimate(NamedTuple):
    """A value and its standard error."""

    value: float
    error: float


class Kappa(NamedTuple):
    """Cohen's kappa with its 95% interval."""

    value: float
    low: float
    high: float


class _Regression(NamedTuple):
    """Coefficients of a logistic regression, and their covariance."""

    coefficients: Floats
    covariance: Floats


def bins(cells: pd.DataFrame, count: int = BINS) -> pd.DataFrame:
    """Put cells into bins of about equally many, by p; equal p are never parted.

    Args:
        cells: columns p, p_low, p_high and outcome.
        count: of bins, at most.

    Returns:
        A row per bin: cells, mean_p, mean_low, mean_high, observed (share of outcomes
        that are 1) with Wilson's 95% interval observed_low and observed_high.
    """
    from scipy.stats import binomtest  # slow to import

    mean_by_column = {
        "p": "mean_p",
        "p_low": "mean_low",
        "p_high": "mean_high",
        "outcome": "observed",
    }
    values = cells[list(mean_by_column)].astype("float64")
    values = values.rename(columns=mean_by_column)
    # Equal p have equal ranks, so they fall into one bin. The half keeps the last share
    # below 1.
    ranks = values["mean_p"].rank()
    share_below = (ranks - 0.5) / max(len(values), 1)
    grouped = values.groupby((share_below * count).astype(int))
    binned = grouped.mean()
    binned.insert(0, "cells", grouped.size())
    ones = grouped["observed"].sum().astype(int)
    intervals = [
        binomtest(hits, n).proportion_ci(method="wilson")
        for hits, n in zip(ones, binned["cells"], strict=True)
    ]
    binned["observed_low"] = [interval.low for interval in intervals]
    binned["observed_high"] = [interval.high for interval in intervals]
    # Wilson's interval of a share of 0 or 1 may miss it by rounding.
    binned["observed_low"] = binned[["observed_low", "observed"]].min(axis=1)
    binned["observed_high"] = binned[["observed_high", "observed"]].max(axis=1)
    return binned.reset_index(drop=True)


def expected_calibration_error(binned: pd.DataFrame) -> float:
    """Average the distance of a bin's mean p from its observed share, by cells."""
    distance = (binned["mean_p"] - binned["observed"]).abs()
    return float(np.average(distance, weights=binned["cells"]))


def coverage(binned: pd.DataFrame) -> float:
    """Find the share of cells whose bin's observed share lies in its mean interval."""
    is_inside = binned["observed"].between(binned["mean_low"], binned["mean_high"])
    return float(np.average(is_inside, weights=binned["cells"]))


def distribution_brier(readers: Sequence[Floats], outcome: Floats) -> float:
    """Average the squared error of a reader of each cell, drawn at random.

    Args:
        readers: p of the readers of each cell.
        outcome: (cells,) 0 or 1.
    """
    errors = [
        np.mean((p - happened) ** 2)
        for p, happened in zip(readers, outcome, strict=True)
    ]
    return float(np.mean(errors))


def distribution_ece(readers: Sequence[Floats], outcome: Floats) -> float:
    """Find the expected calibration error of distributions (arXiv 2410.04315).

    Every reader of a cell puts an equal part of it into the bin of that reader's p. A
    bin's error is the distance of its mean p from its share of outcomes, weighted by
    its mass. Bins are equally wide.

    Args:
        readers: p of the readers of each cell.
        outcome: (cells,) 0 or 1.
    """
    reader_counts = np.array([len(p_of_cell) for p_of_cell in readers])
    # From here on a row is a reader of a cell.
    p = np.concatenate(readers)
    outcome_of_reader = np.repeat(outcome, reader_counts)
    weight = np.repeat(1.0 / reader_counts, reader_counts)
    bin_of_reader = (p * BINS).astype(np.int64)
    # A p of 1 is in the last bin.
    bin_of_reader = np.minimum(bin_of_reader, BINS - 1)
    error = weight * (p - outcome_of_reader)
    error_by_bin = np.bincount(bin_of_reader, error, minlength=BINS)
    return float(np.abs(error_by_bin).sum() / weight.sum())


def recalibration(p: Floats, outcome: Floats) -> RecalibrationLine | None:
    """Fit logit P(outcome) to logit p by maximum likelihood, over 0 < p < 1.

    Returns:
        None where the line is not determined: one outcome only, one p only, or outcomes
        that p parts without an overlap.
    """
    has_logit = (p > 0.0) & (p < 1.0)
    logits = logit(p[has_logit])
    outcome = outcome[has_logit]
    of_ones = logits[outcome == 1]
    of_zeros = logits[outcome == 0]
    if not len(of_ones) or not len(of_zeros) or np.ptp(logits) < _SAME_LOGIT:
        return None
    # Outcomes that p parts have no line: the likelihood rises with the slope forever.
    is_parted_upwards = of_ones.min() >= of_zeros.max()
    is_parted_downwards = of_ones.max() <= of_zeros.min()
    if is_parted_upwards or is_parted_downwards:
        return None
    design = np.column_stack([np.ones(len(logits)), logits])
    regression = _logistic_regression(outcome, design)
    intercept, slope = regression.coefficients
    return RecalibrationLine(intercept, slope, regression.covariance)


def calibration_in_the_large(p: Floats, outcome: Floats) -> Estimate:
    """Fit the intercept with the slope held at 1, over 0 < p < 1.

    Returns:
        NaN for outcomes that are all the same.
    """
    has_logit = (p > 0.0) & (p < 1.0)
    outcome = outcome[has_logit]
    if len(np.unique(outcome)) < 2:
        return Estimate(math.nan, math.nan)
    design = np.ones((len(outcome), 1))
    # An offset is a term whose slope is 1.
    logits = logit(p[has_logit])
    regression = _logistic_regression(outcome, design, offset=logits)
    intercept = float(regression.coefficients[0])
    variance = float(regression.covariance[0, 0])
    return Estimate(intercept, math.sqrt(variance))


def _logistic_regression(
    outcome: Floats, design: Floats, offset: Floats | None = None
) -> _Regression:
    """Find the maximum of the likelihood by Newton's steps."""
    shift = np.zeros(len(outcome)) if offset is None else offset
    coefficients = np.zeros(design.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = expit(design @ coefficients + shift)
        information = design.T @ (design * (p * (1.0 - p))[:, None])
        covariance = np.linalg.pinv(information)
        step = covariance @ (design.T @ (outcome - p))
        coefficients = coefficients + step
        if np.abs(step).max() < _CONVERGED:
            break
    return _Regression(coefficients, covariance)


def auroc(p: Floats, outcome: Floats) -> float:
    """Find P(a cell with outcome 1 has the higher p), ties counting half.

    Returns:
        NaN without both outcomes.
    """
    from scipy.stats import mannwhitneyu  # slow to import

    of_ones = p[outcome == 1]
    of_zeros = p[outcome == 0]
    pairs = len(of_ones) * len(of_zeros)
    if not pairs:
        return math.nan
    # U counts the pairs in which the 1 has the higher p. `method` concerns the test's
    # own p alone, which is not used.
    test = mannwhitneyu(of_ones, of_zeros, method="asymptotic")
    return float(test.statistic / pairs)


def cohens_kappa(counts: Floats) -> Kappa:
    """Find Cohen's kappa of a square table of counts; NaN where nothing varies."""
    cells = counts.sum()
    share = counts / cells if cells else counts
    rows = share.sum(axis=1)
    columns = share.sum(axis=0)
    by_chance = float(rows @ columns)
    if not cells or by_chance == 1.0:
        return Kappa(math.nan, math.nan, math.nan)
    kappa = (float(np.trace(share)) - by_chance) / (1.0 - by_chance)
    # The variance of Fleiss, Cohen and Everitt (1969).
    agreed = np.diag(share) @ (1.0 - (rows + columns) * (1.0 - kappa)) ** 2
    parted = share * (columns[:, None] + rows) ** 2
    missed = (parted.sum() - np.trace(parted)) * (1.0 - kappa) ** 2
    expected = (kappa - by_chance * (1.0 - kappa)) ** 2
    variance = (agreed + missed - expected) / ((1.0 - by_chance) ** 2 * cells)
    half_width = _Z_95 * math.sqrt(max(float(variance), 0.0))
    return Kappa(kappa, kappa - half_width, kappa + half_width)
