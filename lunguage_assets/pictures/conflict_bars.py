"""The picture of the conflicts before resolution."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lunguage_assets.pictures.canvas import bare_figure, drawn_once, plain, png
from lunguage_assets.tables import CONFLICT_SOURCES, CONFLICT_TYPES

_COLOURS = ("#0072B2", "#E69F00", "#6F6F6F")  # Okabe and Ito
_HATCHES = ("", "///", "...")


@drawn_once
def conflict_bars(counts: Mapping[tuple[str, str], int]) -> bytes:
    """PNG: a group of stacked bars per type, a part per source, told apart by colour and hatching."""
    canvas = bare_figure(7.0, 3.6)
    axes = canvas.subplots()
    places, left = np.arange(len(CONFLICT_TYPES)), np.zeros(len(CONFLICT_TYPES))
    for source, colour, hatch in zip(CONFLICT_SOURCES, _COLOURS, _HATCHES, strict=True):
        widths = np.array([counts[kind, source] for kind in CONFLICT_TYPES], dtype=np.float64)
        axes.barh(
            places, widths, left=left, color=colour, hatch=hatch, edgecolor="white", height=0.7, label=source
        )
        left += widths
    axes.set_yticks(places, CONFLICT_TYPES)
    axes.invert_yaxis()
    axes.set_xlabel("conflicts (groups of rows)")
    axes.set_xlim(0, max(float(left.max()), 1.0) * 1.05)
    plain(axes)
    axes.grid(visible=False, axis="y")
    axes.legend(fontsize=8)
    return png(canvas)
