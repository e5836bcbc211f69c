"""How certain the reports are, counted over their stated current findings before any of them is merged or
removed, as the paper counts (implicit.md section 7), and what the fits came to (explicit.md sections 5, 6).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from lunguage_assets.implicit.rows import column_values
from lunguage_assets.release.report.published_tables import PublishedFit
from lunguage_assets.tables.paper import ALL_DIAGNOSES, ALL_FINDINGS, CERTAINTY_TABLE, FIT_MEASURES, FIT_TABLE

CERTAINTY_COLUMNS = {
    "dp": "definitive_positive",
    "tp": "tentative_positive",
    "tn": "tentative_negative",
    "dn": "definitive_negative",
}
CURRENT = "current dx"


class StatedCounts:
    """Statuses by diagnosis, added up over parts of the studies. Of a tentative finding only p is kept."""

    def __init__(self) -> None:
        self._statuses: Counter[tuple[str, str]] = Counter()
        self._unknown: Counter[str] = Counter()
        self._p: dict[str, array[float]] = {}

    def add(self, tables: Mapping[str, pd.DataFrame], diagnosis: Mapping[str, str]) -> None:
        """Add some studies, whole ones.

        Args:
            tables: `lunguage_plus_plus`, `resolution_log` and `fitted_probabilities`, by name.
            diagnosis: of every finding, by its id; empty for none.
        """
        fitted = tables["fitted_probabilities"]
        columns = (column_values(fitted, name) for name in ("finding_id", "p", "p_source"))
        p_of = {own: (p, p_source) for own, p, p_source in zip(*columns, strict=True)}
        for own, status in _stated(tables):
            name = diagnosis[own]
            self._statuses[name, status] += 1
            if status in ("tp", "tn"):
                p, p_source = p_of.get(own, (0.5, "none"))
                if p_source == "none":
                    self._unknown[name] += 1
                else:
                    self._p.setdefault(name, array("d")).append(p)

    def table(self, diagnoses: Sequence[str]) -> pd.DataFrame:
        """A CERTAINTY_TABLE frame, diagnoses in the order given (the paper's Table 2)."""
        found = {name for name, _ in self._statuses}
        lines = [self._line(name, [name]) for name in diagnoses]
        lines += [self._line(ALL_DIAGNOSES, found - {""}), self._line(ALL_FINDINGS, found)]
        return CERTAINTY_TABLE.frame(lines)

    def _line(self, title: str, names: Collection[str]) -> dict[str, Any]:
        known = chain.from_iterable(self._p.get(name, ()) for name in names)
        counted = {
            column: sum(self._statuses[name, status] for name in names)
            for status, column in CERTAINTY_COLUMNS.items()
        }
        total = sum(counted.values())
        return {
            "diagnosis": title,
            **counted,
            "total": total,
            **{f"percent_{column}": percent(count, total) for column, count in counted.items()},
            "no_information": sum(self._unknown[name] for name in names),
            **dict(zip(("p_mean", "p_sd", "p_min", "p_max"), _spread(known), strict=True)),
        }


def percent(part: float, whole: float) -> float | None:
    """A share in percent; None of nothing."""
    return 100.0 * part / whole if whole else None


def _stated(tables: Mapping[str, pd.DataFrame]) -> Iterator[tuple[str, str]]:
    """Id and status of every stated current finding, those that were merged or removed too."""
    rows, log = tables["lunguage_plus_plus"], tables["resolution_log"]
    gone = log[log["event"].isin(["merged", "removed"])]
    for frame in (rows, gone):
        stated = frame[(frame["source"] == "original") & (frame["currency"] == CURRENT)]
        yield from zip(column_values(stated, "finding_id"), column_values(stated, "status"), strict=True)


class FitFigures:
    """Steps, rank, mu and p of the tentative findings with a place, collected over parts of the studies:
    eight bytes of every finding and measure, because a sum would depend on the order of the parts.
    """

    def __init__(self) -> None:
        self._values: dict[str, array[float]] = {measure: array("d") for measure in FIT_MEASURES}

    def add(self, fitted: pd.DataFrame) -> None:
        """Add FITTED_PROBABILITIES rows; those without a place of their own are left out."""
        placed = fitted[fitted["p_source"] == "fitted"]
        placed = placed.assign(rank=placed["rank"] + 1)
        for measure, values in self._values.items():
            values.extend(placed[measure].astype("float64").tolist())

    def table(self, published: Mapping[str, PublishedFit]) -> pd.DataFrame:
        """A FIT_TABLE frame: the published values stand beside, whatever the corpus is."""
        names = ("mean", "sd", "minimum", "maximum")
        return FIT_TABLE.frame(
            {"measure": measure, "n": len(values)}
            | dict(zip(names, _spread(values), strict=True))
            | {f"published_{name}": getattr(published.get(measure), name, None) for name in names}
            for measure, values in self._values.items()
        )


def _spread(values: Iterable[float]) -> tuple[float | None, ...]:
    """Mean, standard deviation (population), minimum and maximum, of nothing None; whatever the order."""
    known = pd.Series(sorted(values), dtype="float64")
    return (known.mean(), known.std(ddof=0), known.min(), known.max()) if len(known) else (None,) * 4
