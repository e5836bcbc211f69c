"""Sources of the report and the tables of a release: counts of what came in, was judged, generated and
resolved; analyses and origin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.experts import FEWEST, OCCUPATION
from lunguage_assets.explicit.fit.probability import Anchor
from lunguage_assets.implicit.pathways.pathways import PathwayDictionary
from lunguage_assets.pictures.plots import P_EDGES
from lunguage_assets.release.bundle.provenance import Origin, language_models
from lunguage_assets.release.report.paper_tables import PaperTables, counted
from lunguage_assets.release.report.scales import phrase_scale
from lunguage_assets.tables import ACCOUNTING, TABLES
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT, PHRASE_SCALE

if TYPE_CHECKING:
    from lunguage_assets.release.bundle.bundle import Release

ANALYSES = {
    name: TABLES[name]
    for name in (
        *("judge_agreement", "ranking_correlations", "ranking_robustness", "fit_validation"),
        *("expert_agreement", "pathway_audit"),
    )
}
"""What `lunguage analyse` makes; a release shows those that are there."""


_ACCOUNTS = tuple(column.name for column in ACCOUNTING.columns if column.type == "int")


@dataclass(frozen=True)
class Totals:
    """Numbers of the whole: conflicts by type and source, encoders that the rows name,
    tentative findings, those with a place, bars of p between `P_EDGES`; and `summary`, ready for JSON.
    """

    conflicts: Counter[tuple[str, str]]
    encoders: list[str]
    tentative: int
    placed: int
    p_heights: NDArray[np.int64]
    summary: dict[str, Any]


@dataclass(frozen=True, repr=False)
class ReportContext:
    """Everything that the report and the tables of counts are made from.

    `counted` are the paper's tables; `points` the fitted findings that are drawn one by one; `examples` how
    often each phrase was extracted; `analyses` those of `ANALYSES` that belong to this ranking.
    """

    ranker: str
    totals: Totals
    counted: PaperTables
    points: pd.DataFrame
    ranking: pd.DataFrame
    examples: pd.Series
    analyses: Mapping[str, pd.DataFrame]
    stale_analyses: bool
    origin: Origin
    provenance: Mapping[str, Any]

    @property
    def summary(self) -> dict[str, Any]:
        return self.totals.summary

    @property
    def dictionary(self) -> PathwayDictionary:
        return self.origin.dictionary

    @cached_property
    def anchors(self) -> tuple[Anchor, ...]:
        return self.origin.anchors.of(set(self.ranking["phrase"]))

    @cached_property
    def scale(self) -> pd.DataFrame:
        """The `PHRASE_SCALE` frame of this ranking; empty where the anchors give no line on it."""
        try:
            return phrase_scale(self.ranking, self.origin.anchors)
        except MethodError:
            return PHRASE_SCALE.frame()

    @property
    def part(self) -> str:
        """Where counts of reports may stand: in the open part of invented reports only."""
        return "open" if self.origin.is_synthetic else "restricted"

    @property
    def language_models(self) -> list[str]:
        """Those of the judges that are language models."""
        return language_models(self.origin.configuration, list(self.provenance["judges"]))

    @property
    def has_own_ruler(self) -> bool:
        return bool((self.ranking["ruler"] == "own").any())


def shown_analyses(
    analyses: Mapping[str, pd.DataFrame], ranking: pd.DataFrame
) -> tuple[dict[str, pd.DataFrame], bool]:
    """The analyses that are shown, and whether they were left out because they belong to another
    ranking.

    All are made together, so those that name no ranking are of the one that the others name. Of experts only
    averages and coefficients of groups are shown, no single person's.
    """
    named = [frame["ranking_version"] for frame in analyses.values() if "ranking_version" in frame.columns]
    if set().union(*named) - set(ranking["ranking_version"]):
        return {}, True
    shown = dict(analyses)
    if (experts := shown.get(EXPERT_AGREEMENT.name)) is not None:
        shown[EXPERT_AGREEMENT.name] = experts[
            (experts["first"] == "")
            & (experts["measure"] != "with expert")
            & (~experts["group"].str.startswith(OCCUPATION) | (experts["experts"] >= FEWEST))
        ].reset_index(drop=True)
    return shown, False


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
