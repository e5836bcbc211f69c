"""Heat maps of agreement: judges with each other, and rankings with each other. Each returns the bytes of a
PNG.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.pictures.canvas import bare_figure, png

_COLOURS = "cividis"  # reads the same for colour-blind people and in grey
_CHANCE_TO_FULL = (0.5, 1.0)

Floats = NDArray[np.float64]


def agreement_heat_map(agreement: pd.DataFrame) -> bytes:
    """Pairwise agreement of judges, with its numbers, from a `tables.JUDGE_AGREEMENT` frame; empty axes for
    fewer than two judges.
    """
    rows = agreement[agreement["measure"] == "pairwise agreement"]
    judges = sorted({*rows["first"], *rows["second"]})
    square = _square([*rows["first"]], [*rows["second"]], rows["value"].to_numpy(np.float64), judges)
    size = 2.5 + 0.8 * max(len(judges), 2)
    return _numbered(pd.DataFrame(square, judges, judges), "{:.3f}", size + 1.0, size)


def expert_heat_map(shares: pd.DataFrame) -> bytes:
    """Shares of equal answers with their numbers: a line per group of experts, a column for whom they are
    compared with (`by_group`); what was not compared stays blank.
    """
    lines, columns = shares.shape
    return _numbered(shares, "{:.2f}", 4.0 + 0.8 * max(columns, 2), 1.8 + 0.45 * max(lines, 2))


def correlation_heat_map(correlations: pd.DataFrame) -> bytes:
    """Spearman correlation of every two rankings, from a `tables.RANKING_CORRELATIONS` frame: judge by judge,
    each in all its orders.
    """
    first = list(zip(correlations["first"].tolist(), correlations["first_order"].tolist(), strict=True))
    second = list(zip(correlations["second"].tolist(), correlations["second_order"].tolist(), strict=True))
    rankings = sorted({*first, *second}, key=lambda ranking: (ranking[1] < 0, ranking))
    square = _square(first, second, correlations["spearman"].to_numpy(np.float64), rankings)
    np.fill_diagonal(square, 1.0)
    figure = bare_figure(7.5, 6.5)
    axes = figure.subplots()
    if rankings:
        limits = float(np.nanmin(square)), float(np.nanmax(square))
        _shown(figure, axes, square, "Spearman correlation of mu", limits)
        groups = [name if order >= 0 else f"{name} (mean)" for name, order in rankings]
        starts = [i for i, group in enumerate(groups) if i == 0 or group != groups[i - 1]]
        middles = [(start + end - 1) / 2 for start, end in pairwise([*starts, len(groups)])]
        names = [groups[start] for start in starts]
        axes.set_xticks(middles, names, rotation=30, ha="right")
        axes.set_yticks(middles, names)
        for start in starts[1:]:
            axes.axhline(start - 0.5, color="white", lw=1.2)
            axes.axvline(start - 0.5, color="white", lw=1.2)
    return png(figure)


def _square(first: Sequence[Any], second: Sequence[Any], values: Floats, labels: Sequence[Any]) -> Floats:
    """A symmetric matrix from each pair once; NaN where a pair is missing, and on the diagonal."""
    place = {label: i for i, label in enumerate(labels)}
    rows, columns = [place[label] for label in first], [place[label] for label in second]
    square: Floats = np.full((len(labels), len(labels)), np.nan)
    square[rows, columns] = values
    square[columns, rows] = values
    return square


def _shown(figure: Any, axes: Any, square: Floats, label: str, limits: tuple[float, float]) -> Any:
    """Draw the matrix with colours between the limits."""
    low, high = limits
    image = axes.imshow(square, cmap=_COLOURS, vmin=low, vmax=high if high > low else low + 1e-6)
    figure.colorbar(image, ax=axes, label=label, shrink=0.8)
    return image


def _numbered(shares: pd.DataFrame, form: str, width: float, height: float) -> bytes:
    """Shares with their numbers in the cells; without any, empty axes."""
    figure = bare_figure(width, height)
    axes = figure.subplots()
    if shares.empty:
        return png(figure)
    values = shares.to_numpy(dtype=np.float64)
    shown = _shown(figure, axes, values, "share of equal answers", _CHANCE_TO_FULL)
    axes.set_aspect("auto")
    axes.set_xticks(range(values.shape[1]), shares.columns.astype(str), rotation=30, ha="right")
    axes.set_yticks(range(values.shape[0]), shares.index.astype(str))
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        colour = "white" if shown.norm(values[row, column]) < 0.5 else "black"
        style = {"ha": "center", "va": "center", "color": colour, "fontsize": 8}
        axes.text(column, row, form.format(values[row, column]), **style)
    return png(figure)
