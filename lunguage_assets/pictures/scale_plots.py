"""Pictures of the scale: its phrases, their ranking, and the probabilities on it.

Sections 1, 3 and 6 of docs/method/explicit.md. Each function returns the bytes of a
PNG. How far all this can be trusted is drawn in `validation_plots.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit.probability import Anchor, Calibration, probability
from lunguage_assets.explicit.ranking import is_published_scale
from lunguage_assets.pictures.figure import (
    BLUE,
    GREY,
    HALF_PAGE,
    ORANGE,
    SMALL,
    error_bars,
    one_panel,
    png,
)

P_EDGES = np.array([step / 20 for step in range(21)])
"""Edges of the bars of p."""
POINTS = 1500
"""Findings that are drawn one by one, at most."""

_DRAWN_INTERVALS = 30


def vocabulary_histogram(vocabulary: pd.DataFrame) -> bytes:
    """Draw how often each retained phrase was extracted, the most frequent at the top.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
    """
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    retained = retained.sort_values(["n_examples", "phrase"], ascending=[True, False])
    figure, axes = _panel_of_phrases(retained["phrase"].tolist())
    examples = retained["n_examples"].tolist()
    bars = axes.barh(range(len(retained)), examples, color=BLUE, height=0.75)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=SMALL, color=GREY)
    axes.margins(x=0.08)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("times extracted (tentative findings)")
    # A phrase that is not retained is not compared (explicit.md section 1).
    left_out = len(vocabulary) - len(retained)
    title = f"{len(retained)} phrases retained, {left_out} left out"
    axes.set_title(title, fontsize=10, loc="left")
    return png(figure)


def ranking_plot(
    ranking: pd.DataFrame, beside: Mapping[str, float] | None = None
) -> bytes:
    """Draw mu of every phrase with its bootstrap interval, the most certain at the top.

    Args:
        ranking: `REFERENCE_RANKING` frame.
        beside: mu of phrases in the published ranking.
    """
    ordered = ranking.sort_values("rank", ascending=False)
    figure, axes = _panel_of_phrases(ordered["phrase"].tolist())
    height = np.arange(len(ordered))
    mu = ordered["mu"].to_numpy(dtype=np.float64)
    # The paper gives no interval of its mu.
    if len(ordered) and is_published_scale(ordered):
        label = "published mu (no interval)"
        axes.plot(mu, height, "o", ms=4, color=BLUE, label=label)
    else:
        low = ordered["mu_low"].to_numpy(dtype=np.float64)
        high = ordered["mu_high"].to_numpy(dtype=np.float64)
        axes.errorbar(
            mu,
            height,
            xerr=error_bars(mu, low, high),
            color=BLUE,
            fmt="o",
            ms=4,
            lw=1.2,
            capsize=2,
            label="TrueSkill, 95% bootstrap interval",
        )
    if beside:
        published = ordered["phrase"].map(beside).astype("float64")
        axes.plot(
            published, height, "D", ms=4, mfc="none", color=GREY, label="published mu"
        )
    axes.set_xlabel("mu (position on the ranking, prior 25)")
    axes.legend(loc="lower right", fontsize=SMALL)
    return png(figure)


def _panel_of_phrases(phrases: Sequence[str]) -> tuple[Any, Any]:
    """Make a figure that leaves every phrase a line of its own, the last at the top."""
    figure, axes = one_panel(HALF_PAGE, 1.0 + 0.2 * max(len(phrases), 5))
    axes.set_yticks(range(len(phrases)), list(phrases), fontsize=SMALL)
    axes.set_ylim(-0.8, max(len(phrases), 1) - 0.2)
    return figure, axes


def probability_bars(heights: NDArray[np.int64]) -> bytes:
    """Draw the distribution of p over tentative findings.

    Args:
        heights: of the bars between `P_EDGES`.
    """
    figure, axes = one_panel(HALF_PAGE, 3.6)
    axes.hist(
        P_EDGES[:-1] + 0.025,
        bins=P_EDGES,
        weights=heights,
        color=BLUE,
        edgecolor="white",
    )
    axes.set(
        xlabel="p that the finding is present", ylabel="tentative findings", xlim=(0, 1)
    )
    return png(figure)


def calibration_plot(
    points: pd.DataFrame, calibration: Calibration, anchors: Sequence[Anchor]
) -> bytes:
    """Draw mu against p: the calibration line, fitted findings on it, and the anchors.

    Args:
        points: mu, p, p_low and p_high of the findings that are drawn, by mu. Without
            any, the line stands alone.
        calibration: the line, as `calibrate(ranking, anchors)` gives it.
        anchors: the anchors in the same order.
    """
    figure, axes = one_panel(HALF_PAGE, 3.6)
    mu = points["mu"].to_numpy(np.float64)
    _draw_line(axes, mu, calibration)
    if len(points):
        _draw_counts_below(axes, mu)
        _draw_typical_findings(axes, points)
    # Words of a high anchor stand left of it, of a low one right: inside the panel.
    centre = float(np.mean(calibration.phrases["mu"]))
    for anchor_mu, anchor in zip(calibration.anchors["mu"], anchors, strict=True):
        _draw_anchor(axes, anchor_mu, anchor, is_right=anchor_mu > centre)
    axes.set(
        xlabel="mu (position on the ranking)",
        ylabel="p that the finding is present",
        ylim=(0, 1),
    )
    axes.legend(loc="upper left", fontsize=SMALL)
    return png(figure)


def _draw_line(axes: Any, mu: NDArray[np.float64], calibration: Calibration) -> None:
    """Draw the calibration line with its own uncertainty, as far as anything lies."""
    known_mu = np.concatenate(
        [mu, calibration.phrases["mu"], calibration.anchors["mu"]]
    )
    line = np.linspace(float(known_mu.min()) - 2.0, float(known_mu.max()) + 2.0, 400)
    # Of a point on the line nothing is uncertain but the line itself.
    on_line = probability(line, np.zeros_like(line), calibration)
    axes.fill_between(
        line,
        on_line.low,
        on_line.high,
        color=ORANGE,
        alpha=0.35,
        lw=0,
        label="95% from anchors and ranking",
    )
    axes.plot(line, on_line.p, lw=1.5, color=ORANGE, label="calibration line")


def _draw_counts_below(axes: Any, mu: NDArray[np.float64]) -> None:
    """Draw how many findings lie where, as pale bars in the panel's lowest fifth."""
    counts, edges = np.histogram(mu, bins=_DRAWN_INTERVALS)
    axes.bar(
        edges[:-1],
        0.2 * counts / counts.max(),
        width=np.diff(edges),
        align="edge",
        color=GREY,
        alpha=0.3,
        lw=0,
        label="how many findings lie there",
    )


