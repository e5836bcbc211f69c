"""Pictures of ranking, agreement, probabilities, their validation, and outcomes.

Each function returns the bytes of a PNG. Colours are told apart by colour-blind readers
(Okabe and Ito; viridis and cividis for ordered values), and never carry a distinction
alone. matplotlib is imported with the first picture: it is slow to import.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit.fit.probability import Anchor, Calibration, probability
from lunguage_assets.explicit.rating.ranking import is_published_scale

P_EDGES = np.array([step / 20 for step in range(21)])
"""Edges of the bars of p."""
POINTS = 1500
"""Findings that are drawn one by one, at most."""

_DPI = 110
_SMALL = 9
"""Points of small print."""
_HALF_PAGE = 5.4
"""Inches of a figure that stands beside another: drawn at its own size, so that its
words stay readable.
"""
_DRAWN_INTERVALS = 30
_CHANCE_TO_FULL = (0.5, 1.0)

_BLUE = "#0072B2"
_ORANGE = "#E69F00"
_GREY = "#6F6F6F"
_VERMILION = "#D55E00"
_GREEN = "#009E73"
_PINK = "#CC79A7"


class _Style(NamedTuple):
    """How a series is drawn."""

    colour: str
    marker: str


_STYLE_BY_STRATEGY = {
    "draw probability": _Style(_BLUE, "o"),
    "random": _Style(_VERMILION, "s"),
}
_SCALE_STYLES = (
    _Style(_ORANGE, "D"),
    _Style(_VERMILION, "^"),
    _Style(_GREY, "s"),
    _Style(_GREEN, "P"),
    _Style(_PINK, "v"),
    _Style("black", "X"),
)
"""Of published scales, in the order of their file."""


def bare_figure(width: float, height: float) -> Any:
    """Make a figure of so many inches, outside pyplot's global state.

    Assets may run side by side, which that state would not bear.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain(axes: Any) -> None:
    """Take the frame away at top and right, and put a pale grid below what is drawn."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)


def one_panel(width: float, height: float) -> tuple[Any, Any]:
    """Make a plain figure with one panel."""
    figure = bare_figure(width, height)
    axes = figure.subplots()
    plain(axes)
    return figure, axes


def png(figure: Any) -> bytes:
    """Draw the picture; the same figure gives the same bytes."""
    stream = io.BytesIO()
    # The name of the software holds its version, which is no part of the picture.
    figure.savefig(stream, format="png", dpi=_DPI, metadata={"Software": None})
    return stream.getvalue()


def _beside(middle: Any, low: Any, high: Any) -> NDArray[np.float64]:
    """Compute the lengths of error bars; a bound beyond its middle draws none."""
    lengths: NDArray[np.float64] = np.clip([middle - low, high - middle], 0.0, None)
    return lengths


def vocabulary_histogram(vocabulary: pd.DataFrame) -> bytes:
    """Draw how often each retained phrase was extracted, the most frequent at the top.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
    """
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    retained = retained.sort_values(["n_examples", "phrase"], ascending=[True, False])
    figure, axes = _panel_of_phrases(retained["phrase"].tolist())
    examples = retained["n_examples"].tolist()
    bars = axes.barh(range(len(retained)), examples, color=_BLUE, height=0.75)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=_SMALL, color=_GREY)
    axes.margins(x=0.08)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("times extracted (tentative findings)")
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
    if len(ordered) and is_published_scale(ordered):
        label = "published mu (no interval)"
        axes.plot(mu, height, "o", ms=4, color=_BLUE, label=label)
    else:
        low = ordered["mu_low"].to_numpy(dtype=np.float64)
        high = ordered["mu_high"].to_numpy(dtype=np.float64)
        axes.errorbar(
            mu,
            height,
            xerr=_beside(mu, low, high),
            color=_BLUE,
            fmt="o",
            ms=4,
            lw=1.2,
            capsize=2,
            label="TrueSkill, 95% bootstrap interval",
        )
    if beside:
        published = ordered["phrase"].map(beside).astype("float64")
        axes.plot(
            published, height, "D", ms=4, mfc="none", color=_GREY, label="published mu"
        )
    axes.set_xlabel("mu (position on the ranking, prior 25)")
    axes.legend(loc="lower right", fontsize=_SMALL)
    return png(figure)


def phrase_scale_plot(
    scale: pd.DataFrame, means_by_scale: Mapping[str, Mapping[str, Sequence[float]]]
) -> bytes:
    """Draw p of ranked phrases beside the numbers that people give for them.

    Args:
        scale: rows of a `PHRASE_SCALE` frame that have a p; the most certain comes to
            the top.
        means_by_scale: name of a published scale -> phrase -> its means, in hundredths.
    """
    ascending = scale.sort_values("p", kind="stable").reset_index(drop=True)
    figure, axes = _panel_of_phrases(ascending["phrase"].tolist())
    height = np.arange(len(ascending))
    axes.hlines(
        height,
        ascending["reader_low"],
        ascending["reader_high"],
        color=_BLUE,
        lw=7,
        alpha=0.18,
        label="another reader, 95%",
    )
    p = ascending["p"]
    axes.errorbar(
        p,
        height,
        xerr=_beside(p, ascending["p_low"], ascending["p_high"]),
        color=_BLUE,
        fmt="o",
        ms=5,
        lw=1.2,
        capsize=2,
        label="p of this ranking, 95%",
    )
    # A scale rates phrases that nobody has ranked, and not all of the ranked ones.
    for name, style in zip(means_by_scale, _SCALE_STYLES, strict=False):
        numbers: list[float] = []
        heights: list[int] = []
        for height_of_phrase, phrase in enumerate(ascending["phrase"]):
            means = means_by_scale[name].get(phrase, ())
            numbers += [mean / 100.0 for mean in means]
            heights += [height_of_phrase] * len(means)
        if numbers:
            axes.plot(
                numbers,
                heights,
                style.marker,
                ms=5,
                mfc="none",
                color=style.colour,
                label=name,
            )
    axes.set_xlim(0, 1)
    axes.set_xlabel("p that the finding is present; people's numbers as shares")
    figure.legend(loc="outside lower center", ncols=2, fontsize=_SMALL)
    return png(figure)


def probability_bars(heights: NDArray[np.int64]) -> bytes:
    """Draw the distribution of p over tentative findings.

    Args:
        heights: of the bars between `P_EDGES`.
    """
    figure, axes = one_panel(_HALF_PAGE, 3.6)
    axes.hist(
        P_EDGES[:-1] + 0.025,
        bins=P_EDGES,
        weights=heights,
        color=_BLUE,
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
    figure, axes = one_panel(_HALF_PAGE, 3.6)
    mu = points["mu"].to_numpy(np.float64)
    _draw_line(axes, mu, calibration)
    if len(points):
        _draw_counts_below(axes, mu)
        _draw_typical_findings(axes, points)
    centre = float(np.mean(calibration.phrase_mu))
    for anchor_mu, anchor in zip(calibration.anchor_mu.tolist(), anchors, strict=True):
        _draw_anchor(axes, anchor_mu, anchor, is_right=anchor_mu > centre)
    axes.set(
        xlabel="mu (position on the ranking)",
        ylabel="p that the finding is present",
        ylim=(0, 1),
    )
    axes.legend(loc="upper left", fontsize=_SMALL)
    return png(figure)


def _draw_line(axes: Any, mu: NDArray[np.float64], calibration: Calibration) -> None:
    """Draw the calibration line with its own uncertainty, as far as anything lies."""
    known_mu = np.concatenate([mu, calibration.phrase_mu, calibration.anchor_mu])
    line = np.linspace(float(known_mu.min()) - 2.0, float(known_mu.max()) + 2.0, 400)
    on_line = probability(line, np.zeros_like(line), calibration)
    axes.fill_between(
        line,
        on_line.low,
        on_line.high,
        color=_ORANGE,
        alpha=0.35,
        lw=0,
        label="95% from anchors and ranking",
    )
    axes.plot(line, on_line.p, lw=1.5, color=_ORANGE, label="calibration line")


def _draw_counts_below(axes: Any, mu: NDArray[np.float64]) -> None:
    """Draw how many findings lie where, as pale bars in the panel's lowest fifth."""
    counts, edges = np.histogram(mu, bins=_DRAWN_INTERVALS)
    axes.bar(
        edges[:-1],
        0.2 * counts / counts.max(),
        width=np.diff(edges),
        align="edge",
        color=_GREY,
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
        yerr=_beside(p[drawn], p_low[drawn], p_high[drawn]),
        color=_BLUE,
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
        fontsize=_SMALL,
        xytext=offset,
        ha="right" if is_right else "left",
    )


