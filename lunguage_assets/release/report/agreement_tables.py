"""How far judges and experts agree, as the report shows it, with the published values beside (explicit.md
sections 3 and 4).
"""

from __future__ import annotations

import pandas as pd

from lunguage_assets.explicit.analysis.experts.expert_views import by_group
from lunguage_assets.pictures.heat_maps import expert_heat_map
from lunguage_assets.release.bundle.material import Material
from lunguage_assets.release.report.published_tables import PublishedAgreement, load_published_tables
from lunguage_assets.release.report.report_figures import Figure, Missing
from lunguage_assets.release.report.report_tables import ReportTable, report_table

_SHOWN = ["measure", "coding", "first", "second", "value", "published", "low", "high", "n", "left_out"]
_PUBLISHED = "Published: of the paper's judges and experts, to compare with."
_NO_SURVEY = (
    "No survey of experts was imported: `lunguage survey make`, then `lunguage survey import` and `lunguage "
    "analyse`."
)


def agreement_items(material: Material) -> list[Figure | Missing | ReportTable]:
    """Tables and heat map of the agreement of judges and of experts."""
    published = load_published_tables().agreement
    judges, experts = material.analyses.get("judge_agreement"), material.analyses.get("expert_agreement")
    items: list[Figure | Missing | ReportTable] = []
    if judges is not None:
        caption = (
            "Every measure with its 95% interval where it has one; n: cases behind the value. Coding: "
            f"whether the category is the chosen phrase or its position. {_PUBLISHED}"
        )
        frame = judges.assign(published=_beside(judges, _of_judges(published)))
        items.append(report_table("Agreement in numbers", caption, "judge_agreement", frame[_SHOWN]))
    if experts is None or experts.empty:
        return [*items, Missing("Agreement with experts", _NO_SURVEY)]
    caption = (
        "Averages and coefficients of groups of experts, occupations of two and more; single experts are not "
        f"shown. n: cases behind the value. {_PUBLISHED}"
    )
    frame = experts.assign(published=_beside(experts, _of_experts(published, material.ranker)))
    shown = ["group", "experts", *_SHOWN]
    items.append(report_table("Agreement with experts", caption, "expert_agreement", frame[shown]))
    items.append(
        Figure(
            "experts.png",
            "Experts by occupation",
            "Heat map: groups of experts against the ranking and each judge",
            "Mean share of pairs in which the experts of a group choose the phrase that the ranking, or a "
            "judge's majority, chooses (0.5 is chance). n: experts, in brackets. Published, of six experts: "
            f"with the ranking {published.experts_with_ranking:.2f}, with single judges "
            f"{min(published.experts_with_judge.values()):.2f} to "
            f"{max(published.experts_with_judge.values()):.2f}.",
            "expert_agreement",
            expert_heat_map(by_group(experts)),
        )
    )
    return items


_Named = dict[tuple[str, str, str, str], float]


def _of_judges(published: PublishedAgreement) -> _Named:
    """By measure, coding and the two judges."""
    named = {
        ("fleiss kappa", "phrase", "all judges", ""): published.fleiss_kappa_phrase,
        ("krippendorff alpha", "position", "all judges", ""): published.krippendorff_alpha_position,
    }
    for one, other, value in published.pairs:
        first, second = sorted((one, other))
        named["pairwise agreement", "none", first, second] = value
    return named


def _of_experts(published: PublishedAgreement, ranker: str) -> _Named:
    """By measure, coding and whom they are compared with; for the group of all."""
    named = {
        ("fleiss kappa", "phrase", "", ""): published.experts_fleiss_kappa_phrase,
        ("fleiss kappa", "position", "", ""): published.experts_fleiss_kappa_position,
    }
    if ranker == "panel":
        named["with ranking", "none", "", "panel"] = published.experts_with_ranking
    for judge, value in published.experts_with_judge.items():
        named["with judge", "none", "", judge] = value
    return named


def _beside(frame: pd.DataFrame, named: _Named) -> pd.Series:
    """The published value of every row; NaN where none is printed, as for any group of experts but all."""
    keys = frame[["measure", "coding", "first", "second"]].itertuples(index=False, name=None)
    values = pd.Series(map(named.get, keys), index=frame.index, dtype="float64")
    return values.where(frame["group"] == "all") if "group" in frame.columns else values
