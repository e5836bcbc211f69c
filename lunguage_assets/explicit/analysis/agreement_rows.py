"""One row per agreement: its value, interval and cases, and what was left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.explicit.analysis.reliability import (
    MeasuredValue,
    fleiss_kappa,
    krippendorff_alpha,
)
from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.tables.schema import Table

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
