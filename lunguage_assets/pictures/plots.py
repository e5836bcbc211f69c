"""Pictures of the ranking, of agreement, of probabilities and their validation, and of p against outcomes.
Each returns the bytes of a PNG.

Colours are told apart by colour-blind readers (Okabe and Ito; viridis and cividis for ordered values), and
never carry a distinction alone.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.explicit.fit.probability import Anchor, Calibration, probability

P_EDGES = np.array([step / 20 for step in range(21)])
"""Edges of the bars of p."""
POINTS = 1500
"""Findings that are drawn one by one, at most."""
_SMALL, _DPI = 9, 110
_HALF_PAGE = 5.4
"""Inches of a figure that stands beside another: drawn at its own size, so that its words stay readable."""
_DRAWN_INTERVALS = 30
_BLUE, _ORANGE, _GREY, _VERMILION = "#0072B2", "#E69F00", "#6F6F6F", "#D55E00"
_STRATEGIES = (("draw probability", _BLUE, "o"), ("random", _VERMILION, "s"))
_CHANCE_TO_FULL = (0.5, 1.0)
_SCALE_MARKERS = tuple(
    zip(
        "D^sPvX",
        (_ORANGE, _VERMILION, _GREY, "#009E73", "#CC79A7", "black"),
        strict=True,
    )
)
"""Marker and colour of published scales, in the order of their file."""


def bare_figure(width: float, height: float) -> Any:
    """A figure of its own, outside pyplot's global state: assets may run side by side. Inches."""
    from matplotlib.figure import Figure  # slow to import

    return Figure(figsize=(width, height), layout="constrained")


def plain(axes: Any) -> None:
    """No frame at the top and on the right, a pale grid below what is drawn."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)


def one_panel(width: float, height: float) -> tuple[Any, Any]:
    """A plain figure with one panel."""
    figure = bare_figure(width, height)
    axes = figure.subplots()
    plain(axes)
    return figure, axes


def png(figure: Any) -> bytes:
    """The picture; the same figure gives the same bytes."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=_DPI, metadata={"Software": None})
    return stream.getvalue()


def vocabulary_histogram(vocabulary: pd.DataFrame) -> bytes:
    """How often each retained phrase of a `HEDGE_VOCABULARY` frame was extracted, the most frequent at the
    top.
    """
    retained = vocabulary[vocabulary["retained"].to_numpy(dtype=bool)]
    retained = retained.sort_values(["n_examples", "phrase"], ascending=[True, False])
    figure, axes = _of_phrases(retained["phrase"].tolist())
    bars = axes.barh(
        range(len(retained)), retained["n_examples"].tolist(), color=_BLUE, height=0.75
    )
    axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=_SMALL, color=_GREY)
    axes.margins(x=0.08)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("times extracted (tentative findings)")
    left_out = len(vocabulary) - len(retained)
    axes.set_title(
        f"{len(retained)} phrases retained, {left_out} left out",
        fontsize=10,
        loc="left",
    )
    return png(figure)


def ranking_plot(
    ranking: pd.DataFrame, beside: Mapping[str, float] | None = None
) -> bytes:
    """mu of every phrase of a `REFERENCE_RANKING` frame, most certain at the top, with the bootstrap
    interval; `beside`: mu of phrases in the published ranking.
    """
    ordered = ranking.sort_values("rank", ascending=False)
    figure, axes = _of_phrases(ordered["phrase"].tolist())
    places, mu = np.arange(len(ordered)), ordered["mu"].to_numpy(dtype=np.float64)
    if len(ordered) and (ordered["ruler"] == "published").all():
        axes.plot(
            mu, places, "o", ms=4, color=_BLUE, label="published mu (no interval)"
        )
    else:
        low, high = (
            ordered[name].to_numpy(dtype=np.float64) for name in ("mu_low", "mu_high")
        )
        style = {
            "fmt": "o",
            "ms": 4,
            "lw": 1.2,
            "capsize": 2,
            "label": "TrueSkill, 95% bootstrap interval",
        }
        axes.errorbar(
            mu,
            places,
            xerr=np.clip([mu - low, high - mu], 0.0, None),
            color=_BLUE,
            **style,
        )
    if beside:
        elsewhere = ordered["phrase"].map(beside).astype("float64")
        axes.plot(
            elsewhere, places, "D", ms=4, mfc="none", color=_GREY, label="published mu"
        )
    axes.set_xlabel("mu (position on the ranking, prior 25)")
    axes.legend(loc="lower right", fontsize=_SMALL)
    return png(figure)


