"""Stacked bars of the conflicts before resolution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.pictures.canvas import bare_figure, drawn_once, plain, png
from lunguage_assets.tables import CONFLICT_SOURCES, CONFLICT_TYPES

_KINDS = (("#0072B2", ""), ("#E69F00", "///"), ("#6F6F6F", "..."))  # Okabe and Ito


@drawn_once
def conflict_bars(counts: Mapping[tuple[str, str], int]) -> bytes:
    """PNG: a group of stacked bars per type, a part per source, told apart by colour and hatching."""
    canvas = bare_figure(7.0, 3.6)
    axes = canvas.subplots()
    parts = [
        (source, colour, hatch, np.array([counts[kind, source] for kind in CONFLICT_TYPES], dtype=np.float64))
        for source, (colour, hatch) in zip(CONFLICT_SOURCES, _KINDS, strict=True)
    ]
    longest = _stack(axes, CONFLICT_TYPES, parts)
    axes.invert_yaxis()
    axes.set_xlabel("conflicts (groups of rows)")
    axes.set_xlim(0, max(longest, 1.0) * 1.05)
    axes.legend(fontsize=8)
    return png(canvas)


def _stack(
    axes: Any, names: Sequence[str], parts: Iterable[tuple[str, str, str, NDArray[np.float64]]]
) -> float:
    """Draw the parts of every bar (label, colour, hatching, widths) side by side; length of the longest."""
    left = np.zeros(len(names))
    for label, colour, hatch, widths in parts:
        style = {"color": colour, "hatch": hatch, "edgecolor": "white", "height": 0.7, "label": label}
        axes.barh(np.arange(len(names)), widths, left=left, **style)
        left += widths
    axes.set_yticks(np.arange(len(names)), names)
    plain(axes)
    axes.grid(visible=False, axis="y")
    return float(left.max(initial=0.0))
