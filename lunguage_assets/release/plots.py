"""Pictures of the explicit stage: the ranking with its intervals, the distribution of p. Each returns the bytes of a PNG."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd

_DPI = 110
_BLUE = "#3b6ea5"


def ranking_plot(ranking: pd.DataFrame) -> bytes:
    """mu of every phrase of a `tables.REFERENCE_RANKING` frame, most certain at the top, with the bootstrap interval."""
    ordered = ranking.sort_values("rank", ascending=False)
    figure, axes = _figure(7.0, 0.8 + 0.2 * max(len(ordered), 4))
    places = range(len(ordered))
    low, high = ordered["mu"] - ordered["mu_low"], ordered["mu_high"] - ordered["mu"]
    axes.errorbar(ordered["mu"], places, xerr=[low.clip(lower=0), high.clip(lower=0)], fmt="o", ms=3, lw=1, color=_BLUE)
    axes.set_yticks(list(places), ordered["phrase"].tolist(), fontsize=7)
    axes.set_xlabel("mu (95% bootstrap interval)")
    axes.set_ylim(-1, len(ordered))
    return _png(figure)


def probability_histogram(p: pd.Series) -> bytes:
    """Distribution of p over tentative findings, in steps of 0.05."""
    figure, axes = _figure(6.0, 3.0)
    axes.hist(p, bins=[step / 20 for step in range(21)], color=_BLUE, edgecolor="white")
    axes.set_xlabel("p that the finding is present")
    axes.set_ylabel("tentative findings")
    axes.set_xlim(0, 1)
    return _png(figure)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure of its own, outside pyplot's global state: assets may run side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)
    return figure, axes


def _png(figure: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=_DPI, metadata={"Software": None})
    return stream.getvalue()