def phrase_scale_plot(
    scale: pd.DataFrame, means_by_scale: Mapping[str, Mapping[str, Sequence[float]]]
) -> bytes:
    """p of ranked phrases beside the numbers that people give for them, the most certain at the top.

    Args:
        scale: rows of a `PHRASE_SCALE` frame that have a p.
        means_by_scale: name of a published scale -> phrase -> its means, in hundredths.
    """
    ascending = scale.sort_values("p", kind="stable").reset_index(drop=True)
    figure, axes = _of_phrases(ascending["phrase"].tolist())
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
    reach = np.clip([p - ascending["p_low"], ascending["p_high"] - p], 0.0, None)
    style = {
        "fmt": "o",
        "ms": 5,
        "lw": 1.2,
        "capsize": 2,
        "label": "p of this ranking, 95%",
    }
    axes.errorbar(p, height, xerr=reach, color=_BLUE, **style)
    height_by_phrase = dict(zip(ascending["phrase"], height.tolist(), strict=True))
    named_markers = zip(means_by_scale, _SCALE_MARKERS, strict=False)
    for name, (marker, colour) in named_markers:
        numbers: list[float] = []
        heights: list[int] = []
        for phrase, means in means_by_scale[name].items():
            if phrase in height_by_phrase:
                numbers += [mean / 100.0 for mean in means]
                heights += [height_by_phrase[phrase]] * len(means)
        if numbers:
            axes.plot(
                numbers, heights, marker, ms=5, mfc="none", color=colour, label=name
            )
    axes.set_xlim(0, 1)
    axes.set_xlabel("p that the finding is present; people's numbers as shares")
    figure.legend(loc="outside lower center", ncols=2, fontsize=_SMALL)
    return png(figure)


def probability_bars(heights: NDArray[np.int64]) -> bytes:
    """Distribution of p over tentative findings, from the heights of the bars between `P_EDGES`."""
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
    """mu against p: the calibration line with its own uncertainty, fitted findings on it with their
    intervals, the anchors that it goes through.

    Args:
        points: mu, p, p_low and p_high of the findings that are drawn, by mu. Without any, the line stands
            alone.
        calibration: the line, as `calibrate(ranking, anchors)` gives it.
        anchors: the anchors in the same order.
    """
    figure, axes = one_panel(_HALF_PAGE, 3.6)
    mu, p, p_low, p_high = (
        points[name].to_numpy(np.float64) for name in ("mu", "p", "p_low", "p_high")
    )
    ends = np.concatenate([mu, calibration.phrase_mu, calibration.anchor_mu])
    line = np.linspace(float(ends.min()) - 2.0, float(ends.max()) + 2.0, 400)
    middle, low, high = probability(line, np.zeros_like(line), calibration)
    axes.fill_between(
        line,
        low,
        high,
        color=_ORANGE,
        alpha=0.35,
        lw=0,
        label="95% from anchors and ranking",
    )
    axes.plot(line, middle, lw=1.5, color=_ORANGE, label="calibration line")
    if len(points):
        _draw_counts_below(axes, mu)
        # Hundreds of intervals side by side are a blue wall: each stands for the findings around it.
        drawn = _typical_findings(mu, p_high - p_low)
        error = np.clip([p[drawn] - p_low[drawn], p_high[drawn] - p[drawn]], 0.0, None)
        style = {
            "fmt": "o",
            "ms": 3,
            "lw": 1.0,
            "capsize": 2,
            "label": "typical findings, 95% interval",
        }
        axes.errorbar(mu[drawn], p[drawn], yerr=error, color=_BLUE, **style)
    centre = float(np.mean(calibration.phrase_mu))
    for at, anchor in zip(calibration.anchor_mu.tolist(), anchors, strict=True):
        value, error = (
            anchor.probability,
            [[anchor.probability - anchor.low], [anchor.high - anchor.probability]],
        )
        axes.errorbar(
            [at],
            [value],
            yerr=error,
            fmt="D",
            ms=6,
            lw=1.5,
            capsize=3,
            color="black",
            zorder=5,
        )
        place = (
            {"xytext": (-8, 10), "ha": "right"}
            if at > centre
            else {"xytext": (8, -14), "ha": "left"}
        )
        words = f"{anchor.phrase} ({value:.2f})"
        axes.annotate(
            words, (at, value), textcoords="offset points", fontsize=_SMALL, **place
        )
    axes.set(
        xlabel="mu (position on the ranking)",
        ylabel="p that the finding is present",
        ylim=(0, 1),
    )
    axes.legend(loc="upper left", fontsize=_SMALL)
    return png(figure)


