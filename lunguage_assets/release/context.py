"""Counts what the report and the tables of a release are made from.

Numbers of a release (`summary.json`), which analyses belong to its ranking, and its
origin, collected once. Where a release comes from is in `provenance.py`, the paper's
own tables are counted in `paper_tables.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.corpus.texts.receiving import OTHER_LANGUAGE
from lunguage_assets.errors import InvalidTable, MethodError
from lunguage_assets.explicit.analysis.experts import (
    numbered_experts,
)
from lunguage_assets.pictures.scale_plots import P_EDGES, POINTS
from lunguage_assets.release.newest import NewestStudies, named_queries
from lunguage_assets.release.paper_tables import label_table, paper_tables
from lunguage_assets.release.phrase_scale import phrase_scale
from lunguage_assets.release.provenance import (
    Origin,
    language_models,
    provenance,
)
from lunguage_assets.tables import ACCOUNTING, TABLES
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT
from lunguage_assets.tables.released import PHRASE_SCALE

ANALYSES = {
    name: table for name, table in TABLES.items() if table.released == "analysis"
}
"""What `lunguage analyse` makes; a release shows those that are there."""

_ACCOUNTS = [column.name for column in ACCOUNTING.columns if column.type == "int"]
_COUNTS_OF_ROWS = (
    "p_source",
    "expanded",
    "expanded_generated",
    "match_reasons",
    "conflicts",
    "rows",
    "studies_set_aside",
    "rows_out",
)


@dataclass(frozen=True)
class Release:
    """A ranker's ranking, and of each study the newest delivery over its batches.

    Attributes:
        ranker: whose probabilities these are.
        ranking: its REFERENCE_RANKING.
        studies: the newest deliveries.
        missing_batches: registered ones that have no result of this ranker.
        processes: as in `parallel.map_studies`.
    """

    ranker: str
    ranking: pd.DataFrame
    studies: NewestStudies
    missing_batches: tuple[str, ...] = ()
    processes: int | None = 1

    @property
    def batches(self) -> tuple[str, ...]:
        return self.studies.batches

    def require_sound(self) -> None:
        """Refuse batches that do not belong together; their rows passed their rules.

        Raises:
            MethodError: they were made with another ranking, or in different modes.
            InvalidTable: a study does not have the rows that were counted.
        """
        stored_rankings = self.studies.query(
            "SELECT DISTINCT ranking_version, mode FROM lunguage_plus_plus"
        )
        expected = str(self.ranking["ranking_version"].iloc[0])
        is_of_another = any(version != expected for version, _ in stored_rankings)
        # p of two scales side by side would look like a difference between patients.
        if len(stored_rankings) > 1 or is_of_another:
            rankings = ", ".join(
                f"{version} in mode {mode}" for version, mode in sorted(stored_rankings)
            )
            raise MethodError(
                f"batches of ranker {self.ranker!r}: found rankings {rankings}; "
                f"expected {expected} in one mode. Run `lunguage run` again: it makes "
                "them alike."
            )
        miscounted = self.studies.query(
            named_queries("release_files.sql")["miscounted"]
        )
        if miscounted:
            names = [study for (study,) in miscounted]
            raise InvalidTable(
                "lunguage_plus_plus: not the rows that accounting counted, for "
                f"instance of {names}. Launch `expand` for their batches."
            )


@dataclass(frozen=True, repr=False)
class ReportContext:
    """Everything that the report and the tables of counts are made from.

    Attributes:
        ranker: whose release it is.
        origin: what it was made with.
        provenance: the same, ready for JSON.
        ranking: REFERENCE_RANKING.
        examples: how often each hedging phrase was extracted, by phrase.
        analyses: those that belong to this ranking, by name.
        stale_analyses: whether analyses were left out, as they belong to another one.
        experts: what single experts agree on, under numbers (`numbered_experts`).
        tables: the labels and the paper's tables, by name.
        points: the fitted findings that are drawn one by one.
        p_heights: bars of p between `P_EDGES`.
        summary: the numbers, ready for JSON.
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
        """The `PHRASE_SCALE` frame of this ranking.

        Empty where the anchors give no line on it.
        """
        try:
            return phrase_scale(self.ranking, self.origin.anchors.anchors)
        except MethodError:
            return PHRASE_SCALE.frame()

    @property
    def part(self) -> str:
        """Where counts of reports may stand.

        In the open part of invented reports only.
        """
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
    """Count a release; the same release gives the same numbers.

    Args:
        release: the ranking and the newest deliveries.
        origin: everything else that the release was made with.
        analyses: those of `ANALYSES` that there are.
        examples: how often each hedging phrase was extracted, by phrase.
        labels: the release's file of LABELS.
    """
    studies = release.studies
    # In one order, so that sums over p are equal to the last bit.
    fitted = studies.frame(
        "SELECT p, p_source = 'fitted' AS is_own FROM fitted_probabilities ORDER BY p"
    )
    heights, _ = np.histogram(fitted["p"].astype(np.float64), bins=P_EDGES)
    own_p = fitted.loc[fitted["is_own"].astype(bool), "p"]
    counted = _counted(studies)
    summary = _summary(release, counted, own_p)
    analyses_of_ranking, stale = shown_analyses(analyses, release.ranking)
    return ReportContext(
        ranker=release.ranker,
        origin=origin,
        provenance=provenance(
            origin,
            release.ranker,
            release.ranking,
            release.batches,
            counted["encoders"],
        ),
        ranking=release.ranking,
        examples=examples,
        analyses=analyses_of_ranking,
        stale_analyses=stale,
        experts=_single_experts(analyses, analyses_of_ranking),
        tables={
            "labels": label_table(studies, labels),
            **paper_tables(studies, origin.dictionary.statistics()),
        },
        points=_points(studies, summary["placed"]),
        p_heights=heights.astype(np.int64),
        summary=summary,
    )


