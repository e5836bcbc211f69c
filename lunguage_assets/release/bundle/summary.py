"""The numbers of a release on one page: what came in, what was judged, what was generated, what was
resolved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from lunguage_assets.release.bundle.bundle import Release


def summarise(release: Release) -> dict[str, Any]:
    """Counts and distributions of a release, ready for JSON; the same release gives the same bytes."""
    tables, ranking = release.tables, release.ranking
    accounts, rows, fitted = (
        tables["accounting"],
        tables["lunguage_plus_plus"],
        tables["fitted_probabilities"],
    )
    conflicts, matches = tables["conflicts"], tables["pathway_matches"]
    totals = {
        name: int(accounts[name].sum())
        for name in accounts.columns
        if name not in ("study_id", "balanced", "report_batch")
    }
    crossed = _counts(conflicts["conflict_type"] + " (" + conflicts["source"] + ")")
    return {
        "ranker": release.ranker,
        "judges": list(ranking["judges"].iloc[0]),
        "ruler": str(ranking["ruler"].iloc[0]),
        "ranking_version": str(ranking["ranking_version"].iloc[0]),
        "mode": str(rows["mode"].iloc[0]) if len(rows) else "",
        "fit": str(fitted["fit"].iloc[0]) if len(fitted) else "",
        "batches": list(release.batches),
        "batches_not_included": list(release.missing_batches),
        "studies_superseded": release.superseded,
        "reports": len(tables["reports"]),
        "findings": totals["rows_in"],
        "tentative_pairs": len(fitted),
        "matches": int(ranking["n_matches"].sum()) // 2,
        "phrases_ranked": len(ranking),
        "p": distribution(fitted.loc[fitted["p_source"] == "fitted", "p"]),
        "p_source": _counts(fitted["p_source"]),
        "expanded": int(((matches["reason"] == "matched") & ~matches["generated"]).sum()),
        "expanded_generated": int(((matches["reason"] == "matched") & matches["generated"]).sum()),
        "match_reasons": _counts(matches.loc[~matches["generated"], "reason"]),
        "conflicts": crossed,
        "rows": totals,
        "studies_balanced": int(accounts["balanced"].sum()),
        "studies_accounted": len(accounts),
        "rows_out": len(rows),
    }


def distribution(values: pd.Series) -> dict[str, float | int]:
    """Count, mean, standard deviation (population), minimum, quartiles and maximum."""
    if values.empty:
        return {"count": 0}
    quartiles = values.quantile([0.25, 0.5, 0.75])
    return {
        "count": len(values),
        "mean": round(float(values.mean()), 6),
        "sd": round(float(values.std(ddof=0)), 6),
        "min": round(float(values.min()), 6),
        "q1": round(float(quartiles.iloc[0]), 6),
        "median": round(float(quartiles.iloc[1]), 6),
        "q3": round(float(quartiles.iloc[2]), 6),
        "max": round(float(values.max()), 6),
    }


def _counts(values: pd.Series) -> dict[str, int]:
    return {str(key): int(count) for key, count in sorted(values.value_counts().items())}
