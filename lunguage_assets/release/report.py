"""The report of a release: the paper's tables and figures in one page that opens without a network. Its words
are in `resources/release/report.html.j2`.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping

import pandas as pd

from lunguage_assets.assertion.hedges import published_ranking
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.probability import calibrate
from lunguage_assets.implicit.pathways.pathways import pathway_tree
from lunguage_assets.packaged_data import page_template
from lunguage_assets.pictures.plots import (
    agreement_heat_map,
    calibration_plot,
    correlation_heat_map,
    distilled_errors,
    expert_heat_map,
    phrase_scale_plot,
    probability_bars,
    ranking_plot,
    validation_curves,
    validation_spread,
    vocabulary_histogram,
)
from lunguage_assets.release.context import ReportContext
from lunguage_assets.release.page_tables import page_table
from lunguage_assets.release.paper_tables import (
    printed_agreement,
    printed_agreement_of_groups,
    published_experts,
    published_values,
)
from lunguage_assets.release.phrase_scales import (
    people_distance,
    published_scales,
    rated_phrases,
    widest_gap,
)
from lunguage_assets.tables import PATHWAY_AUDIT
from lunguage_assets.tables.analyses import DISTILLED_EVALUATION
from lunguage_assets.tables.released import LABEL_TABLE, PAPER_TABLES

_OTHERS = {one.name: one for one in (PATHWAY_AUDIT, DISTILLED_EVALUATION)} | {
    "labels": LABEL_TABLE
}
_AGREEMENT = [
    "measure",
    "coding",
    "first",
    "second",
    "value",
    "published",
    "low",
    "high",
    "n",
]


def report_figures(context: ReportContext) -> dict[str, bytes]:
    """PNG by name. What this release cannot show is not among them, and the page says why."""
    ranking, settings = context.ranking, context.origin.settings.explicit
    drawn = {
        "ranking": ranking_plot(
            ranking, _published_mu() if context.has_own_ruler else None
        ),
        "probabilities": probability_bars(context.p_heights),
    }
    counts = context.examples[context.examples > 0]
    if len(counts):
        names = {"phrase": counts.index, "n_examples": counts.to_numpy()}
        retained = counts.index.isin(ranking["phrase"])
        drawn["vocabulary"] = vocabulary_histogram(
            pd.DataFrame(names).assign(retained=retained)
        )
    try:
        anchors = context.origin.anchors.of(set(ranking["phrase"]))
        drawn["calibration"] = calibration_plot(
            context.points, calibrate(ranking, anchors), anchors
        )
    except MethodError:
        pass  # the anchors give no line
    means_by_scale = {
        scale.name: scale.means_by_phrase
        for scale in published_scales()
        if scale.means_by_phrase
    }
    rated = rated_phrases(context.scale)
    if len(rated):
        drawn["scale"] = phrase_scale_plot(rated, means_by_scale)
    limits = settings.opponent_limit, settings.panel_steps
    of_analyses: tuple[tuple[str, str, Callable[[pd.DataFrame], bytes]], ...] = (
        ("agreement", "judge_agreement", agreement_heat_map),
        ("correlations", "ranking_correlations", correlation_heat_map),
        (
            "validation_curves",
            "fit_validation",
            lambda frame: validation_curves(frame, *limits),
        ),
        ("distilled", "distilled_evaluation", distilled_errors),
        (
            "validation_spread",
            "fit_validation",
            lambda frame: validation_spread(frame, *limits),
        ),
    )
    if len(context.experts):
        drawn["experts"] = expert_heat_map(context.experts, _shares_of_the_paper())
    for name, analysis, draw in of_analyses:
        frame = context.analyses.get(analysis)
        if frame is not None and len(frame):
            drawn[name] = draw(frame)
    return drawn


def report_page(context: ReportContext, figures: Mapping[str, bytes]) -> str:
    """The page. Whatever it shows is escaped; it loads nothing, and no browser may let it load anything."""
    return page_template("release", "report.html.j2").render(
        context=context,
        settings=context.origin.settings.explicit,
        figures=figures,
        tables={
            name: page_table(name, frame) for name, frame in _tables(context).items()
        },
        about={
            name: table.description for name, table in (PAPER_TABLES | _OTHERS).items()
        },
        published=published_values(),
        scales=published_scales(),
        rated=rated_phrases(context.scale),
        distance=people_distance(context.scale),
        gap=widest_gap(context.scale),
        pathway_tree=pathway_tree,
        size=lambda png: struct.unpack(">II", png[16:24]),  # a PNG's header
        inline=lambda png: (
            f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
        ),
    )


def _tables(context: ReportContext) -> dict[str, pd.DataFrame]:
    """The tables that this release has, by name."""
    ranking = context.ranking.sort_values("rank", kind="stable")
    published_mu = ranking["phrase"].map(_published_mu()).astype("float64")
    ranking = ranking.assign(place=ranking["rank"] + 1, published_mu=published_mu)
    measured = ["mu_low", "mu_high", "win_rate", "published_mu"]
    ranking = ranking[
        ["phrase", "place", "mu", *(measured if context.has_own_ruler else [])]
    ]
    shown = {
        **context.tables,
        "ranking": ranking,
        "published_experts": _experts_of_the_paper(),
    }
    if len(
        context.scale
    ):  # one table of phrases; published ones that are not ranked come last
        scale = context.scale.drop(columns=["number", "mu", "is_anchor"])
        shown["ranking"] = ranking.merge(scale, on="phrase", how="outer").sort_values(
            "place"
        )
        anchors = set(
            context.scale.loc[context.scale["is_anchor"].astype(bool), "phrase"]
        )
        phrases = shown["ranking"]["phrase"]
        shown["ranking"]["phrase"] = phrases.where(
            ~phrases.isin(anchors), phrases + " (anchor)"
        )
    made = context.analyses
    if (judges := made.get("judge_agreement")) is not None:
        printed = printed_agreement(judges, "judges")
        shown["judge_agreement"] = judges.assign(published=printed)[_AGREEMENT]
    if (experts := made.get("expert_agreement")) is not None and len(experts):
        printed = printed_agreement_of_groups(experts)
        shown["expert_agreement"] = experts.assign(published=printed)[
            ["group", "experts", *_AGREEMENT]
        ]
    if (fewer := made.get("ranking_robustness")) is not None and len(fewer):
        changes = ["mean_abs_mu", "largest_abs_mu", "mean_abs_rank", "spearman"]
        shown["robustness"] = fewer.groupby("comparisons")[changes].mean().reset_index()
    if (distilled := made.get("distilled_evaluation")) is not None:
        shown["distilled"] = distilled.drop(columns=["ranking_version", "is_used"])
    if (audit := made.get("pathway_audit")) is not None:
        shown["pathway_audit"] = audit[audit["share"].notna()].drop(
            columns=["edge", "both", "place"]
        )
    return shown


def _experts_of_the_paper() -> pd.DataFrame:
    """The paper's Table 1, its averages last."""
    experts = published_experts()
    printed = published_values()["agreement"]["experts"]
    average = {
        second: value
        for measure, _, _, second, value in printed
        if measure.startswith("with ")
    }
    lines = pd.concat(
        [experts, pd.DataFrame([{"occupation": "average", **average}])],
        ignore_index=True,
    )
    return lines.fillna({"role": "", "experience": ""}).rename(
        columns={"panel": "ranking"}
    )


def _shares_of_the_paper() -> pd.DataFrame:
    """The shares of the paper's Table 1 by occupation and reference."""
    experts = published_experts()
    shares = experts.drop(columns=["role", "experience"]).set_index("occupation")
    return shares.rename(columns={"panel": "ranking"})


def _published_mu() -> dict[str, float]:
    """mu of every phrase of the published ranking."""
    return {entry.phrase: entry.mu for entry in published_ranking()}