def _typical_findings(
    mu: NDArray[np.float64], width: NDArray[np.float64]
) -> NDArray[np.intp]:
    """The finding with the middle width of its interval in each of equal parts of the scale."""
    edges = np.linspace(mu.min(), mu.max(), _DRAWN_INTERVALS + 1)
    part_of_finding = np.clip(
        np.searchsorted(edges, mu, side="right") - 1, 0, _DRAWN_INTERVALS - 1
    )
    typical = []
    for part in np.unique(part_of_finding):
        findings = np.flatnonzero(part_of_finding == part)
        by_width = findings[np.argsort(width[findings], kind="stable")]
        typical.append(by_width[len(by_width) // 2])
    return np.array(typical, dtype=np.intp)


def _draw_counts_below(axes: Any, mu: NDArray[np.float64]) -> None:
    """How many findings lie where, as pale bars in the lowest fifth of the panel."""
    counts, edges = np.histogram(mu, bins=_DRAWN_INTERVALS)
    heights = 0.2 * counts / counts.max()
    axes.bar(
        edges[:-1],
        heights,
        width=np.diff(edges),
        align="edge",
        color=_GREY,
        alpha=0.3,
        lw=0,
        label="how many findings lie there",
    )


def validation_curves(
    validation: pd.DataFrame, opponent_limit: int, panel_steps: int
) -> bytes:
    """Mean distance to the known rank against step (`FIT_VALIDATION` frame): by strategy and judges, by K, by
    N.

    The shade around the pooled curves is one standard deviation between seeds.

    Args:
        validation: the study.
        opponent_limit, panel_steps: N and K at which the other one is varied (the product's).
    """
    figure = bare_figure(12.0, 4.0)
    by_judges, by_panel, by_limit = panels = figure.subplots(1, 3, sharey=True)
    n, k = (
        validation["opponent_limit"] == opponent_limit,
        validation["panel_steps"] == panel_steps,
    )
    for strategy, colour, _ in _STRATEGIES:
        drawn = validation[n & k & (validation["strategy"] == strategy)]
        for judges, curve in drawn.groupby("judges", sort=True):
            step, middle = curve["step"], curve["mean_distance"]
            if judges != "all":
                style = {
                    "label": f"{strategy}, one judge",
                    "lw": 1.0,
                    "ls": "--",
                    "alpha": 0.8,
                }
                by_judges.plot(step, middle, color=colour, **style)
                continue
            sd = curve["sd_between_seeds"]
            by_judges.plot(
                step, middle, color=colour, label=f"{strategy}, all judges", lw=2.0
            )
            by_judges.fill_between(
                step, middle - sd, middle + sd, color=colour, alpha=0.2, lw=0
            )
    pooled = (validation["strategy"] == "draw probability") & (
        validation["judges"] == _pooled(validation)
    )
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
        named = dict(
            zip(reversed(labels), reversed(lines), strict=True)
        )  # each label once
        axes.legend(
            [named[label] for label in dict.fromkeys(labels)],
            dict.fromkeys(labels),
            fontsize=_SMALL,
        )
        plain(axes)
    by_judges.set_ylabel("mean distance to the known rank (ranks)")
    return png(figure)


def validation_spread(
    validation: pd.DataFrame, opponent_limit: int, panel_steps: int
) -> bytes:
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
        (
            last[k],
            "opponent_limit",
            f"N, times one phrase is played (K = {panel_steps})",
        ),
    )
    for axes, (part, column, label) in zip(panels, parts, strict=True):
        values = sorted(part[column].unique().tolist())
        for strategy, colour, marker in _STRATEGIES:
            points = part[part["strategy"] == strategy].sort_values(column)
            places = [values.index(value) for value in points[column].tolist()]
            axes.plot(
                places,
                points["sd_distance"],
                marker=marker,
                color=colour,
                label=strategy,
            )
        axes.set_xticks(range(len(values)), [str(value) for value in values])
        axes.set_xlabel(label)
        plain(axes)
    panels[0].set_ylim(
        bottom=0
    )  # now that both are drawn: it ends the scaling of the axis that they share
    panels[0].set_ylabel("sd of the distance at step 100 (ranks)")
    panels[0].legend(
        loc="lower left", fontsize=_SMALL, title="opponents", title_fontsize=_SMALL
    )
    return png(figure)


def reliability_diagram(bins: pd.DataFrame, title: str) -> bytes:
    """Observed share against mean p, a point per bin, with the mean interval of p and Wilson's of the share.

    Args:
        bins: columns cells, mean_p, mean_low, mean_high, observed, observed_low, observed_high.
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
    p, observed = bins["mean_p"], bins["observed"]
    across = np.clip([p - bins["mean_low"], bins["mean_high"] - p], 0.0, None)
    up = np.clip(
        [observed - bins["observed_low"], bins["observed_high"] - observed], 0.0, None
    )
    axes.errorbar(p, observed, xerr=across, yerr=up, fmt="o", ms=4, lw=0.8, color=_BLUE)
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
    """Pairwise agreement of judges, with its numbers, from a `tables.JUDGE_AGREEMENT` frame; empty axes for
    fewer than two judges.
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
    """Agreement of single experts with each other and with the ranking and judges, with its numbers, beside
    the published agreement of others.

    Args:
        experts: measure, first, second and value, as `numbered_experts` gives them.
        published: shares of the paper's experts (lines) with ranking and judges (columns).
    """
    with_experts = _square(experts[experts["measure"] == "with expert"], "value")
    of_references = experts[experts["measure"] != "with expert"]
    with_references = of_references.pivot(
        index="first", columns="second", values="value"
    )
    panels = {
        "with each other": with_experts,
        "with the ranking and judges": with_references,
        "published (six experts of the paper)": published,
    }
    columns = [max(table.shape[1], 2) for table in panels.values()]
    lines = max(map(len, panels.values()))
    figure = bare_figure(0.75 * sum(columns) + 6.0, 0.45 * lines + 2.6)
    shares = {"width_ratios": columns}
    for axes, (title, table) in zip(
        figure.subplots(1, 3, gridspec_kw=shares), panels.items(), strict=True
    ):
        image = _draw_shares(axes, table, decimals=2)
        axes.set_title(title, fontsize=10, loc="left")
    figure.colorbar(image, ax=figure.axes, label="share of equal answers", shrink=0.8)
    return png(figure)


def _draw_shares(axes: Any, table: pd.DataFrame, decimals: int) -> Any:
    """Draw a table of shares between chance and 1 as coloured cells with their numbers; empty where NaN."""
    values = table.to_numpy(dtype=np.float64)
    low, high = _CHANCE_TO_FULL
    image = axes.imshow(values, cmap="cividis", vmin=low, vmax=high)
    axes.set_aspect("auto")
    axes.set_xticks(range(table.shape[1]), table.columns, rotation=30, ha="right")
    axes.set_yticks(range(len(table)), table.index)
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        colour = "white" if image.norm(values[row, column]) < 0.5 else "black"
        style = {"ha": "center", "va": "center", "color": colour, "fontsize": _SMALL}
        axes.text(column, row, f"{values[row, column]:.{decimals}f}", **style)
    return image


def correlation_heat_map(correlations: pd.DataFrame) -> bytes:
    """Spearman correlation of every two rankings, from a `tables.RANKING_CORRELATIONS` frame: judge by judge,
    each in all its orders.
    """
    first, second = (
        list(zip(correlations[side], correlations[f"{side}_order"], strict=True))
        for side in ("first", "second")
    )
    rankings = sorted({*first, *second}, key=lambda ranking: (ranking[1] < 0, ranking))
    numbers = {
        "first": map(rankings.index, first),
        "second": map(rankings.index, second),
    }
    square = _square(
        correlations.assign(**{name: [*of] for name, of in numbers.items()}), "spearman"
    )
    figure = bare_figure(_HALF_PAGE, 4.6)
    axes = figure.subplots()
    if rankings:
        values = square.to_numpy(copy=True)
        np.fill_diagonal(values, 1.0)
        limits = float(np.nanmin(values)), float(np.nanmax(values))
        _shown(figure, axes, values, "Spearman correlation of mu", limits)
        groups = [name if order >= 0 else f"{name} (mean)" for name, order in rankings]
        starts = [
            i for i, group in enumerate(groups) if i == 0 or group != groups[i - 1]
        ]
        middles = [
            (start + end - 1) / 2 for start, end in pairwise([*starts, len(groups)])
        ]
        names = [groups[start] for start in starts]
        axes.set_xticks(middles, names, rotation=30, ha="right")
        axes.set_yticks(middles, names)
        for start in starts[1:]:
            axes.axhline(start - 0.5, color="white", lw=1.2)
            axes.axvline(start - 0.5, color="white", lw=1.2)
    return png(figure)


def distilled_errors(evaluation: pd.DataFrame) -> bytes:
    """Errors of mu of what scores, on held-out sentences and phrases, beside that between halves of the
    panel, from a `tables.DISTILLED_EVALUATION` frame.
    """
    figure, axes = one_panel(6.5, 3.2)
    tests = ("held-out sentences", "held-out phrases")
    shown = evaluation[evaluation["test"].isin(tests)].pivot(
        index="scorer", columns="test", values="rmse"
    )
    shown = shown.reindex(
        [
            one
            for one in ("frozen", "tuned", "phrase mean", "mean")
            if one in shown.index
        ]
    )
    for number, (test, colour, hatch) in enumerate(
        zip(tests, (_BLUE, _ORANGE), ("", "//"), strict=True)
    ):
        at = np.arange(len(shown)) + 0.38 * number
        bars = axes.barh(
            at, shown.get(test, 0.0), height=0.36, color=colour, hatch=hatch, label=test
        )
        axes.bar_label(bars, fmt="{:.1f}", padding=3, fontsize=_SMALL)
    between = evaluation.loc[evaluation["test"] == "panel halves", "rmse"].iloc[0]
    axes.axvline(
        between, color=_GREY, linestyle="--", label="between halves of the panel"
    )
    axes.set_yticks(np.arange(len(shown)) + 0.19, list(shown.index))
    axes.set_xlabel("root mean squared error of mu")
    axes.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=3, fontsize=_SMALL)
    return png(figure)