def validation_curves(
    validation: pd.DataFrame, opponent_limit: int, panel_steps: int
) -> bytes:
    """Draw the mean distance to the known rank against step.

    A panel for strategies and judges, one for K, one for N. The shade around the pooled
    curves is one standard deviation between seeds.

    Args:
        validation: `FIT_VALIDATION` frame.
        opponent_limit: N at which K is varied (the product's).
        panel_steps: K at which N is varied.
    """
    figure = bare_figure(12.0, 4.0)
    by_judges, by_panel, by_limit = figure.subplots(1, 3, sharey=True)
    is_n = validation["opponent_limit"] == opponent_limit
    is_k = validation["panel_steps"] == panel_steps
    for strategy in _STYLE_BY_STRATEGY:
        drawn = validation[is_n & is_k & (validation["strategy"] == strategy)]
        for judges, curve in drawn.groupby("judges", sort=True):
            _draw_curve(by_judges, curve, strategy, is_pooled=judges == "all")
    is_draw_probability = validation["strategy"] == "draw probability"
    is_pooled = validation["judges"] == _pooled_judges(validation)
    pooled = is_draw_probability & is_pooled
    _draw_ordered_curves(by_panel, validation[pooled & is_n], "panel_steps", "K")
    _draw_ordered_curves(by_limit, validation[pooled & is_k], "opponent_limit", "N")
    titles = {
        by_judges: f"opponents and judges (N = {opponent_limit}, K = {panel_steps})",
        by_panel: f"K, steps of the whole panel (N = {opponent_limit})",
        by_limit: f"N, times one phrase is played (K = {panel_steps})",
    }
    for axes, title in titles.items():
        axes.set_title(title, fontsize=9, loc="left")
        axes.set(xlabel="step", xlim=(0, 100))
        axes.set_ylim(bottom=0)
        _draw_legend_once(axes)
        plain(axes)
    by_judges.set_ylabel("mean distance to the known rank (ranks)")
    return png(figure)


