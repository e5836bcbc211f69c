"""What the fits came to: steps, rank, mu and p over the tentative findings with a place (explicit.md sections
5 and 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from lunguage_assets.release.report.published_tables import PublishedFit
from lunguage_assets.tables.paper import FIT_MEASURES, FIT_TABLE


@dataclass
class _Sums:
    """Enough of some values for their mean, deviation and range."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    low: float = float("inf")
    high: float = float("-inf")

    def add(self, values: pd.Series) -> None:
        self.n += len(values)
        self.total += float(values.sum())
        self.squares += float((values**2).sum())
        if len(values):
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))


class FitFigures:
    """Added up over parts of the studies."""

    def __init__(self) -> None:
        self._sums = {measure: _Sums() for measure in FIT_MEASURES}

    def add(self, fitted: pd.DataFrame) -> None:
        """Add FITTED_PROBABILITIES rows; those without a place of their own are left out."""
        placed = fitted[fitted["p_source"] == "fitted"].sort_values("finding_id")
        values = {"steps": placed["steps"], "rank": placed["rank"] + 1, "mu": placed["mu"], "p": placed["p"]}
        for measure, found in values.items():
            self._sums[measure].add(found.astype("float64"))

    def table(self, published: Mapping[str, PublishedFit]) -> pd.DataFrame:
        """A FIT_TABLE frame: the published values stand beside, whatever the corpus is."""
        lines = []
        for measure, sums in self._sums.items():
            beside = published.get(measure)
            mean = sums.total / sums.n if sums.n else None
            lines.append(
                {
                    "measure": measure,
                    "n": sums.n,
                    "mean": mean,
                    "sd": max(sums.squares / sums.n - mean**2, 0.0) ** 0.5 if mean is not None else None,
                    "minimum": sums.low if sums.n else None,
                    "maximum": sums.high if sums.n else None,
                    "published_mean": beside.mean if beside else None,
                    "published_sd": beside.sd if beside else None,
                    "published_minimum": beside.minimum if beside else None,
                    "published_maximum": beside.maximum if beside else None,
                }
            )
        return FIT_TABLE.frame(lines)