def _square(pairs: pd.DataFrame, value: str) -> pd.DataFrame:
    """A symmetric table, sorted, from every pair (first, second) once; NaN on the diagonal."""
    found = pairs.pivot(index="first", columns="second", values=value).astype("float64")
    labels = sorted({*pairs["first"], *pairs["second"]})
    return found.combine_first(found.T).reindex(index=labels, columns=labels)


def _shown(
    figure: Any, axes: Any, square: Any, label: str, limits: tuple[float, float]
) -> Any:
    """Draw a matrix with colours between the limits."""
    low, high = limits
    image = axes.imshow(
        square, cmap="cividis", vmin=low, vmax=high if high > low else low + 1e-6
    )
    figure.colorbar(image, ax=axes, label=label, shrink=0.8)
    return image


def _pooled(validation: pd.DataFrame) -> str:
    """The judges of the main curves: all, or the only one."""
    names: list[str] = sorted(validation["judges"].unique().tolist())
    return "all" if "all" in names or not names else names[0]


def _ordered_curves(axes: Any, curves: pd.DataFrame, column: str, letter: str) -> None:
    from matplotlib import colormaps

    values = sorted(curves[column].unique().tolist())
    shades = colormaps["viridis"](np.linspace(0.0, 0.85, max(len(values), 1)))
    for value, shade, style in zip(
        values, shades, ["-", "--", "-.", ":"] * len(values), strict=False
    ):
        curve = curves[curves[column] == value].sort_values("step")
        label = f"{letter} = {value}"
        axes.plot(
            curve["step"],
            curve["mean_distance"],
            color=shade,
            ls=style,
            lw=1.5,
            label=label,
        )


def _of_phrases(phrases: Sequence[str]) -> tuple[Any, Any]:
    """A figure that leaves every phrase a line of its own, the last at the top."""
    figure, axes = one_panel(_HALF_PAGE, 1.0 + 0.2 * max(len(phrases), 5))
    axes.set_yticks(range(len(phrases)), list(phrases), fontsize=_SMALL)
    axes.set_ylim(-0.8, max(len(phrases), 1) - 0.2)
    return figure, axes
