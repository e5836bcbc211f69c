"""Agreement between raters: shares with bootstrap intervals, coefficients, and their rows in a table.

Coefficients are values without intervals, from statsmodels (Fleiss' kappa) and krippendorff (Krippendorff's
alpha). A share is a quotient of sums over units: all resamples are one matrix product.

Ratings are integers of shape (units, raters): a category from 0 on, any negative number for a missing rating.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.draws import below, mix, text_hash
from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.tables.schema import Table

_LEVELS = (0.025, 0.975)
_AT_ONCE = 25
_PACKAGE_CELLS = 5_000_000


@dataclass(frozen=True)
class MeasuredValue:
    """A value with its 95% interval and the number of cases behind it; None where it is not defined."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Resampling:
    """Resamples of clusters with replacement; the units of one cluster always go together.

    `cluster` has 0-based numbers, shape (units,). A resample is a function of seed, resample number and the
    number of clusters alone. Fewer than two resamples: no intervals.
    """

    cluster: Integers
    seed: int
    resamples: int

    def totals(self, terms: Floats) -> Floats:
        """Sums of `terms` (units, k) over each resample, shape (resamples, k)."""
        n_clusters = int(self.cluster.max(initial=-1)) + 1
        by_cluster = np.zeros((n_clusters, terms.shape[1]))
        np.add.at(by_cluster, self.cluster, terms)
        return np.concatenate(
            [np.zeros((0, terms.shape[1])), *(weights @ by_cluster for weights in self._weights(n_clusters))]
        )

    def _weights(self, n_clusters: int) -> Iterator[Floats]:
        """How often each cluster was drawn, shape (a few resamples, clusters)."""
        if n_clusters == 0 or self.resamples < 2:
            return
        seed = text_hash(self.seed, "resampled agreement")
        drawn = np.arange(n_clusters, dtype=np.uint64)
        for first in range(0, self.resamples, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, self.resamples))
            yield np.stack(
                [
                    np.bincount(below(mix(seed, number, drawn), n_clusters), minlength=n_clusters)
                    for number in numbers
                ]
            ).astype(float)


def independent(n_units: int, seed: int, resamples: int) -> Resampling:
    """Resampling in which every unit is a cluster of its own."""
    return Resampling(np.arange(n_units, dtype=np.int64), seed, resamples)


