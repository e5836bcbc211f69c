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
from lunguage_assets.pictures.canvas import bare_figure, plain, png
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
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)].sort_values(
        ["n_examples", "phrase"], ascending=[True, False]
    )
    figure, axes = _figure(7.0, _height(len(retained)))
    counts = retained["n_examples"].tolist()
    axes.barh(range(len(retained)), counts, color=_BLUE, height=0.75)
    for place, count in enumerate(counts):
        style = {"xytext": (3, 0), "textcoords": "offset points", "va": "center", "color": _GREY}
        axes.annotate(f"{count:,}", (count, place), fontsize=_SMALL, **style)
    _phrase_axis(axes, retained["phrase"].tolist())
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
    figure, axes = _figure(7.0, _height(len(ordered)))
    places = np.arange(len(ordered))
    published = bool(len(ordered)) and bool((ordered["ruler"] == "published").all())
    mu = ordered["mu"].to_numpy(dtype=np.float64)
    if published:
        axes.plot(mu, places, "o", ms=4, color=_BLUE, label="published mu (no interval)")
    else:
        low, high = (ordered[name].to_numpy(dtype=np.float64) for name in ("mu_low", "mu_high"))
        axes.errorbar(
            mu,
            places,
            xerr=np.clip([mu - low, high - mu], 0.0, None),
            fmt="o",
            ms=4,
            lw=1.2,
            capsize=2,
            color=_BLUE,
            label="TrueSkill, 95% bootstrap interval",
        )
    if beside:
        elsewhere = ordered["phrase"].map(beside).astype("float64")
        axes.plot(elsewhere, places, "D", ms=4, mfc="none", color=_GREY, label="published mu")
    _phrase_axis(axes, ordered["phrase"].tolist())
    axes.set_xlabel("mu (position on the ranking, prior 25)")
    axes.legend(loc="lower right", fontsize=_SMALL)
    return png(figure)


def probability_bars(heights: NDArray[np.int64]) -> bytes:
    """Distribution of p over tentative findings, from the heights of the bars between `P_EDGES`."""
    figure, axes = _figure(6.0, 3.2)
    axes.hist(P_EDGES[:-1] + 0.025, bins=P_EDGES, weights=heights, color=_BLUE, edgecolor="white")
    axes.set_xlabel("p that the finding is present")
    axes.set_ylabel("tentative findings")
    axes.set_xlim(0, 1)
    return png(figure)


def thinned(size: int) -> NDArray[np.int64]:
    """Positions of the findings that are drawn, of so many by mu: all, or 1,500 evenly spread."""
    return np.unique(np.linspace(0, size - 1, min(POINTS, size)).astype(np.int64))


