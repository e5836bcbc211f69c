"""Sources of the report and the tables of a release: counts, analyses and origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.corpus.texts.receiving import OTHER_LANGUAGE
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.experts import (
    MIN_EXPERTS_OF_GROUP,
    OCCUPATION_PREFIX,
    numbered_experts,
)
from lunguage_assets.pictures.plots import P_EDGES, POINTS
from lunguage_assets.release.newest import NewestStudies
from lunguage_assets.release.paper_tables import label_table, paper_tables
from lunguage_assets.release.phrase_scales import phrase_scale
from lunguage_assets.release.provenance import (
    Origin,
    language_models,
    provenance,
)
from lunguage_assets.tables import ACCOUNTING, TABLES
from lunguage_assets.tables.analyses import DISTILLED_EVALUATION, EXPERT_AGREEMENT
from lunguage_assets.tables.released import PHRASE_SCALE

ANALYSES = {
    name: table for name, table in TABLES.items() if table.released == "analysis"
}
"""What `lunguage analyse` and `lunguage distill` make; a release shows those that are there."""

_ACCOUNTS = [column.name for column in ACCOUNTING.columns if column.type == "int"]


@dataclass(frozen=True)
class Release:
    """A ranker's ranking, and of each study the newest delivery over its batches; `processes` as in
    `parallel.map_studies`; `distilled`: the model that placed findings of some batches, and of which.
    """

    ranker: str
    ranking: pd.DataFrame
    studies: NewestStudies
    missing_batches: tuple[str, ...] = ()
    processes: int | None = 1
    distilled: Mapping[str, Any] | None = None

    @property
    def batches(self) -> tuple[str, ...]:
        return self.studies.batches

    def require_one_ranking(self) -> None:
        """Raise `MethodError` where batches were made with another ranking, or in different modes."""
        found = self.studies.query(
            "SELECT DISTINCT ranking_version, mode FROM lunguage_plus_plus"
        )
        now = str(self.ranking["ranking_version"].iloc[0])
        if len(found) > 1 or any(version != now for version, _ in found):
            made = ", ".join(
                f"{version} in mode {mode}" for version, mode in sorted(found)
            )
            raise MethodError(
                f"batches of ranker {self.ranker!r}: found rankings {made}; expected {now} in one mode. Run "
                "`lunguage run` again: it makes them alike."
            )


@dataclass(frozen=True, repr=False)
class ReportContext:
    """Everything that the report and the tables of counts are made from.

    `examples` is how often each phrase was extracted; `experts` what single experts agree on, under numbers
    (`numbered_experts`); `tables` the labels and the paper's; `points` the fitted findings that are drawn one
    by one; `p_heights` bars of p between `P_EDGES`; `summary` the numbers, ready for JSON.
    """

    ranker: str
    origin: Origin
    provenance: Mapping[str, Any]
    ranking: pd.DataFrame
    examples: pd.Series
    analyses: Mapping[str, pd.DataFrame]
    stale_analyses: bool
    experts: pd.DataFrame
    tables: Mapping[str, pd.DataFrame]
    points: pd.DataFrame
    p_heights: NDArray[np.int64]
    summary: Mapping[str, Any]

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
        return language_models(
            self.origin.configuration, list(self.provenance["judges"])
        )

    @property
    def has_own_ruler(self) -> bool:
        return bool((self.ranking["ruler"] == "own").any())


def context_of(
    release: Release,
    origin: Origin,
    analyses: Mapping[str, pd.DataFrame],
    examples: pd.Series,
    labels: Path,
) -> ReportContext:
    """Count a release; the same release gives the same numbers. `labels` is its file of them, LABELS."""
    studies, ranking = release.studies, release.ranking

    def counts(columns: str, table: str) -> Counter[Any]:
        found = studies.query(
            f"SELECT {columns}, count(*) FROM {table} GROUP BY ALL ORDER BY ALL"
        )
        return Counter(
            {tuple(keys) if len(keys) > 1 else keys[0]: count for *keys, count in found}
        )

    conflicts = counts("conflict_type, source", "conflicts")
    p_sources = counts("p_source", "fitted_probabilities")
    reasons = counts("reason, generated", "pathway_matches")
    aside = "SELECT rule, count(DISTINCT study_id) FROM set_aside GROUP BY rule ORDER BY rule"
    sums = ", ".join(f"coalesce(sum({name}), 0)::BIGINT" for name in _ACCOUNTS)
    (accounts,) = studies.query(f"SELECT {sums} FROM accounting")
    ((placed,),) = studies.query("SELECT count(mu) FROM fitted_probabilities")
    ((reports,),) = studies.query("SELECT count(*) FROM reports")
    fitted = studies.frame(
        "SELECT p, p_source = 'fitted' AS own FROM fitted_probabilities ORDER BY p"
    )
    rows, first = dict(zip(_ACCOUNTS, accounts, strict=True)), ranking.iloc[0]
    summary = {
        "ranker": release.ranker,
        "judges": list(first["judges"]),
        **{
            name: str(first[name])
            for name in ("ruler", "ruler_reason", "ranking_version")
        },
        "mode": ", ".join(counts("mode", "lunguage_plus_plus")),
        "batches": list(release.batches),
        "batches_not_included": list(release.missing_batches),
        "reports": reports,
        "findings": rows["rows_in"],
        "tentative_pairs": p_sources.total(),
        "placed": placed,
        "matches": int(ranking["n_matches"].sum()) // 2,
        "phrases_ranked": len(ranking),
        "p": _distribution(fitted.loc[fitted["own"].astype(bool), "p"]),
        "p_source": dict(p_sources),
        "expanded": reasons["matched", False],
        "expanded_generated": reasons["matched", True],
        "match_reasons": {
            reason: n for (reason, generated), n in reasons.items() if not generated
        },
        "conflicts": dict(
            sorted((f"{kind} ({source})", n) for (kind, source), n in conflicts.items())
        ),
        "rows": rows,
        "studies_set_aside": dict(studies.query(aside)),
        "rows_out": counts("source", "lunguage_plus_plus").total(),
    }
    if scored := counts("stop", "fitted_probabilities")["scored"]:
        summary["scored"] = scored  # by a distilled model
    foreign = counts("reason", "rejected")[OTHER_LANGUAGE]
    if foreign:
        summary["not_in_english"] = foreign
    shown, stale = shown_analyses(analyses, ranking)
    encoders = list(counts("encoder", "lunguage_plus_plus"))
    return ReportContext(
        ranker=release.ranker,
        origin=origin,
        provenance=provenance(
            origin,
            release.ranker,
            ranking,
            release.batches,
            encoders,
            release.distilled,
        ),
        ranking=ranking,
        examples=examples,
        analyses=shown,
        stale_analyses=stale,
        experts=_single_experts(analyses, shown),
        tables={
            "labels": label_table(studies, labels),
            **paper_tables(studies, origin.dictionary.statistics()),
        },
        points=_points(studies, placed),
        p_heights=np.histogram(fitted["p"].astype(np.float64), bins=P_EDGES)[0].astype(
            np.int64
        ),
        summary=summary,
    )


def shown_analyses(
    analyses: Mapping[str, pd.DataFrame], ranking: pd.DataFrame
) -> tuple[dict[str, pd.DataFrame], bool]:
    """The analyses that are shown (of experts only groups, no named person), and whether all of them, which
    are made together, were left out because they belong to another ranking.
    """
    now, shown = set(ranking["ranking_version"]), dict(analyses)
    distilled = shown.get(DISTILLED_EVALUATION.name)
    if (
        distilled is not None and set(distilled["ranking_version"]) - now
    ):  # it is made apart from the others
        del shown[DISTILLED_EVALUATION.name]
    named = [
        frame["ranking_version"]
        for frame in shown.values()
        if "ranking_version" in frame.columns
    ]
    if set().union(*named) - now:
        return {}, True
    if (experts := shown.get(EXPERT_AGREEMENT.name)) is not None:
        shown[EXPERT_AGREEMENT.name] = experts[
            (experts["first"] == "")
            & (experts["measure"] != "with expert")
            & (
                ~experts["group"].str.startswith(OCCUPATION_PREFIX)
                | (experts["experts"] >= MIN_EXPERTS_OF_GROUP)
            )
        ].reset_index(drop=True)
    return shown, False


def _single_experts(
    analyses: Mapping[str, pd.DataFrame], shown: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """The single experts of an analysis that is shown."""
    name = EXPERT_AGREEMENT.name
    return numbered_experts(
        analyses[name] if name in shown else EXPERT_AGREEMENT.frame()
    )


def _points(studies: NewestStudies, placed: int) -> pd.DataFrame:
    """FITTED_PROBABILITIES rows that are drawn one by one: of many evenly spread ones."""
    step = max(1, -(-placed // POINTS))
    return studies.frame(
        "SELECT mu, p, p_low, p_high FROM fitted_probabilities WHERE mu IS NOT NULL "
        f"QUALIFY (row_number() OVER (ORDER BY mu, finding_id) - 1) % {step} = 0 ORDER BY mu, finding_id"
    )


def _distribution(values: pd.Series) -> dict[str, float | int]:
    """Count, mean, standard deviation (population), minimum and maximum."""
    if values.empty:
        return {"count": 0}
    found = {
        "mean": values.mean(),
        "sd": values.std(ddof=0),
        "min": values.min(),
        "max": values.max(),
    }
    return {
        "count": len(values),
        **{name: round(float(value), 6) for name, value in found.items()},
    }
