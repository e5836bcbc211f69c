"""The numbers of a release, added up over parts of its studies: what came in, what was judged, what was
generated, what was resolved.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lunguage_assets.pictures.plots import probability_heights
from lunguage_assets.release.bundle.newest import NewestStudies, Tables
from lunguage_assets.release.report.paper_tables import PaperCounts
from lunguage_assets.tables import ACCOUNTING

if TYPE_CHECKING:
    from lunguage_assets.release.bundle.bundle import Release

_ACCOUNTS = tuple(column.name for column in ACCOUNTING.columns if column.type == "int")


class Totals:
    """Counts of all parts that were added. Of every tentative finding only p is kept, eight bytes."""

    TABLES = (
        "reports",
        "pathway_matches",
        "lunguage_plus_plus",
        "resolution_log",
        "conflicts",
        "accounting",
        "fitted_probabilities",
    )

    def __init__(self) -> None:
        self.paper = PaperCounts()
        self.sources: Counter[str] = Counter()
        self.conflicts: Counter[tuple[str, str]] = Counter()
        self.encoders: set[str] = set()
        self.placed = 0
        self.p_heights = probability_heights(pd.Series([], dtype="float64"))
        self._accounts: Counter[str] = Counter()
        self._reasons: Counter[tuple[str, bool]] = Counter()
        self._p_sources: Counter[str] = Counter()
        self._modes: set[str] = set()
        self._fits: set[str] = set()
        self._p: list[pd.Series] = []
        self._balanced = self._accounted = 0

    def add(self, tables: Tables) -> None:
        """Add some studies, whole ones, with all their rows in the tables named in `TABLES`."""
        self.paper.add(tables)
        rows, fitted, accounts = (
            tables[name] for name in ("lunguage_plus_plus", "fitted_probabilities", "accounting")
        )
        matches, conflicts = tables["pathway_matches"], tables["conflicts"]
        self.sources.update(rows["source"].tolist())
        self.conflicts.update(zip(conflicts["conflict_type"], conflicts["source"], strict=True))
        self.encoders |= set(rows["encoder"])
        self.placed += int(fitted["mu"].notna().sum())
        self.p_heights = self.p_heights + probability_heights(fitted["p"])
        self._accounts.update({name: int(accounts[name].sum()) for name in _ACCOUNTS})
        self._reasons.update(zip(matches["reason"], matches["generated"], strict=True))
        self._p_sources.update(fitted["p_source"].tolist())
        self._modes |= set(rows["mode"])
        self._fits |= set(fitted["fit"])
        self._p.append(fitted.loc[fitted["p_source"] == "fitted", "p"])
        self._balanced += int(accounts["balanced"].sum())
        self._accounted += len(accounts)

    @property
    def tentative(self) -> int:
        return self._p_sources.total()

    @staticmethod
    def _set_aside(studies: NewestStudies) -> list[tuple[Any, ...]]:
        """Rules that studies broke, which were set aside for it, and the number of these studies."""
        return studies.query(
            "SELECT rule, count(DISTINCT study_id) "
            f"FROM {studies.rows('set_aside')} GROUP BY rule ORDER BY rule"
        )

    def summary(self, release: Release) -> dict[str, Any]:
        """Counts and distributions, ready for JSON; the same release gives the same bytes."""
        ranking = release.ranking
        return {
            "ranker": release.ranker,
            "judges": list(ranking["judges"].iloc[0]),
            "ruler": str(ranking["ruler"].iloc[0]),
            "ruler_reason": str(ranking["ruler_reason"].iloc[0]),
            "ranking_version": str(ranking["ranking_version"].iloc[0]),
            "mode": ", ".join(sorted(self._modes)),
            "fit": ", ".join(sorted(self._fits)),
            "batches": list(release.batches),
            "batches_not_included": list(release.missing_batches),
            "studies_superseded": release.studies.superseded,
            "reports": self.paper.studies,
            "findings": self._accounts["rows_in"],
            "tentative_pairs": self.tentative,
            "matches": int(ranking["n_matches"].sum()) // 2,
            "phrases_ranked": len(ranking),
            "p": distribution(pd.concat(self._p, ignore_index=True)),
            "p_source": dict(sorted(self._p_sources.items())),
            "expanded": self._reasons["matched", False],
            "expanded_generated": self._reasons["matched", True],
            "match_reasons": {
                reason: count for (reason, generated), count in sorted(self._reasons.items()) if not generated
            },
            "conflicts": dict(
                sorted((f"{kind} ({source})", count) for (kind, source), count in self.conflicts.items())
            ),
            "rows": {name: self._accounts[name] for name in _ACCOUNTS},
            "studies_set_aside": dict(self._set_aside(release.studies)),
            "studies_balanced": self._balanced,
            "studies_accounted": self._accounted,
            "rows_out": self.sources.total(),
        }


def distribution(values: pd.Series) -> dict[str, float | int]:
    """Count, mean, standard deviation (population), minimum, quartiles and maximum."""
    if values.empty:
        return {"count": 0}
    found = {"mean": values.mean(), "sd": values.std(ddof=0)}
    ends_and_quartiles = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0])
    found |= dict(zip(("min", "q1", "median", "q3", "max"), ends_and_quartiles, strict=True))
    return {"count": len(values), **{name: round(float(value), 6) for name, value in found.items()}}
