"""Measures of agreement between probabilities and outcomes: of arrays, and nothing of labels or files.

All take p (in [0, 1]) and outcomes (0 or 1) of the same length. A p of 0 or 1 has no logit: slope and
intercept leave such cells out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtri

from lunguage_assets.draws import Floats

BINS = 10
READERS = 21
"""Readings by which a distribution over readers is represented."""
_QUANTILES = ndtri((np.arange(READERS) + 0.5) / READERS)


def bins(cells: pd.DataFrame, count: int = BINS) -> pd.DataFrame:
    """At most `count` bins of about equally many cells, by p; equal p are never parted.

    Args:
        cells: columns p, p_low, p_high and outcome.

    Returns:
        cells, mean_p, mean_low, mean_high, observed (share of outcomes that are 1) with Wilson's 95% interval
        observed_low and observed_high; one row per bin, by p.
    """
    from statsmodels.stats.proportion import proportion_confint  # slow to import

    names = {"p": "mean_p", "p_low": "mean_low", "p_high": "mean_high", "outcome": "observed"}
    values = cells[list(names)].astype("float64").rename(columns=names)
    grouped = values.groupby(((values["mean_p"].rank() - 0.5) / max(len(values), 1) * count).astype(int))
    found = grouped.mean()
    found.insert(0, "cells", grouped.size())
    low, high = proportion_confint(grouped["observed"].sum(), found["cells"], method="wilson")
    found["observed_low"] = np.minimum(low, found["observed"])
    found["observed_high"] = np.maximum(high, found["observed"])
    return found.reset_index(drop=True)


def expected_calibration_error(found: pd.DataFrame) -> float:
    """Mean distance of a bin's mean p from its observed share, by cells."""
    return float(np.average((found["mean_p"] - found["observed"]).abs(), weights=found["cells"]))


def coverage(found: pd.DataFrame) -> float:
    """Share of cells whose bin's observed share lies within the bin's mean interval.

    A single outcome is 0 or 1 and lies in no interval of a probability, so only groups can be covered.
    """
    inside = found["observed"].between(found["mean_low"], found["mean_high"])
    return float(np.average(inside, weights=found["cells"]))


def readers_around(p: float, deviation: float) -> Floats:
    """Readings of a p by `READERS` readers: evenly spaced quantiles of a distribution around it that is
    normal in logits. 0 and 1 leave nothing to read.
    """
    if not 0.0 < p < 1.0:
        return np.array([p])
    return np.asarray(expit(logit(p) + deviation * _QUANTILES))


def distribution_brier(readers: Sequence[Floats], outcome: Floats) -> float:
    """The Brier score of distributions: mean over cells of the squared error of a reader drawn at random;
    `readers` has for each cell what each reader takes its p for.
    """
    return float(np.mean([np.mean((p - y) ** 2) for p, y in zip(readers, outcome, strict=True)]))


def distribution_ece(readers: Sequence[Floats], outcome: Floats) -> float:
    """The expected calibration error of distributions (arXiv 2410.04315): every reader of a cell puts an
    equal part of it into the bin of that reader's p; a bin's error is the distance of its mean p from its
    share of outcomes, weighted by its mass. Bins are equally wide.
    """
    sizes = [len(one) for one in readers]
    p, seen = np.concatenate(readers), np.repeat(outcome, sizes)
    weight = np.repeat(1.0 / np.array(sizes), sizes)
    at = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    return float(np.abs(np.bincount(at, weight * (p - seen), minlength=BINS)).sum() / weight.sum())


def recalibration(p: Floats, outcome: Floats) -> tuple[Floats, Floats] | None:
    """logit P(outcome) = intercept + slope logit p, of 0 < p < 1, by maximum likelihood: the two and their
    covariance. None where it is not determined: one outcome only, one p only, or outcomes that p parts
    without an overlap.
    """
    inside = (p > 0.0) & (p < 1.0)
    places, outcome = logit(p[inside]), outcome[inside]
    ones, zeros = places[outcome == 1], places[outcome == 0]
    if not len(ones) or not len(zeros) or np.ptp(places) < 1e-9:
        return None
    if ones.min() >= zeros.max() or ones.max() <= zeros.min():
        return None
    return _logistic(outcome, np.column_stack([np.ones(len(places)), places]))


def calibration_in_the_large(p: Floats, outcome: Floats) -> tuple[float, float]:
    """The intercept with the slope held at 1, of 0 < p < 1, and its standard error; NaN where all outcomes
    are the same.
    """
    inside = (p > 0.0) & (p < 1.0)
    if len({*outcome[inside].tolist()}) < 2:
        return math.nan, math.nan
    value, variance = _logistic(outcome[inside], np.ones((inside.sum(), 1)), logit(p[inside]))
    return float(value[0]), math.sqrt(float(variance[0, 0]))


def _logistic(outcome: Floats, design: Floats, offset: Floats | None = None) -> tuple[Floats, Floats]:
    """Coefficients of a logistic regression, and their covariance."""
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = GLM(outcome, design, family=Binomial(), offset=offset).fit()
    return np.asarray(fitted.params), np.asarray(fitted.cov_params())


def auroc(p: Floats, outcome: Floats) -> float:
    """Probability that a cell with outcome 1 has the higher p, ties counting half; NaN without both
    outcomes.
    """
    from scipy.stats import mannwhitneyu  # slow to import

    ones, zeros = p[outcome == 1], p[outcome == 0]
    if not len(ones) or not len(zeros):
        return math.nan
    return float(mannwhitneyu(ones, zeros, method="asymptotic").statistic / (len(ones) * len(zeros)))


def cohens_kappa(table: Floats) -> tuple[float, float, float]:
    """Cohen's kappa of a square table of counts with its 95% interval; NaN where nothing varies."""
    from statsmodels.stats.inter_rater import cohens_kappa as estimate

    used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    if used.sum() < 2:
        return math.nan, math.nan, math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = estimate(table[np.ix_(used, used)])
    return float(found.kappa), float(found.kappa_low), float(found.kappa_upp)
