"""The pictures of the report, by name; their words are in `resources/release/report.html.j2`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

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
    totals, ranking = context.totals, context.ranking
    beside = published_places() if context.has_own_ruler else None
    drawn = {
        "ranking": ranking_plot(ranking, beside),
        "probabilities": probability_bars(totals.p_heights),
        "conflicts": conflict_bars(totals.conflicts),
    }
    counts = context.examples[context.examples > 0]
    if len(counts):
        names = {"phrase": counts.index, "n_examples": counts.to_numpy()}
        retained = counts.index.isin(ranking["phrase"])
        drawn["vocabulary"] = vocabulary_histogram(pd.DataFrame(names).assign(retained=retained))
    try:
        line = calibrate(ranking, context.anchors)
        drawn["calibration"] = calibration_plot(context.points, line, context.anchors)
    except MethodError:
        pass  # the anchors give no line
    if len(context.scale):
        drawn["scale"] = scale_plot(context.scale, scale_marks())
    return drawn | _of_analyses(context)


def _of_analyses(context: ReportContext) -> dict[str, bytes]:
    settings = context.origin.settings.explicit
    limits = settings.opponent_limit, settings.panel_steps
    wanted: list[tuple[str, str, Callable[[pd.DataFrame], bytes]]] = [
        ("agreement", "judge_agreement", agreement_heat_map),
        ("correlations", "ranking_correlations", correlation_heat_map),
        ("robustness", "ranking_robustness", robustness_plot),
        ("validation_curves", "fit_validation", lambda frame: validation_curves(frame, *limits)),
        ("validation_spread", "fit_validation", lambda frame: validation_spread(frame, *limits)),
        ("experts", "expert_agreement", lambda frame: expert_heat_map(by_group(frame))),
    ]
    there = {name: frame for name, frame in context.analyses.items() if len(frame)}
    return {name: draw(there[table]) for name, table, draw in wanted if table in there}


def write_figures(figures: Mapping[str, bytes], folder: Path) -> None:
    """Each as a PNG of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, png in figures.items():
        (folder / f"{name}.png").write_bytes(png)