def _counted(studies: NewestStudies) -> dict[str, Any]:
    """Count what `summary.json` says of the rows, and their encoders."""
    sums = ", ".join(
        f"{name} := coalesce(sum({name}), 0)::BIGINT" for name in _ACCOUNTS
    )
    query = named_queries("release_files.sql")["summary"]
    (counted,) = studies.records(
        query.format(accounts=f"struct_pack({sums})", other_language=OTHER_LANGUAGE)
    )
    # A map of no rows is null.
    return {name: {} if value is None else value for name, value in counted.items()}


def _summary(
    release: Release, counted: Mapping[str, Any], own_p: pd.Series
) -> dict[str, Any]:
    """Put together what `summary.json` says, in its order.

    Args:
        release: the ranking and the newest deliveries.
        counted: the counts of its rows.
        own_p: p of the findings that were compared themselves.
    """
    ranking = release.ranking.iloc[0]
    versions = ("ruler", "ruler_reason", "ranking_version")
    summary = {
        "ranker": release.ranker,
        "judges": list(ranking["judges"]),
        **{name: str(ranking[name]) for name in versions},
        "mode": counted["mode"],
        "batches": list(release.batches),
        "batches_not_included": list(release.missing_batches),
        "reports": counted["reports"],
        "findings": counted["rows"]["rows_in"],
        "tentative_pairs": counted["tentative_pairs"],
        "placed": counted["placed"],
        # A match stands in the rows of both phrases.
        "matches": int(release.ranking["n_matches"].sum()) // 2,
        "phrases_ranked": len(release.ranking),
        "p": _distribution(own_p),
        **{name: counted[name] for name in _COUNTS_OF_ROWS},
    }
    if counted["not_in_english"]:
        summary["not_in_english"] = counted["not_in_english"]
    return summary


class ShownAnalyses(NamedTuple):
    """Analyses that a release shows.

    Attributes:
        frames: by name.
        are_stale: whether all were left out, as they belong to another ranking.
    """

    frames: dict[str, pd.DataFrame]
    are_stale: bool


def shown_analyses(
    analyses: Mapping[str, pd.DataFrame], ranking: pd.DataFrame
) -> ShownAnalyses:
    """Choose the analyses that a release shows; of experts averages, no named person.

    Args:
        analyses: those of `ANALYSES` that there are.
        ranking: REFERENCE_RANKING of the release.
    """
    version = set(ranking["ranking_version"])
    frames = dict(analyses)
    # They were made together: where one is of another ranking, all are.
    versions: set[str] = set()
    for frame in frames.values():
        if "ranking_version" in frame.columns:
            versions |= set(frame["ranking_version"])
    if versions - version:
        return ShownAnalyses({}, are_stale=True)
    experts = frames.get(EXPERT_AGREEMENT.name)
    if experts is not None:
        is_average = (experts["first"] == "") & (experts["measure"] != "with expert")
        averages = experts[is_average].reset_index(drop=True)
        frames[EXPERT_AGREEMENT.name] = averages
    return ShownAnalyses(frames, are_stale=False)


def _single_experts(
    analyses: Mapping[str, pd.DataFrame], of_ranking: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Take the single experts of an analysis that is shown, under numbers."""
    name = EXPERT_AGREEMENT.name
    # Those that are shown have lost their single experts: the names come from before.
    if name not in of_ranking:
        return numbered_experts(EXPERT_AGREEMENT.frame())
    return numbered_experts(analyses[name])


def _points(studies: NewestStudies, placed: int) -> pd.DataFrame:
    """Take the findings that are drawn one by one: of many evenly spread ones."""
    step = max(1, math.ceil(placed / POINTS))
    return studies.frame(
        "SELECT mu, p, p_low, p_high FROM fitted_probabilities WHERE mu IS NOT NULL "
        f"QUALIFY (row_number() OVER (ORDER BY mu, finding_id) - 1) % {step} = 0 "
        "ORDER BY mu, finding_id"
    )


def _distribution(values: pd.Series) -> dict[str, float | int]:
    """Find count, mean, standard deviation (population), minimum and maximum."""
    if values.empty:
        return {"count": 0}
    measures = {
        "mean": values.mean(),
        "sd": values.std(ddof=0),
        "min": values.min(),
        "max": values.max(),
    }
    rounded = {name: round(float(value), 6) for name, value in measures.items()}
    return {"count": len(values), **rounded}