def calibration_plot(
    points: pd.DataFrame,
    calibration: Calibration,
    anchors: Sequence[Anchor],
) -> bytes:
    """mu against p: the calibration line with its own uncertainty, fitted findings on it with their
    intervals, the anchors that it goes through.

    Args:
        points: mu, p, p_low and p_high of the findings that are drawn (`thinned`), by mu. Without any, the
            line stands alone.
        calibration: the line, as `calibrate(ranking, anchors)` gives it.
        anchors: the anchors in the same order.
    """
    figure, axes = _figure(7.0, 4.6)
    mu, p, p_low, p_high = (points[name].to_numpy(np.float64) for name in ("mu", "p", "p_low", "p_high"))
    ends = np.concatenate([mu, calibration.phrase_mu, calibration.anchor_mu])
    line = np.linspace(float(ends.min()) - 2.0, float(ends.max()) + 2.0, 400)
    middle, low, high = probability(line, np.zeros_like(line), calibration)
    axes.fill_between(line, low, high, color=_ORANGE, alpha=0.35, lw=0, label="95% from anchors and ranking")
    axes.plot(line, middle, lw=1.5, color=_ORANGE, label="calibration line")
    if len(points):
        axes.errorbar(
            mu,
            p,
            yerr=np.clip([p - p_low, p_high - p], 0.0, None),
            fmt=".",
            ms=3,
            lw=0.4,
            color=_BLUE,
            alpha=0.35,
            label="findings with their 95% interval",
        )
    _draw_anchors(axes, calibration, anchors)
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
    drawn = scale[scale["p"].notna() | scale["phrase"].isin(marks["phrase"])].reset_index(drop=True)
    figure = bare_figure(7.5, 1.2 + 0.24 * max(len(drawn), 5))
    axes = figure.subplots()
    places = {phrase: len(drawn) - 1 - i for i, phrase in enumerate(drawn["phrase"].tolist())}
    ours = drawn[drawn["p"].notna()]
    own = np.array([places[phrase] for phrase in ours["phrase"].tolist()]) + 0.12
    label = "another reader, 95%"
    axes.hlines(own, ours["reader_low"], ours["reader_high"], lw=0.8, color=_BLUE, label=label)
    label = "ours, 95% of the mean"
    axes.hlines(own, ours["p_low"], ours["p_high"], lw=3, color=_BLUE, alpha=0.5, label=label)
    axes.plot(ours["p"], own, "o", ms=4, color=_BLUE, label="ours")
    anchors = ours["is_anchor"].to_numpy(dtype=bool)
    axes.plot(ours["p"][anchors], own[anchors], "D", ms=6, mfc="none", color="black", label="anchor")
    for (name, rows), colour in zip(marks.groupby("scale", sort=False), _SCALES, strict=False):
        rows = rows[rows["phrase"].isin(places)]
        at = np.array([places[phrase] for phrase in rows["phrase"].tolist()]) - 0.18
        axes.hlines(at, rows["low"], rows["high"], lw=2.5, color=colour, label=str(name))
        axes.plot(rows["middle"], at, "s", ms=4, color=colour)
    axes.set_yticks(list(places.values()), list(places), fontsize=_SMALL)
    axes.set_ylim(-0.8, len(places) - 0.2)
    axes.set(xlim=(0, 1), xlabel="probability that the finding is present")
    plain(axes)
    axes.legend(loc="upper left", fontsize=_SMALL)
    return png(figure)


def robustness_plot(robustness: pd.DataFrame) -> bytes:
    """Change of mu and rank with fewer comparisons per pair, every repeat a point (`RANKING_ROBUSTNESS`
    frame).
    """
    figure = bare_figure(9.0, 3.4)
    panels = figure.subplots(1, 3)
    kept = sorted(robustness["comparisons"].unique().tolist())
    measures = (
        ("mean_abs_mu", "mean |change of mu|"),
        ("mean_abs_rank", "mean |change of rank|"),
        ("spearman", "Spearman with the ranking"),
    )
    for axes, (column, label) in zip(panels, measures, strict=True):
        for place, comparisons in enumerate(kept):
            values = robustness.loc[robustness["comparisons"] == comparisons, column].to_numpy(np.float64)
            spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else np.zeros(1)
            axes.plot(place + spread, values, "o", ms=4, color=_BLUE, alpha=0.7)
            axes.plot([place - 0.25, place + 0.25], [np.nanmean(values)] * 2, lw=2, color=_VERMILION)
        names = [
            f"{n} per pair" if n != kept[-1] or len(kept) == 1 else f"all {n},\nother orders" for n in kept
        ]
        axes.set_xticks(range(len(kept)), names)
        axes.set_xlim(-0.6, len(kept) - 0.4)
        axes.set_ylabel(label)
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
    by_judges, by_panel, by_limit = figure.subplots(1, 3, sharey=True)
    base = validation[
        (validation["opponent_limit"] == opponent_limit) & (validation["panel_steps"] == panel_steps)
    ]
    for strategy, colour, _ in _STRATEGIES:
        for judges, curve in base[base["strategy"] == strategy].groupby("judges", sort=True):
            together = judges == "all"
            label = f"{strategy}, all judges" if together else f"{strategy}, one judge"
            style = {"lw": 2.0} if together else {"lw": 1.0, "ls": "--", "alpha": 0.8}
            by_judges.plot(curve["step"], curve["mean_distance"], color=colour, label=label, **style)
            if together:
                middle, sd = curve["mean_distance"], curve["sd_between_seeds"]
                by_judges.fill_between(curve["step"], middle - sd, middle + sd, color=colour, alpha=0.2, lw=0)
    drawn = validation[
        (validation["strategy"] == "draw probability") & (validation["judges"] == _pooled(validation))
    ]
    _ordered_curves(by_panel, drawn[drawn["opponent_limit"] == opponent_limit], "panel_steps", "K")
    _ordered_curves(by_limit, drawn[drawn["panel_steps"] == panel_steps], "opponent_limit", "N")
    titles = (
        f"opponents and judges (N = {opponent_limit}, K = {panel_steps})",
        f"K, steps of the whole panel (N = {opponent_limit})",
        f"N, times one phrase is played (K = {panel_steps})",
    )
    for axes, title in zip((by_judges, by_panel, by_limit), titles, strict=True):
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("step")
        axes.set_xlim(0, 100)
        axes.set_ylim(bottom=0)
        _legend_without_repeats(axes)
        plain(axes)
    by_judges.set_ylabel("mean distance to the known rank (ranks)")
    return png(figure)