def interval(value: float | None, resampled: Floats) -> tuple[float | None, float | None]:
    """95% percentile interval of resampled values, shape (resamples,); it always contains the value.

    (None, None) without a value, without resamples, or when the value is not defined (NaN) in more than half
    of them.
    """
    defined = resampled[np.isfinite(resampled)]
    if value is None or len(defined) == 0 or 2 * len(defined) < len(resampled):
        return None, None
    low, high = np.quantile(defined, _LEVELS).tolist()
    return min(low, value), max(high, value)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Elementwise quotient, NaN where the denominator is 0."""
    result: Floats = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    np.divide(numerator, denominator, out=result, where=denominator != 0)
    return result


def shares(hits: Floats, cases: Floats, resampling: Resampling) -> list[MeasuredValue]:
    """Sum of hits over sum of cases for each column, with intervals.

    Both have shape (units, k); cases are 0 where a unit does not count.
    """
    width = hits.shape[1]
    values = ratio(hits.sum(axis=0), cases.sum(axis=0))
    totals = resampling.totals(np.concatenate([hits, cases], axis=1))
    resampled = ratio(totals[:, :width], totals[:, width:])
    return [_estimate(values[i], resampled[:, i], int(np.count_nonzero(cases[:, i]))) for i in range(width)]


def fleiss_kappa(ratings: Integers) -> MeasuredValue:
    """Fleiss' kappa (Fleiss 1971) over the units that every rater rated; `n` is their number.

    Not defined for fewer than two raters, no complete unit, or a single category in use (chance alone would
    agree fully).
    """
    complete = ratings[(ratings >= 0).all(axis=1)]
    if ratings.shape[1] < 2 or len(complete) == 0 or len(np.unique(complete)) < 2:
        return MeasuredValue(None, None, None, len(complete) if ratings.shape[1] > 1 else 0)
    from statsmodels.stats.inter_rater import fleiss_kappa as kappa

    return MeasuredValue(float(kappa(_counts(complete))), None, None, len(complete))


def krippendorff_alpha(ratings: Integers) -> MeasuredValue:
    """Krippendorff's alpha for nominal data; units with at least two ratings count, and `n` is their number.

    Not defined without such a unit or with a single category in use.
    """
    pairable = ratings[(ratings >= 0).sum(axis=1) > 1]
    if len(np.unique(pairable[pairable >= 0])) < 2:
        return MeasuredValue(None, None, None, len(pairable))
    counts = _counts(pairable)
    if len(counts) * counts.shape[1] ** 2 <= _PACKAGE_CELLS:
        from krippendorff import alpha

        return MeasuredValue(
            float(alpha(value_counts=counts, level_of_measurement="nominal")), None, None, len(counts)
        )
    # the package holds units x categories x categories numbers: gigabytes for a large vocabulary
    size, used = counts.sum(axis=1), counts.sum(axis=0)
    disagreeing = ((size**2 - (counts**2).sum(axis=1)) / (size - 1)).sum()
    value = 1.0 - (used.sum() - 1.0) * disagreeing / (used.sum() ** 2 - (used**2).sum())
    return MeasuredValue(float(value), None, None, len(counts))


def _counts(ratings: Integers) -> Floats:
    """Ratings per category, shape (units, categories in use); missing ratings count nowhere."""
    present = ratings >= 0
    used, category = np.unique(ratings[present], return_inverse=True)
    counts = np.zeros((len(ratings), len(used)))
    np.add.at(counts, (np.nonzero(present)[0], category), 1.0)
    return counts


def _estimate(value: float, resampled: Floats, n: int) -> MeasuredValue:
    known = float(value) if np.isfinite(value) else None
    return MeasuredValue(known, *interval(known, resampled), n)


@dataclass(frozen=True)
class Pairwise:
    """Agreement of every two raters.

    `values` and `n`, the number of common units, have shape (k,), `resampled` (resamples, k). A value is NaN
    without a common unit.
    """

    pairs: tuple[tuple[int, int], ...]
    values: Floats
    resampled: Floats
    n: Integers

    def of_pair(self, number: int) -> MeasuredValue:
        return _estimate(float(self.values[number]), self.resampled[:, number], int(self.n[number]))

    def mean(self, rater: int | None = None) -> MeasuredValue:
        """Mean over the pairs with a common unit, of one rater or of all; `n` is their number."""
        chosen = [i for i, pair in enumerate(self.pairs) if (rater is None or rater in pair) and self.n[i]]
        value = mean_defined(self.values[None, chosen])[0]
        return _estimate(float(value), mean_defined(self.resampled[:, chosen]), len(chosen))


def pairwise_agreement(ratings: Integers, resampling: Resampling) -> Pairwise:
    """Share of equal ratings of every two raters, over the units that both rated."""
    pairs = tuple(combinations(range(ratings.shape[1]), 2))
    both = np.zeros((len(ratings), len(pairs)))
    equal = np.zeros((len(ratings), len(pairs)))
    for i, (a, b) in enumerate(pairs):
        both[:, i] = (ratings[:, a] >= 0) & (ratings[:, b] >= 0)
        equal[:, i] = both[:, i] * (ratings[:, a] == ratings[:, b])
    totals = resampling.totals(np.concatenate([equal, both], axis=1))
    width = len(pairs)
    n = both.sum(axis=0)
    return Pairwise(
        pairs, ratio(equal.sum(axis=0), n), ratio(totals[:, :width], totals[:, width:]), n.astype(np.int64)
    )


def mean_defined(values: Floats) -> Floats:
    """Mean over the last axis of the values that are not NaN; NaN where all are."""
    return ratio(np.nansum(values, axis=-1), np.isfinite(values).sum(axis=-1).astype(float))


NOT_DEFINED = MeasuredValue(None, None, None, 0)


def agreement_row(
    measure: str,
    estimate: MeasuredValue,
    *,
    first: str = "",
    second: str = "",
    coding: str = "none",
    left_out: Mapping[str, int] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The columns that all agreement tables share, and more; `left_out` counts cases by reason."""
    present = {reason: count for reason, count in (left_out or {}).items() if count}
    return {
        "measure": measure,
        "coding": coding,
        "first": first,
        "second": second,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "left_out": sum(present.values()),
        "reasons": "; ".join(f"{reason}: {count}" for reason, count in present.items()),
        **more,
    }


def coefficient_rows(
    position: Integers, shown: Integers, incomplete: str, unpaired: str, **more: Any
) -> Iterator[dict[str, Any]]:
    """Fleiss' kappa and Krippendorff's alpha of raters in both codings.

    `position` (questions, raters): 0 first, 1 second, negative for no answer; `shown` (questions, 2): numbers
    of the phrases. `incomplete`, `unpaired`: why kappa and alpha leave questions out.
    """
    phrase = np.where(position >= 0, np.take_along_axis(shown, np.maximum(position, 0), axis=1), position)
    answers = (position >= 0).sum(axis=1)
    few = {incomplete: int((answers < position.shape[1]).sum())}
    single = {unpaired: int((answers < 2).sum())}
    for coding, ratings in (("phrase", phrase), ("position", position)):
        kappa, alpha = fleiss_kappa(ratings), krippendorff_alpha(ratings)
        yield agreement_row("fleiss kappa", kappa, coding=coding, left_out=few, **more)
        yield agreement_row("krippendorff alpha", alpha, coding=coding, left_out=single, **more)


def agreement_frame(table: Table, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows in the order of the table's measures, then by its key."""
    order = {measure: number for number, measure in enumerate(table.column("measure").choices)}
    return table.frame(
        sorted(rows, key=lambda row: (order[row["measure"]], *(row[n] for n in table.key[1:])))
    )
