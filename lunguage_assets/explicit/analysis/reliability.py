"""Agreement between raters: shares with Wilson's interval, coefficients, and their rows in a table.

Coefficients are values without intervals, from statsmodels (Fleiss' kappa) and krippendorff (Krippendorff's
alpha). Ratings are integers of shape (units, raters): a category from 0 on, any negative number for a missing
rating.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.explicit.arrays import Floats, Integers
from lunguage_assets.tables.schema import Table

_PACKAGE_CELLS = 5_000_000


@dataclass(frozen=True)
class MeasuredValue:
    """A value with its 95% interval, where it has one, and the number of cases behind it; None where it is
    not defined.
    """

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None


NOT_DEFINED = MeasuredValue(None, 0)


def wilson(hits: int, n: int) -> MeasuredValue:
    """A share with Wilson's 95% interval, which takes the cases as independent."""
    from scipy.stats import binomtest  # slow to import, and definitions load this module

    if n == 0:
        return NOT_DEFINED
    limits = binomtest(hits, n).proportion_ci(method="wilson")
    return MeasuredValue(hits / n, n, float(limits.low), float(limits.high))


def mean_of(values: Iterable[float | None]) -> MeasuredValue:
    """The mean of the values that are defined, without an interval; `n` is their number."""
    defined = [value for value in values if value is not None]
    return MeasuredValue(float(np.mean(defined)), len(defined)) if defined else NOT_DEFINED


def pairwise_agreement(one: Integers, other: Integers) -> MeasuredValue:
    """Share of equal ratings of two raters over the units that both rated, each of shape (units,)."""
    both = (one >= 0) & (other >= 0)
    return wilson(int((one == other)[both].sum()), int(both.sum()))


def fleiss_kappa(ratings: Integers) -> MeasuredValue:
    """Fleiss' kappa (Fleiss 1971) over the units that every rater rated; `n` is their number.

    Not defined for fewer than two raters, no complete unit, or a single category in use (chance alone would
    agree fully).
    """
    complete = ratings[(ratings >= 0).all(axis=1)]
    if ratings.shape[1] < 2 or len(complete) == 0 or len(np.unique(complete)) < 2:
        return MeasuredValue(None, len(complete) if ratings.shape[1] > 1 else 0)
    from statsmodels.stats.inter_rater import fleiss_kappa as kappa

    return MeasuredValue(float(kappa(_counts(complete))), len(complete))


def krippendorff_alpha(ratings: Integers) -> MeasuredValue:
    """Krippendorff's alpha for nominal data; units with at least two ratings count, and `n` is their number.

    Not defined without such a unit or with a single category in use.
    """
    pairable = ratings[(ratings >= 0).sum(axis=1) > 1]
    if len(np.unique(pairable[pairable >= 0])) < 2:
        return MeasuredValue(None, len(pairable))
    counts = _counts(pairable)
    if len(counts) * counts.shape[1] ** 2 <= _PACKAGE_CELLS:
        from krippendorff import alpha

        return MeasuredValue(float(alpha(value_counts=counts, level_of_measurement="nominal")), len(counts))
    # the package holds units x categories x categories numbers: gigabytes for a large vocabulary
    size, used = counts.sum(axis=1), counts.sum(axis=0)
    disagreeing = ((size**2 - (counts**2).sum(axis=1)) / (size - 1)).sum()
    value = 1.0 - (used.sum() - 1.0) * disagreeing / (used.sum() ** 2 - (used**2).sum())
    return MeasuredValue(float(value), len(counts))


def _counts(ratings: Integers) -> Floats:
    """Ratings per category, shape (units, categories in use); missing ratings count nowhere."""
    present = ratings >= 0
    used, category = np.unique(ratings[present], return_inverse=True)
    counts = np.zeros((len(ratings), len(used)))
    np.add.at(counts, (np.nonzero(present)[0], category), 1.0)
    return counts


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
        **vars(estimate),
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