def validation_spread(validation: pd.DataFrame, opponent_limit: int, panel_steps: int) -> bytes:
    """Standard deviation of the distance at the last step, against K and against N, for both strategies;
    arguments as `validation_curves`.
    """
    figure = bare_figure(9.0, 3.6)
    panels = figure.subplots(1, 2, sharey=True)
    last = validation[
        (validation["step"] == validation["step"].max()) & (validation["judges"] == _pooled(validation))
    ]
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
    figure, axes = _figure(7.0, 3.6)
    places, left = np.arange(len(CONFLICT_TYPES)), np.zeros(len(CONFLICT_TYPES))
    for source, (colour, hatch) in zip(CONFLICT_SOURCES, _KINDS, strict=True):
        widths = np.array([counts[kind, source] for kind in CONFLICT_TYPES], dtype=np.float64)
        style = {"color": colour, "hatch": hatch, "edgecolor": "white", "height": 0.7, "label": source}
        axes.barh(places, widths, left=left, **style)
        left += widths
    axes.set_yticks(places, CONFLICT_TYPES)
    axes.grid(visible=False, axis="y")
    axes.invert_yaxis()
    axes.set_xlabel("conflicts (groups of rows)")
    axes.set_xlim(0, max(float(left.max()), 1.0) * 1.05)
    axes.legend(fontsize=_SMALL)
    return png(figure)


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
        axes.plot(
            curve["step"], curve["mean_distance"], color=shade, ls=style, lw=1.5, label=f"{letter} = {value}"
        )


def _draw_anchors(axes: Any, calibration: Calibration, anchors: Sequence[Anchor]) -> None:
    middle = float(np.mean(calibration.phrase_mu))
    for mu, anchor in zip(calibration.anchor_mu.tolist(), anchors, strict=True):
        error = [[anchor.probability - anchor.low], [anchor.high - anchor.probability]]
        axes.errorbar(
            [mu], [anchor.probability], yerr=error, fmt="D", ms=6, lw=1.5, capsize=3, color="black", zorder=5
        )
        right = mu > middle
        place = {"xytext": (-8, 10) if right else (8, -14), "ha": "right" if right else "left"}
        axes.annotate(
            f"{anchor.phrase} ({anchor.probability:.2f})",
            (mu, anchor.probability),
            textcoords="offset points",
            fontsize=9,
            **place,
        )


def _legend_without_repeats(axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    first = {label: handle for handle, label in zip(reversed(handles), reversed(labels), strict=True)}
    names = list(dict.fromkeys(labels))
    axes.legend([first[name] for name in names], names, fontsize=_SMALL)


def _height(phrases: int) -> float:
    """Inches that leave every phrase a line of its own."""
    return 1.0 + 0.2 * max(phrases, 5)


def _phrase_axis(axes: Any, phrases: Sequence[str]) -> None:
    axes.set_yticks(range(len(phrases)), list(phrases), fontsize=_SMALL)
    axes.set_ylim(-0.8, max(len(phrases), 1) - 0.2)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    """A figure with one panel."""
    figure = bare_figure(width, height)
    axes = figure.subplots()
    plain(axes)
    return figure, axes