def _draw_curve(
    axes: Any, curve: pd.DataFrame, strategy: str, *, is_pooled: bool
) -> None:
    """Draw a strategy's curve: of all judges with its spread, of one judge dashed."""
    step = curve["step"]
    mean = curve["mean_distance"]
    colour = _STYLE_BY_STRATEGY[strategy].colour
    # What is shown is the panel's curve; single judges say how much they differ.
    if not is_pooled:
        label = f"{strategy}, one judge"
        axes.plot(step, mean, color=colour, label=label, lw=1.0, ls="--", alpha=0.8)
        return
    sd = curve["sd_between_seeds"]
    axes.plot(step, mean, color=colour, label=f"{strategy}, all judges", lw=2.0)
    axes.fill_between(step, mean - sd, mean + sd, color=colour, alpha=0.2, lw=0)


def _draw_ordered_curves(
    axes: Any, curves: pd.DataFrame, column: str, letter: str
) -> None:
    """Draw a curve for each value of a column, from dark to bright."""
    from matplotlib import colormaps

    values = sorted(curves[column].unique().tolist())
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, max(len(values), 1)))
    line_styles = ["-", "--", "-.", ":"] * len(values)
    for value, shade, line_style in zip(values, shades, line_styles, strict=False):
        curve = curves[curves[column] == value].sort_values("step")
        axes.plot(
            curve["step"],
            curve["mean_distance"],
            color=shade,
            ls=line_style,
            lw=1.5,
            label=f"{letter} = {value}",
        )


