"""Pictures of how far the scale can be trusted.

They show the agreement of judges, and fits of phrases whose rank is known
(docs/method/explicit.md sections 3, 4 and 7). Each function returns the bytes of a PNG.
What is drawn is computed in `explicit.analysis`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.pictures.figure import (
    BLUE,
    SMALL,
    VERMILION,
    Style,
    bare_figure,
    plain,
    png,
)

_CHANCE_TO_FULL = (0.5, 1.0)

_STYLE_BY_STRATEGY = {
    "draw probability": Style(BLUE, "o"),
    "random": Style(VERMILION, "s"),
}


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
        _draw_strategy(by_judges, drawn, strategy)
    # K and N are varied for the product's own strategy, with all judges (explicit.md
    # section 7).
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
        if axes.lines:
            axes.legend(fontsize=SMALL)
        plain(axes)
    by_judges.set_ylabel("mean distance to the known rank (ranks)")
    return png(figure)


def _draw_strategy(axes: Any, curves: pd.DataFrame, strategy: str) -> None:
    """Draw a strategy's curve: of all judges with its spread, of one judge dashed."""
    colour = _STYLE_BY_STRATEGY[strategy].colour
    means = curves.pivot(index="step", columns="judges", values="mean_distance")
    single = means.drop(columns="all", errors="ignore")
    # What is shown is the panel's curve; single judges say how much they differ.
    lines = axes.plot(single, color=colour, lw=1.0, ls="--", alpha=0.8)
    for line in lines[:1]:
        line.set_label(f"{strategy}, one judge")
    pooled = curves[curves["judges"] == "all"]
    if pooled.empty:
        return
    mean = pooled["mean_distance"]
    sd = pooled["sd_between_seeds"]
    axes.plot(pooled["step"], mean, color=colour, label=f"{strategy}, all judges", lw=2)
    axes.fill_between(
        pooled["step"], mean - sd, mean + sd, color=colour, alpha=0.2, lw=0
    )


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
        loc="lower left", fontsize=SMALL, title="opponents", title_fontsize=SMALL
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


def agreement_heat_map(agreement: pd.DataFrame) -> bytes:
    """Draw the pairwise agreement of judges, with its numbers.

    Args:
        agreement: `JUDGE_AGREEMENT` frame; for fewer than two judges axes stay empty.
    """
    pairs = agreement[agreement["measure"] == "pairwise agreement"]
    return _heat_map_of_pairs(pairs, "value", "share of equal answers")


def correlation_heat_map(correlations: pd.DataFrame) -> bytes:
    """Draw the mean Spearman correlation of the judges' rankings over orders of play.

    On the diagonal is that of a judge's own orders.

    Args:
        correlations: `RANKING_CORRELATIONS` frame.
    """
    return _heat_map_of_pairs(correlations, "spearman", "Spearman correlation of mu")


def _heat_map_of_pairs(pairs: pd.DataFrame, value: str, title: str) -> bytes:
    square = _square(pairs, value)
    size = 2.5 + 0.8 * max(len(square), 2)
    figure = bare_figure(size + 1.0, size)
    axes = figure.subplots()
    if len(square):
        image = _draw_shares(axes, square, decimals=3)
        figure.colorbar(image, ax=axes, label=title, shrink=0.8)
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
        # Black on dark blue could not be read.
        is_dark = image.norm(values[row, column]) < 0.5
        axes.text(
            column,
            row,
            f"{values[row, column]:.{decimals}f}",
            ha="center",
            va="center",
            color="white" if is_dark else "black",
            fontsize=SMALL,
        )
    return image


def _square(pairs: pd.DataFrame, value: str) -> pd.DataFrame:
    """Make a symmetric table of every pair (first, second); NaN on the diagonal."""
    half = pairs.pivot(index="first", columns="second", values=value).astype("float64")
    labels = sorted({*pairs["first"], *pairs["second"]})
    return half.combine_first(half.T).reindex(index=labels, columns=labels)
