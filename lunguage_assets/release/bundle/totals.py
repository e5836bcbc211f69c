"""The numbers of a release: what came in, what was judged, what was generated, what was resolved."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.pictures.plots import P_EDGES
from lunguage_assets.release.report.paper_tables import counted
from lunguage_assets.tables import ACCOUNTING

if TYPE_CHECKING:
    from lunguage_assets.release.bundle.bundle import Release

_ACCOUNTS = tuple(column.name for column in ACCOUNTING.columns if column.type == "int")


@dataclass(frozen=True)
class Totals:
    """What the report shows of the whole: conflicts by type and source, encoders that the rows name,
    tentative findings, those with a place, bars of p between `P_EDGES`; and `summary`, ready for JSON.
    """

    conflicts: Counter[tuple[str, str]]
    encoders: list[str]
    tentative: int
    placed: int
    p_heights: NDArray[np.int64]
    summary: dict[str, Any]


def totals_of(release: Release) -> Totals:
    """Count a release; the same release gives the same numbers."""
    studies, ranking = release.studies, release.ranking

    def counts(columns: str, table: str) -> Counter[Any]:
        found = counted(studies, f"SELECT {columns}, count(*) FROM {{{table}}} GROUP BY ALL ORDER BY ALL")
        return Counter({tuple(keys) if len(keys) > 1 else keys[0]: count for *keys, count in found})

    conflicts = counts("conflict_type, source", "conflicts")
    sources, p_sources = counts("source", "lunguage_plus_plus"), counts("p_source", "fitted_probabilities")
    reasons = counts("reason, generated", "pathway_matches")
    aside = "SELECT rule, count(DISTINCT study_id) FROM {set_aside} GROUP BY rule ORDER BY rule"
    sums = ", ".join(f"coalesce(sum({name}), 0)::BIGINT" for name in _ACCOUNTS)
    ((accounted, balanced, *accounts),) = counted(
        studies, f"SELECT count(*), count(*) FILTER (balanced), {sums} FROM {{accounting}}"
    )
    ((placed,),) = counted(studies, "SELECT count(mu) FROM {fitted_probabilities}")
    ((reports,),) = counted(studies, "SELECT count(*) FROM {reports}")
    fitted = studies.values(
        f"SELECT p, p_source = 'fitted' AS own FROM {studies.rows('fitted_probabilities')} ORDER BY p"
    )
    rows = dict(zip(_ACCOUNTS, accounts, strict=True))
    p = fitted["p"].astype(np.float64)
    summary = {
        "ranker": release.ranker,
        "judges": list(ranking["judges"].iloc[0]),
        "ruler": str(ranking["ruler"].iloc[0]),
        "ruler_reason": str(ranking["ruler_reason"].iloc[0]),
        "ranking_version": str(ranking["ranking_version"].iloc[0]),
        "mode": ", ".join(counts("mode", "lunguage_plus_plus")),
        "batches": list(release.batches),
        "batches_not_included": list(release.missing_batches),
        "studies_superseded": studies.superseded,
        "reports": reports,
        "findings": rows["rows_in"],
        "tentative_pairs": p_sources.total(),
        "matches": int(ranking["n_matches"].sum()) // 2,
        "phrases_ranked": len(ranking),
        "p": distribution(pd.Series(p[fitted["own"].astype(bool)])),
        "p_source": dict(p_sources),
        "expanded": reasons["matched", False],
        "expanded_generated": reasons["matched", True],
        "match_reasons": {reason: n for (reason, generated), n in reasons.items() if not generated},
        "conflicts": dict(sorted((f"{kind} ({source})", n) for (kind, source), n in conflicts.items())),
        "rows": rows,
        "studies_set_aside": dict(counted(studies, aside)),
        "studies_balanced": balanced,
        "studies_accounted": accounted,
        "rows_out": sources.total(),
    }
    encoders = list(counts("encoder", "lunguage_plus_plus"))
    heights = np.histogram(p, bins=P_EDGES)[0].astype(np.int64)
    return Totals(conflicts, encoders, p_sources.total(), placed, heights, summary)


def distribution(values: pd.Series) -> dict[str, float | int]:
    """Count, mean, standard deviation (population), minimum, quartiles and maximum."""
    if values.empty:
        return {"count": 0}
    found = {"mean": values.mean(), "sd": values.std(ddof=0)}
    ends_and_quartiles = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0])
    found |= dict(zip(("min", "q1", "median", "q3", "max"), ends_and_quartiles, strict=True))
    return {"count": len(values), **{name: round(float(value), 6) for name, value in found.items()}}
