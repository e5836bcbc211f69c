"""Pictures of the ranking, of probabilities and their validation, of conflicts, and of p against outcomes.
Each returns the bytes of a PNG.

Colours are told apart by colour-blind readers (Okabe and Ito; viridis for ordered values), and never carry a
distinction alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit.fit.probability import Anchor, Calibration, probability
from lunguage_assets.pictures.canvas import bare_figure, one_panel, plain, png
from lunguage_assets.tables import CONFLICT_SOURCES, CONFLICT_TYPES

P_EDGES = np.array([step / 20 for step in range(21)])
"""Edges of the bars of p."""
POINTS = 1500
"""Findings that are drawn one by one, at most."""
_SMALL = 8
_BLUE, _ORANGE, _GREY, _VERMILION = "#0072B2", "#E69F00", "#6F6F6F", "#D55E00"
_SCALES = ("#D55E00", "#009E73", "#CC79A7")
_STRATEGIES = (("draw probability", _BLUE, "o"), ("random", _VERMILION, "s"))
_KINDS = ((_BLUE, ""), (_ORANGE, "///"), (_GREY, "..."))


def vocabulary_histogram(vocabulary: pd.DataFrame) -> bytes:
    """How often each retained phrase of a `HEDGE_VOCABULARY` frame was extracted, the most frequent at the
    top.
    """
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    retained = retained.sort_values(["n_examples", "phrase"], ascending=[True, False])
    figure, axes = _of_phrases(retained["phrase"].tolist())
    bars = axes.barh(range(len(retained)), retained["n_examples"].tolist(), color=_BLUE, height=0.75)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=_SMALL, color=_GREY)
    axes.margins(x=0.08)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("times extracted (tentative findings)")
    left_out = len(vocabulary) - len(retained)
    axes.set_title(f"{len(retained)} phrases retained, {left_out} left out", fontsize=10, loc="left")
    return png(figure)


def ranking_plot(ranking: pd.DataFrame, beside: Mapping[str, float] | None = None) -> bytes:
    """mu of every phrase of a `REFERENCE_RANKING` frame, most certain at the top, with the bootstrap
    interval; `beside`: mu of phrases in the published ranking.
    """
    ordered = ranking.sort_values("rank", ascending=False)
    figure, axes = _of_phrases(ordered["phrase"].tolist())
    places, mu = np.arange(len(ordered)), ordered["mu"].to_numpy(dtype=np.float64)
    if len(ordered) and (ordered["ruler"] == "published").all():
        axes.plot(mu, places, "o", ms=4, color=_BLUE, label="published mu (no interval)")
    else:
        low, high = (ordered[name].to_numpy(dtype=np.float64) for name in ("mu_low", "mu_high"))
        style = {"fmt": "o", "ms": 4, "lw": 1.2, "capsize": 2, "label": "TrueSkill, 95% bootstrap interval"}
        axes.errorbar(mu, places, xerr=np.clip([mu - low, high - mu], 0.0, None), color=_BLUE, **style)
    if beside:
        elsewhere = ordered["phrase"].map(beside).astype("float64")
        axes.plot(elsewhere, places, "D", ms=4, mfc="none", color=_GREY, label="published mu")
    axes.set_xlabel("mu (position on the ranking, prior 25)")
    axes.legend(loc="lower right", fontsize=_SMALL)
    return png(figure)


def probability_bars(heights: NDArray[np.int64]) -> bytes:
    """Distribution of p over tentative findings, from the heights of the bars between `P_EDGES`."""
    figure, axes = one_panel(6.0, 3.2)
    axes.hist(P_EDGES[:-1] + 0.025, bins=P_EDGES, weights=heights, color=_BLUE, edgecolor="white")
    axes.set(xlabel="p that the finding is present", ylabel="tentative findings", xlim=(0, 1))
    return png(figure)


def calibration_plot(points: pd.DataFrame, calibration: Calibration, anchors: Sequence[Anchor]) -> bytes:
    """mu against p: the calibration line with its own uncertainty, fitted findings on it with their
    intervals, the anchors that it goes through.

    Args:
        points: mu, p, p_low and p_high of the findings that are drawn, by mu. Without any, the line stands
            alone.
        calibration: the line, as `calibrate(ranking, anchors)` gives it.
        anchors: the anchors in the same order.
    """
    figure, axes = one_panel(7.0, 4.6)
    mu, p, p_low, p_high = (points[name].to_numpy(np.float64) for name in ("mu", "p", "p_low", "p_high"))
    ends = np.concatenate([mu, calibration.phrase_mu, calibration.anchor_mu])
    line = np.linspace(float(ends.min()) - 2.0, float(ends.max()) + 2.0, 400)
    middle, low, high = probability(line, np.zeros_like(line), calibration)
    axes.fill_between(line, low, high, color=_ORANGE, alpha=0.35, lw=0, label="95% from anchors and ranking")
    axes.plot(line, middle, lw=1.5, color=_ORANGE, label="calibration line")
    if len(points):
        style = {"fmt": ".", "ms": 3, "lw": 0.4, "alpha": 0.35, "label": "findings with their 95% interval"}
        axes.errorbar(mu, p, yerr=np.clip([p - p_low, p_high - p], 0.0, None), color=_BLUE, **style)
    centre = float(np.mean(calibration.phrase_mu))
    for at, anchor in zip(calibration.anchor_mu.tolist(), anchors, strict=True):
        value, error = (
            anchor.probability,
            [[anchor.probability - anchor.low], [anchor.high - anchor.probability]],
        )
        axes.errorbar([at], [value], yerr=error, fmt="D", ms=6, lw=1.5, capsize=3, color="black", zorder=5)
        place = {"xytext": (-8, 10), "ha": "right"} if at > centre else {"xytext": (8, -14), "ha": "left"}
        words = f"{anchor.phrase} ({value:.2f})"
        axes.annotate(words, (at, value), textcoords="offset points", fontsize=9, **place)
    axes.set(xlabel="mu (position on the ranking)", ylabel="p that the finding is present", ylim=(0, 1))
    axes.legend(loc="upper left", fontsize=_SMALL)
    return png(figure)


def scale_plot(scale: pd.DataFrame, marks: pd.DataFrame) -> bytes:
    """PNG: p of every phrase with the interval of the mean (thick) and the range of another reader (thin),
    and published scales below it.

    Args:
        scale: a `PHRASE_SCALE` frame.
        marks: columns scale, phrase, middle, low, high (shares); a band has no middle.
    """
    drawn = scale[scale["p"].notna() | scale["phrase"].isin(marks["phrase"])].iloc[::-1]
    figure, axes = _of_phrases(drawn["phrase"].tolist())
    places = {phrase: place for place, phrase in enumerate(drawn["phrase"].tolist())}
    ours = drawn[drawn["p"].notna()]
    own = ours["phrase"].map(places) + 0.12
    reader = {"lw": 0.8, "label": "another reader, 95%"}
    axes.hlines(own, ours["reader_low"], ours["reader_high"], color=_BLUE, **reader)
    mean = {"lw": 3, "alpha": 0.5, "label": "ours, 95% of the mean"}
    axes.hlines(own, ours["p_low"], ours["p_high"], color=_BLUE, **mean)
    axes.plot(ours["p"], own, "o", ms=4, color=_BLUE, label="ours")
    anchors = ours["is_anchor"].astype(bool)
    axes.plot(ours["p"][anchors], own[anchors], "D", ms=6, mfc="none", color="black", label="anchor")
    for (name, rows), colour in zip(marks.groupby("scale", sort=False), _SCALES, strict=False):
        rows = rows[rows["phrase"].isin(places)]
        at = rows["phrase"].map(places) - 0.18
        axes.hlines(at, rows["low"], rows["high"], lw=2.5, color=colour, label=str(name))
        axes.plot(rows["middle"], at, "s", ms=4, color=colour)
    axes.set(xlim=(0, 1), xlabel="probability that the finding is present")
    axes.legend(loc="upper left", fontsize=_SMALL)
    return png(figure)


def robustness_plot(robustness: pd.DataFrame) -> bytes:
    """Change of mu and rank with fewer comparisons per pair, every repeat a point (`RANKING_ROBUSTNESS`
    frame).
    """
    figure = bare_figure(9.0, 3.4)
    panels = figure.subplots(1, 3)
    kept = sorted(robustness["comparisons"].unique().tolist())
    names = [f"{n} per pair" if n != kept[-1] or len(kept) == 1 else f"all {n},\nother orders" for n in kept]
    measures = {
        "mean_abs_mu": "mean |change of mu|",
        "mean_abs_rank": "mean |change of rank|",
        "spearman": "Spearman with the ranking",
    }
    for axes, (column, label) in zip(panels, measures.items(), strict=True):
        for place, comparisons in enumerate(kept):
            values = robustness.loc[robustness["comparisons"] == comparisons, column].to_numpy(np.float64)
            spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else np.zeros(1)
            axes.plot(place + spread, values, "o", ms=4, color=_BLUE, alpha=0.7)
            axes.plot([place - 0.25, place + 0.25], [np.nanmean(values)] * 2, lw=2, color=_VERMILION)
        axes.set_xticks(range(len(kept)), names)
        axes.set(xlim=(-0.6, len(kept) - 0.4), ylabel=label)
        plain(axes)
    panels[0].set_title("points: repeats; bar: their mean", fontsize=9, loc="left")
    return png(figure)


def validation_curves(validation: pd.DataFrame, opponent_limit: int, panel_steps: int) -> bytes:
    """Mean distance to the known rank against step (`FIT_VALIDATION` frame): by strategy and judges, by K, by
    N.

    The shade around the pooled curves is one standard deviation between seeds.

    Args:
        validation: the study.
        opponent_limit, panel_steps: N and K at which the other one is varied (the product's).
    """
    figure = bare_figure(12.0, 4.0)
    by_judges, by_panel, by_limit = panels = figure.subplots(1, 3, sharey=True)
    n, k = validation["opponent_limit"] == opponent_limit, validation["panel_steps"] == panel_steps
    for strategy, colour, _ in _STRATEGIES:
        drawn = validation[n & k & (validation["strategy"] == strategy)]
        for judges, curve in drawn.groupby("judges", sort=True):
            step, middle = curve["step"], curve["mean_distance"]
            if judges != "all":
                style = {"label": f"{strategy}, one judge", "lw": 1.0, "ls": "--", "alpha": 0.8}
                by_judges.plot(step, middle, color=colour, **style)
                continue
            sd = curve["sd_between_seeds"]
            by_judges.plot(step, middle, color=colour, label=f"{strategy}, all judges", lw=2.0)
            by_judges.fill_between(step, middle - sd, middle + sd, color=colour, alpha=0.2, lw=0)
    pooled = (validation["strategy"] == "draw probability") & (validation["judges"] == _pooled(validation))
    _ordered_curves(by_panel, validation[pooled & n], "panel_steps", "K")
    _ordered_curves(by_limit, validation[pooled & k], "opponent_limit", "N")
    titles = (
        f"opponents and judges (N = {opponent_limit}, K = {panel_steps})",
        f"K, steps of the whole panel (N = {opponent_limit})",
        f"N, times one phrase is played (K = {panel_steps})",
    )
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, fontsize=9, loc="left")
        axes.set(xlabel="step", xlim=(0, 100))
        axes.set_ylim(bottom=0)
        lines, labels = axes.get_legend_handles_labels()
        named = dict(zip(reversed(labels), reversed(lines), strict=True))  # each label once
        axes.legend([named[label] for label in dict.fromkeys(labels)], dict.fromkeys(labels), fontsize=_SMALL)
        plain(axes)
    by_judges.set_ylabel("mean distance to the known rank (ranks)")
    return png(figure)


def validation_spread(validation: pd.DataFrame, opponent_limit: int, panel_steps: int) -> bytes:
    """Standard deviation of the distance at the last step, against K and against N, for both strategies;
    arguments as `validation_curves`.
    """
    figure = bare_figure(9.0, 3.6)
    panels = figure.subplots(1, 2, sharey=True)
    is_last = validation["step"] == validation["step"].max()
    last = validation[is_last & (validation["judges"] == _pooled(validation))]
    k, n = last["panel_steps"] == panel_steps, last["opponent_limit"] == opponent_limit
    parts = (
        (last[n], "panel_steps", f"K, steps of the whole panel (N = {opponent_limit})"),
        (last[k], "opponent_limit", f"N, times one phrase is played (K = {panel_steps})"),
    )
    for axes, (part, column, label) in zip(panels, parts, strict=True):
        values = sorted(part[column].unique().tolist())
        for strategy, colour, marker in _STRATEGIES:
            points = part[part["strategy"] == strategy].sort_values(column)
            places = [values.index(value) for value in points[column].tolist()]
            axes.plot(places, points["sd_distance"], marker=marker, color=colour, label=strategy)
        axes.set_xticks(range(len(values)), [str(value) for value in values])
        axes.set_xlabel(label)
        plain(axes)
    panels[0].set_ylim(bottom=0)  # now that both are drawn: it ends the scaling of the axis that they share
    panels[0].set_ylabel("sd of the distance at step 100 (ranks)")
    panels[0].legend(loc="lower left", fontsize=_SMALL, title="opponents", title_fontsize=_SMALL)
    return png(figure)


def conflict_bars(counts: Mapping[tuple[str, str], int]) -> bytes:
    """A stacked bar per type of conflict, a part per source, told apart by colour and hatching."""
    figure, axes = one_panel(7.0, 3.6)
    places, left = np.arange(len(CONFLICT_TYPES)), np.zeros(len(CONFLICT_TYPES))
    for source, (colour, hatch) in zip(CONFLICT_SOURCES, _KINDS, strict=True):
        widths = np.array([counts[kind, source] for kind in CONFLICT_TYPES], dtype=np.float64)
        style = {"color": colour, "hatch": hatch, "edgecolor": "white", "height": 0.7, "label": source}
        axes.barh(places, widths, left=left, **style)
        left += widths
    axes.set_yticks(places, CONFLICT_TYPES)
    axes.grid(visible=False, axis="y")
    axes.invert_yaxis()
    axes.set(xlabel="conflicts (groups of rows)", xlim=(0, max(float(left.max()), 1.0) * 1.05))
    axes.legend(fontsize=_SMALL)
    return png(figure)


def reliability_diagram(bins: pd.DataFrame, title: str) -> bytes:
    """Observed share against mean p, a point per bin, with the mean interval of p and Wilson's of the share.

    Args:
        bins: columns cells, mean_p, mean_low, mean_high, observed, observed_low, observed_high.
        title: of the picture.
    """
    figure, axes = one_panel(5.5, 5.0)
    axes.plot([0, 1], [0, 1], color=_GREY, linestyle="--", linewidth=1, label="perfectly calibrated")
    p, observed = bins["mean_p"], bins["observed"]
    across = np.clip([p - bins["mean_low"], bins["mean_high"] - p], 0.0, None)
    up = np.clip([observed - bins["observed_low"], bins["observed_high"] - observed], 0.0, None)
    axes.errorbar(p, observed, xerr=across, yerr=up, fmt="o", ms=4, lw=0.8, color=_BLUE)
    for x, y, cells in zip(p, observed, bins["cells"], strict=True):
        axes.annotate(f"{cells}", (x, y), xytext=(5, 5), textcoords="offset points", fontsize=7)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel="mean p of the bin", ylabel="share of outcomes 1")
    axes.set_title(title, fontsize=10)
    axes.legend(loc="upper left", fontsize=_SMALL)
    return png(figure)


def _pooled(validation: pd.DataFrame) -> str:
    """The judges of the main curves: all, or the only one."""
    names: list[str] = sorted(validation["judges"].unique().tolist())
    return "all" if "all" in names or not names else names[0]


def _ordered_curves(axes: Any, curves: pd.DataFrame, column: str, letter: str) -> None:
    from matplotlib import colormaps

    values = sorted(curves[column].unique().tolist())
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, max(len(values), 1)))
    for value, shade, style in zip(values, shades, ["-", "--", "-.", ":"] * len(values), strict=False):
        curve = curves[curves[column] == value].sort_values("step")
        label = f"{letter} = {value}"
        axes.plot(curve["step"], curve["mean_distance"], color=shade, ls=style, lw=1.5, label=label)


def _of_phrases(phrases: Sequence[str]) -> tuple[Any, Any]:
    """A figure that leaves every phrase a line of its own, the last at the top."""
    figure, axes = one_panel(7.0, 1.0 + 0.2 * max(len(phrases), 5))
    axes.set_yticks(range(len(phrases)), list(phrases), fontsize=_SMALL)
    axes.set_ylim(-0.8, max(len(phrases), 1) - 0.2)
    return figure, axes
