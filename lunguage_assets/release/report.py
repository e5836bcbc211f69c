"""Makes the report of a release: the paper's tables and figures in one page.

The page opens without a network; its words are in `resources/release/report.html.j2`.
What it shows is counted in `context.py` and `paper_tables.py`, and laid out in
`page_tables.py`; how pictures are drawn is in `pictures`.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from lunguage_assets.assertion.hedges import published_ranking
from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.probability import calibrate
from lunguage_assets.implicit.pathways.pathways import pathway_tree
from lunguage_assets.packaged_data import page_template
from lunguage_assets.pictures.scale_plots import (
    calibration_plot,
    probability_bars,
    ranking_plot,
    vocabulary_histogram,
)
from lunguage_assets.pictures.validation_plots import (
    agreement_heat_map,
    correlation_heat_map,
    expert_heat_map,
    validation_curves,
    validation_spread,
)
from lunguage_assets.release.context import ReportContext
from lunguage_assets.release.page_tables import page_table
from lunguage_assets.release.published_values import (
    published_agreement,
    published_averages,
    published_experts,
    published_values,
)
from lunguage_assets.tables.released import LABEL_TABLE, PAPER_TABLES

_DESCRIBED_TABLES = {
    **PAPER_TABLES,
    "labels": LABEL_TABLE,
}
"""Tables whose description the page repeats, by the name that it uses."""
_AGREEMENT_COLUMNS = [
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
_PNG_SIZE = slice(16, 24)
"""Bytes of a PNG's header that hold width and height."""


def report_page(context: ReportContext, figures: Mapping[str, bytes]) -> str:
    """Write the page.

    Whatever it shows is escaped. It loads nothing, and no browser may let it load
    anything: the words of a corpus could be code.
    """
    page_tables = {name: page_table(frame) for name, frame in _tables(context).items()}
    descriptions = {
        name: table.description for name, table in _DESCRIBED_TABLES.items()
    }
    return page_template("release", "report.html.j2").render(
        context=context,
        settings=context.origin.settings.explicit,
        figures=figures,
        tables=page_tables,
        about=descriptions,
        published=published_values(),
        pathway_tree=pathway_tree,
        size=_png_size,
        inline=_data_url,
    )


def _png_size(png: bytes) -> tuple[Any, ...]:
    return struct.unpack(">II", png[_PNG_SIZE])


