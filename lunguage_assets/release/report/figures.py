"""The pictures of the report, by name; their words are in `resources/release/report.html.j2`."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.analysis.experts import by_group
from lunguage_assets.explicit.fit.probability import calibrate
from lunguage_assets.judges.rules.published import published_ranking
from lunguage_assets.pictures.heat_maps import agreement_heat_map, correlation_heat_map, expert_heat_map
from lunguage_assets.pictures.plots import (
    calibration_plot,
    conflict_bars,
    probability_bars,
    ranking_plot,
    robustness_plot,
    scale_plot,
    validation_curves,
    validation_spread,
    vocabulary_histogram,
)
from lunguage_assets.release.bundle.context import ReportContext
from lunguage_assets.release.report.scales import scale_marks


def published_places() -> dict[str, float]:
    """mu of every phrase of the published ranking."""
    return {entry.phrase: entry.mu for entry in published_ranking()}


def report_figures(context: ReportContext) -> dict[str, bytes]:
    """PNG by name. What this release cannot show is not among them, and the page says why."""
    ranking, settings = context.ranking, context.origin.settings.explicit
    drawn = {
        "ranking": ranking_plot(ranking, published_places() if context.has_own_ruler else None),
        "probabilities": probability_bars(context.p_heights),
        "conflicts": conflict_bars(context.conflicts),
    }
    counts = context.examples[context.examples > 0]
    if len(counts):
        names = {"phrase": counts.index, "n_examples": counts.to_numpy()}
        retained = counts.index.isin(ranking["phrase"])
        drawn["vocabulary"] = vocabulary_histogram(pd.DataFrame(names).assign(retained=retained))
    try:
        anchors = context.origin.anchors.of(set(ranking["phrase"]))
        drawn["calibration"] = calibration_plot(context.points, calibrate(ranking, anchors), anchors)
        drawn["scale"] = scale_plot(context.scale, scale_marks())
    except MethodError:
        pass  # the anchors give no line
    limits = settings.opponent_limit, settings.panel_steps
    for name, frame in context.analyses.items():
        if frame.empty:
            continue
        if name == "judge_agreement":
            drawn["agreement"] = agreement_heat_map(frame)
        elif name == "ranking_correlations":
            drawn["correlations"] = correlation_heat_map(frame)
        elif name == "ranking_robustness":
            drawn["robustness"] = robustness_plot(frame)
        elif name == "fit_validation":
            drawn["validation_curves"] = validation_curves(frame, *limits)
            drawn["validation_spread"] = validation_spread(frame, *limits)
        elif name == "expert_agreement":
            drawn["experts"] = expert_heat_map(by_group(frame))
    return drawn
