"""Reliability diagram, and p by what another file of labels says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.pictures.canvas import bare_figure, plain, png


def reliability_diagram(bins: pd.DataFrame, title: str) -> bytes:
    """Observed share against mean p, a point per bin, with the mean interval of p and Wilson's of the share.

    Args:
        bins: columns cells, mean_p, mean_low, mean_high, observed, observed_low, observed_high.
        title: of the picture.
    """
    figure = bare_figure(5.5, 5.0)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, label="perfectly calibrated")
    p, observed = bins["mean_p"], bins["observed"]
    axes.errorbar(
        p,
        observed,
        xerr=[(p - bins["mean_low"]).clip(lower=0.0), (bins["mean_high"] - p).clip(lower=0.0)],
        yerr=[observed - bins["observed_low"], bins["observed_high"] - observed],
        fmt="o",
        color="#1f5a94",
        ecolor="#9db9d6",
        markersize=4,
    )
    for place, cells in zip(zip(p, observed, strict=True), bins["cells"], strict=True):
        axes.annotate(f"{cells}", place, xytext=(5, 5), textcoords="offset points", fontsize=7)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="mean p of the bin", ylabel="share of outcomes 1")
    axes.set_title(title, fontsize=10)
    axes.legend(loc="upper left", fontsize=8, frameon=False)
    plain(axes)
    return png(figure)


def p_by_answer(values: Mapping[str, NDArray[np.float64]]) -> bytes:
    """A histogram of p for every answer of the other file, as shares of its cells."""
    figure = bare_figure(6.0, 1.5 * max(len(values), 1) + 0.6)
    panels = figure.subplots(max(len(values), 1), 1, sharex=True, squeeze=False)[:, 0]
    edges = np.linspace(0.0, 1.0, 21)
    for axes, (answer, p) in zip(panels, values.items(), strict=False):
        heights = np.histogram(p, edges)[0] / max(len(p), 1)
        axes.bar(edges[:-1], heights, width=0.05, align="edge", color="#1f5a94")
        axes.set_ylabel(f"{answer}\nn = {len(p)}", fontsize=8)
        plain(axes)
    panels[-1].set_xlabel("p of the label")
    return png(figure)