def _data_url(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def report_figures(context: ReportContext) -> dict[str, bytes]:
    """Draw the figures of a release, as PNG by name.

    What this release cannot show is not among them, and the page says why.
    """
    limit = context.origin.settings.explicit.opponent_limit
    steps = context.origin.settings.explicit.panel_steps

    def curves(validation: pd.DataFrame) -> bytes:
        return validation_curves(validation, limit, steps)

    def spread(validation: pd.DataFrame) -> bytes:
        return validation_spread(validation, limit, steps)

    figures = {
        "ranking": _ranking_figure(context),
        "probabilities": probability_bars(context.p_heights),
        "vocabulary": _vocabulary_figure(context),
        "calibration": _calibration_figure(context),
        "agreement": _analysis_figure(context, "judge_agreement", agreement_heat_map),
        "correlations": _analysis_figure(
            context, "ranking_correlations", correlation_heat_map
        ),
        "validation_curves": _analysis_figure(context, "fit_validation", curves),
        "validation_spread": _analysis_figure(context, "fit_validation", spread),
        "experts": _expert_figure(context),
    }
    return {name: png for name, png in figures.items() if png is not None}


def _ranking_figure(context: ReportContext) -> bytes:
    # The published ranking has nothing of its own to stand beside it.
    beside = _published_mu() if context.has_own_ruler else None
    return ranking_plot(context.ranking, beside)


def _vocabulary_figure(context: ReportContext) -> bytes | None:
    # Published phrases that this corpus never uses have no example in it.
    counts = context.examples[context.examples > 0]
    if counts.empty:
        return None
    vocabulary = pd.DataFrame(
        {
            "phrase": counts.index,
            "n_examples": counts.to_numpy(),
            "retained": counts.index.isin(context.ranking["phrase"]),
        }
    )
    return vocabulary_histogram(vocabulary)


def _calibration_figure(context: ReportContext) -> bytes | None:
    ranking = context.ranking
    try:
        anchors = context.origin.anchors.anchors
        line = calibrate(ranking, anchors)
    except MethodError:
        return None  # the anchors give no line on this ranking
    return calibration_plot(context.points, line, anchors)


def _analysis_figure(
    context: ReportContext, analysis: str, draw: Callable[[pd.DataFrame], bytes]
) -> bytes | None:
    """Draw an analysis where it was made and has rows."""
    frame = context.analyses.get(analysis)
    if frame is None or frame.empty:
        return None
    return draw(frame)


def _expert_figure(context: ReportContext) -> bytes | None:
    if context.experts.empty:
        return None
    # The paper's six experts, beside those of this corpus.
    shares = published_experts().drop(columns=["role", "experience"])
    shares = shares.set_index("occupation").rename(columns={"panel": "ranking"})
    return expert_heat_map(context.experts, shares)


def _tables(context: ReportContext) -> dict[str, pd.DataFrame]:
    """Collect the tables that this release has, by the name that the page uses."""
    tables = {
        "ranking": _ranking_table(context),
        "published_experts": _published_expert_table(),
        "judge_agreement": _judge_agreement_table(context),
        "expert_agreement": _expert_agreement_table(context),
        "robustness": _robustness_table(context),
    }
    available = {name: frame for name, frame in tables.items() if frame is not None}
    return {**context.tables, **available}


def _ranking_table(context: ReportContext) -> pd.DataFrame:
    """Lay the ranked phrases beside p, from the most certain."""
    ranking = context.ranking.sort_values("rank", kind="stable")
    columns = ["phrase", "place", "mu"]
    if context.has_own_ruler:
        columns += ["mu_low", "mu_high", "win_rate", "published_mu"]
    published_mu = ranking["phrase"].map(_published_mu()).astype("float64")
    ranking = ranking.assign(place=ranking["rank"] + 1, published_mu=published_mu)
    ranking = ranking[columns]
    if context.scale.empty:
        return ranking
    # Another reader's p has no estimate, only a range.
    readers = [
        f"{low:.2f} to {high:.2f}"
        for low, high in zip(
            context.scale["reader_low"], context.scale["reader_high"], strict=True
        )
    ]
    scale = context.scale[["phrase", "p", "p_low", "p_high"]]
    scale = scale.assign(another_reader=readers)
    table = ranking.merge(scale, on="phrase", how="left")
    is_anchor = context.scale["is_anchor"].astype(bool)
    anchors = context.scale.loc[is_anchor, "phrase"]
    phrases = table["phrase"]
    table["phrase"] = phrases.where(~phrases.isin(anchors), phrases + " (anchor)")
    return table


def _published_expert_table() -> pd.DataFrame:
    """Write the paper's Table 1, its averages last."""
    averages = pd.DataFrame([{"occupation": "average", **published_averages()}])
    table = pd.concat([published_experts(), averages], ignore_index=True)
    table = table.fillna({"role": "", "experience": ""})
    return table.rename(columns={"panel": "ranking"})


def _judge_agreement_table(context: ReportContext) -> pd.DataFrame | None:
    agreement = context.analyses.get("judge_agreement")
    if agreement is None:
        return None
    published = published_agreement(agreement, "judges")
    return agreement.assign(published=published)[_AGREEMENT_COLUMNS]


def _expert_agreement_table(context: ReportContext) -> pd.DataFrame | None:
    agreement = context.analyses.get("expert_agreement")
    if agreement is None or agreement.empty:
        return None
    published = published_agreement(agreement, "experts")
    return agreement.assign(published=published)[_AGREEMENT_COLUMNS]


def _robustness_table(context: ReportContext) -> pd.DataFrame | None:
    """Average over repetitions what fewer comparisons would have given."""
    robustness = context.analyses.get("ranking_robustness")
    if robustness is None or robustness.empty:
        return None
    changes = ["mean_abs_mu", "largest_abs_mu", "mean_abs_rank", "spearman"]
    return robustness.groupby("comparisons")[changes].mean().reset_index()


def _published_mu() -> dict[str, float]:
    """Take mu of every phrase of the published ranking."""
    return {entry.phrase: entry.mu for entry in published_ranking()}