def _draw_legend_once(axes: Any) -> None:
    """Draw a legend with each label once: single judges share one."""
    lines, labels = axes.get_legend_handles_labels()
    # Lines of one label look alike, so it does not matter which of them is shown.
    line_by_label = dict(zip(labels, lines, strict=True))
    axes.legend(line_by_label.values(), line_by_label.keys(), fontsize=_SMALL)


def validation_spread(
    validation: pd.DataFrame, opponent_limit: int, panel_steps: int
) -> bytes:
    """Draw the deviation of the distance at the last step, against K and against N.

    Args:
        validation: `FIT_VALIDATION` frame.
        opponent_limit: N at which K is varied (the product's).
        panel_steps: K at which N is varied.
    """
    figure = bare_figure(9.0, 3.6)
    against_k, against_n = panels = figure.subplots(1, 2, sharey=True)
    is_last = validation["step"] == validation["step"].max()
    is_pooled = validation["judges"] == _pooled_judges(validation)
    last = validation[is_last & is_pooled]
    at_n = last[last["opponent_limit"] == opponent_limit]
    at_k = last[last["panel_steps"] == panel_steps]
    _draw_spread(against_k, at_n, "panel_steps")
    against_k.set_xlabel(f"K, steps of the whole panel (N = {opponent_limit})")
    _draw_spread(against_n, at_k, "opponent_limit")
    against_n.set_xlabel(f"N, times one phrase is played (K = {panel_steps})")
    for axes in panels:
        plain(axes)
    # Only now that both are drawn: it ends the scaling of the axis that they share.
    against_k.set_ylim(bottom=0)
    against_k.set_ylabel("sd of the distance at step 100 (ranks)")
    against_k.legend(
        loc="lower left", fontsize=_SMALL, title="opponents", title_fontsize=_SMALL
    )
    return png(figure)


def _draw_spread(axes: Any, rows: pd.DataFrame, column: str) -> None:
    """Draw a line for each strategy; the values of the column are evenly spaced."""
    values = sorted(rows[column].unique().tolist())
    for strategy, style in _STYLE_BY_STRATEGY.items():
        points = rows[rows["strategy"] == strategy].sort_values(column)
        positions = [values.index(value) for value in points[column].tolist()]
        axes.plot(
            positions,
            points["sd_distance"],
            marker=style.marker,
            color=style.colour,
            label=strategy,
        )
    axes.set_xticks(range(len(values)), [str(value) for value in values])


def _pooled_judges(validation: pd.DataFrame) -> str:
    """Name the judges of the main curves: all, or the only one."""
    names: list[str] = sorted(validation["judges"].unique().tolist())
    return "all" if "all" in names or not names else names[0]


def reliability_diagram(bins: pd.DataFrame, title: str) -> bytes:
    """Draw the observed share against mean p, a point per bin.

    Args:
        bins: cells, mean_p with the mean interval of p (mean_low, mean_high), observed
            with Wilson's interval (observed_low, observed_high).
        title: of the picture.
    """
    figure, axes = one_panel(5.5, 5.0)
    axes.plot(
        [0, 1],
        [0, 1],
        color=_GREY,
        linestyle="--",
        linewidth=1,
        label="perfectly calibrated",
    )
    p = bins["mean_p"]
    observed = bins["observed"]
    axes.errorbar(
        p,
        observed,
        xerr=_beside(p, bins["mean_low"], bins["mean_high"]),
        yerr=_beside(observed, bins["observed_low"], bins["observed_high"]),
        fmt="o",
        ms=4,
        lw=0.8,
        color=_BLUE,
    )
    for x, y, cells in zip(p, observed, bins["cells"], strict=True):
        axes.annotate(
            f"{cells}", (x, y), xytext=(5, 5), textcoords="offset points", fontsize=7
        )
    axes.set(
        xlim=(-0.03, 1.03),
        ylim=(-0.03, 1.03),
        xlabel="mean p of the bin",
        ylabel="share of outcomes 1",
    )
    axes.set_title(title, fontsize=10)
    axes.legend(loc="upper left", fontsize=_SMALL)
    return png(figure)


