"""What the fits came to: steps, rank, mu and p over the tentative findings with a place (explicit.md sections
5 and 6).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import pandas as pd

from lunguage_assets.release.report.published_tables import PublishedFit
from lunguage_assets.tables.paper import FIT_MEASURES, FIT_TABLE


class FitFigures:
    """Collected over parts of the studies: eight bytes of every finding and measure, because a sum would
    depend on the order of the parts.
    """

    def __init__(self) -> None:
        self._values: dict[str, array[float]] = {measure: array("d") for measure in FIT_MEASURES}

    def add(self, fitted: pd.DataFrame) -> None:
        """Add FITTED_PROBABILITIES rows; those without a place of their own are left out."""
        placed = fitted[fitted["p_source"] == "fitted"]
        values = {"steps": placed["steps"], "rank": placed["rank"] + 1, "mu": placed["mu"], "p": placed["p"]}
        for measure, found in values.items():
            self._values[measure].extend(found.astype("float64").tolist())

    def table(self, published: Mapping[str, PublishedFit]) -> pd.DataFrame:
        """A FIT_TABLE frame: the published values stand beside, whatever the corpus is."""
        lines = []
        for measure, values in self._values.items():
            found, beside = pd.Series(sorted(values), dtype="float64"), published.get(measure)
            some = len(found) > 0
            lines.append(
                {
                    "measure": measure,
                    "n": len(found),
                    "mean": found.mean() if some else None,
                    "sd": found.std(ddof=0) if some else None,
                    "minimum": found.min() if some else None,
                    "maximum": found.max() if some else None,
                    "published_mean": beside.mean if beside else None,
                    "published_sd": beside.sd if beside else None,
                    "published_minimum": beside.minimum if beside else None,
                    "published_maximum": beside.maximum if beside else None,
                }
            )
        return FIT_TABLE.frame(lines)