def _draw_typical_findings(axes: Any, points: pd.DataFrame) -> None:
    """Draw some findings with their intervals.

    Hundreds of intervals side by side are a blue wall: each stands for those around it.
    """
    mu = points["mu"].to_numpy(np.float64)
    p = points["p"].to_numpy(np.float64)
    p_low = points["p_low"].to_numpy(np.float64)
    p_high = points["p_high"].to_numpy(np.float64)
    drawn = _typical_findings(mu, p_high - p_low)
    axes.errorbar(
        mu[drawn],
        p[drawn],
        yerr=error_bars(p[drawn], p_low[drawn], p_high[drawn]),
        color=BLUE,
        fmt="o",
        ms=3,
        lw=1.0,
        capsize=2,
        label="typical findings, 95% interval",
    )


def _typical_findings(
    mu: NDArray[np.float64], width: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Choose, in each of equal parts of the scale, that with the middle width."""
    edges = np.linspace(mu.min(), mu.max(), _DRAWN_INTERVALS + 1)
    # The highest mu lies on the last edge, and so in the last part.
    part_of_finding = np.digitize(mu, edges[1:-1])
    typical = []
    for part in np.unique(part_of_finding):
        findings = np.flatnonzero(part_of_finding == part)
        by_width = findings[np.argsort(width[findings], kind="stable")]
        typical.append(by_width[len(by_width) // 2])
    return np.array(typical, dtype=np.intp)


def _draw_anchor(axes: Any, mu: float, anchor: Anchor, *, is_right: bool) -> None:
    """Draw an anchor with its interval; its words stand off the line."""
    p = anchor.probability
    axes.errorbar(
        [mu],
        [p],
        yerr=[[p - anchor.low], [anchor.high - p]],
        fmt="D",
        ms=6,
        lw=1.5,
        capsize=3,
        color="black",
        zorder=5,
    )
    offset = (-8, 10) if is_right else (8, -14)
    axes.annotate(
        f"{anchor.phrase} ({p:.2f})",
        (mu, p),
        textcoords="offset points",
        fontsize=SMALL,
        xytext=offset,
        ha="right" if is_right else "left",
    )