def agreement_heat_map(agreement: pd.DataFrame) -> bytes:
    """Draw the pairwise agreement of judges, with its numbers.

    Args:
        agreement: `JUDGE_AGREEMENT` frame; for fewer than two judges axes stay empty.
    """
    square = _square(agreement[agreement["measure"] == "pairwise agreement"], "value")
    size = 2.5 + 0.8 * max(len(square), 2)
    figure = bare_figure(size + 1.0, size)
    axes = figure.subplots()
    if len(square):
        image = _draw_shares(axes, square, decimals=3)
        figure.colorbar(image, ax=axes, label="share of equal answers", shrink=0.8)
    return png(figure)


def expert_heat_map(experts: pd.DataFrame, published: pd.DataFrame) -> bytes:
    """Draw the agreement of single experts, beside that of the paper's experts.

    Args:
        experts: measure, first, second and value, as `numbered_experts` gives them.
        published: shares of the paper's experts (rows) with ranking and judges
            (columns).
    """
    is_with_expert = experts["measure"] == "with expert"
    with_experts = _square(experts[is_with_expert], "value")
    with_references = experts[~is_with_expert].pivot(
        index="first", columns="second", values="value"
    )
    panels = {
        "with each other": with_experts,
        "with the ranking and judges": with_references,
        "published (six experts of the paper)": published,
    }
    columns = [max(table.shape[1], 2) for table in panels.values()]
    rows = max(map(len, panels.values()))
    figure = bare_figure(0.75 * sum(columns) + 6.0, 0.45 * rows + 2.6)
    all_axes = figure.subplots(1, 3, gridspec_kw={"width_ratios": columns})
    for axes, (title, table) in zip(all_axes, panels.items(), strict=True):
        image = _draw_shares(axes, table, decimals=2)
        axes.set_title(title, fontsize=10, loc="left")
    figure.colorbar(image, ax=figure.axes, label="share of equal answers", shrink=0.8)
    return png(figure)


def _draw_shares(axes: Any, table: pd.DataFrame, decimals: int) -> Any:
    """Draw shares between chance and 1 as coloured cells with their numbers."""
    values = table.to_numpy(dtype=np.float64)
    low, high = _CHANCE_TO_FULL
    image = axes.imshow(values, cmap="cividis", vmin=low, vmax=high)
    axes.set_aspect("auto")
    axes.set_xticks(range(table.shape[1]), table.columns, rotation=30, ha="right")
    axes.set_yticks(range(len(table)), table.index)
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        is_dark = image.norm(values[row, column]) < 0.5
        axes.text(
            column,
            row,
            f"{values[row, column]:.{decimals}f}",
            ha="center",
            va="center",
            color="white" if is_dark else "black",
            fontsize=_SMALL,
        )
    return image


def correlation_heat_map(correlations: pd.DataFrame) -> bytes:
    """Draw the Spearman correlation of every two rankings: judge by judge, all orders.

    Args:
        correlations: `RANKING_CORRELATIONS` frame.
    """
    first = list(zip(correlations["first"], correlations["first_order"], strict=True))
    second = list(
        zip(correlations["second"], correlations["second_order"], strict=True)
    )
    # Averaged rankings (order -1) come last.
    rankings = sorted({*first, *second}, key=lambda ranking: (ranking[1] < 0, ranking))
    numbered = correlations.assign(
        first=[rankings.index(ranking) for ranking in first],
        second=[rankings.index(ranking) for ranking in second],
    )
    square = _square(numbered, "spearman")
    figure = bare_figure(_HALF_PAGE, 4.6)
    axes = figure.subplots()
    if rankings:
        values = square.to_numpy(copy=True)
        np.fill_diagonal(values, 1.0)
        _draw_correlations(figure, axes, values)
        names = [name if order >= 0 else f"{name} (mean)" for name, order in rankings]
        _draw_groups(axes, names)
    return png(figure)


def _draw_correlations(figure: Any, axes: Any, values: NDArray[np.float64]) -> None:
    low = float(np.nanmin(values))
    high = float(np.nanmax(values))
    # Where all values are the same, the scale of colours still needs a width.
    highest = high if high > low else low + 1e-6
    image = axes.imshow(values, cmap="cividis", vmin=low, vmax=highest)
    label = "Spearman correlation of mu"
    figure.colorbar(image, ax=axes, label=label, shrink=0.8)


def _draw_groups(axes: Any, names: Sequence[str]) -> None:
    """Name runs of the same name once, in their middle, with lines between them."""
    labels: list[str] = []
    middles: list[float] = []
    start = 0
    for name, run in groupby(names):
        length = len(list(run))
        labels.append(name)
        middles.append(start + (length - 1) / 2)
        if start > 0:
            axes.axhline(start - 0.5, color="white", lw=1.2)
            axes.axvline(start - 0.5, color="white", lw=1.2)
        start += length
    axes.set_xticks(middles, labels, rotation=30, ha="right")
    axes.set_yticks(middles, labels)


def _square(pairs: pd.DataFrame, value: str) -> pd.DataFrame:
    """Make a symmetric table of every pair (first, second); NaN on the diagonal."""
    half = pairs.pivot(index="first", columns="second", values=value).astype("float64")
    labels = sorted({*pairs["first"], *pairs["second"]})
    return half.combine_first(half.T).reindex(index=labels, columns=labels)


def distilled_errors(evaluation: pd.DataFrame) -> bytes:
    """Draw errors of mu on what was held out, beside that between halves of the panel.

    Args:
        evaluation: `DISTILLED_EVALUATION` frame.
    """
    figure, axes = one_panel(6.5, 3.2)
    tests = {
        "held-out sentences": {"color": _BLUE, "hatch": ""},
        "held-out phrases": {"color": _ORANGE, "hatch": "//"},
    }
    errors = evaluation[evaluation["test"].isin(list(tests))].pivot(
        index="scorer", columns="test", values="rmse"
    )
    scorers = ("frozen", "tuned", "phrase mean", "mean")
    errors = errors.reindex([name for name in scorers if name in errors.index])
    for number, (test, style) in enumerate(tests.items()):
        height = np.arange(len(errors)) + 0.38 * number
        error = errors.get(test, 0.0)
        bars = axes.barh(height, error, height=0.36, label=test, **style)
        axes.bar_label(bars, fmt="{:.1f}", padding=3, fontsize=_SMALL)
    between = evaluation.loc[evaluation["test"] == "panel halves", "rmse"].iloc[0]
    label = "between halves of the panel"
    axes.axvline(between, color=_GREY, linestyle="--", label=label)
    axes.set_yticks(np.arange(len(errors)) + 0.19, list(errors.index))
    axes.set_xlabel("root mean squared error of mu")
    axes.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=3, fontsize=_SMALL)
    return png(figure)


def _panel_of_phrases(phrases: Sequence[str]) -> tuple[Any, Any]:
    """Make a figure that leaves every phrase a line of its own, the last at the top."""
    figure, axes = one_panel(_HALF_PAGE, 1.0 + 0.2 * max(len(phrases), 5))
    axes.set_yticks(range(len(phrases)), list(phrases), fontsize=_SMALL)
    axes.set_ylim(-0.8, max(len(phrases), 1) - 0.2)
    return figure, axes
