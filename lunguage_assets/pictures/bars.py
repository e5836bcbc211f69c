"""Stacked bars: the conflicts before resolution, and what became of tentative findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.pictures.canvas import bare_figure, drawn_once, plain, png
from lunguage_assets.tables import CONFLICT_SOURCES, CONFLICT_TYPES

_KINDS = (("#0072B2", ""), ("#E69F00", "///"), ("#6F6F6F", "..."))  # Okabe and Ito
_FATES = (
    ("confirmed", "confirmed", "#0072B2", ""),
    ("carried_forward", "still tentative", "#56B4E9", "///"),
    ("refuted", "refuted", "#D55E00", ""),
    ("resolved", "resolved", "#E69F00", "..."),
    ("silent", "not mentioned again", "#BBBBBB", ""),
)


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


@drawn_once
def course_bars(counts: pd.DataFrame) -> bytes:
    """PNG: of the tentative statements of each fifth of p that have a later study, the share of each fate.

    Args:
        counts: a `COURSE_COUNTS` frame; a count that is not a number is withheld, and drawn as none.
    """
    rows = counts[counts["by"] == "p of tentative findings"]
    shown = {name: pd.to_numeric(rows[name], errors="coerce").fillna(0).to_numpy() for name, *_ in _FATES}
    total = np.sum(list(shown.values()), axis=0)
    canvas = bare_figure(7.0, 3.4)
    axes = canvas.subplots()
    names = [f"{fifth}  (n = {int(n):,})" for fifth, n in zip(rows["value"].tolist(), total, strict=True)]
    shares = {
        name: np.divide(found, total, out=np.zeros(len(rows)), where=total > 0)
        for name, found in shown.items()
    }
    _stack(axes, names, ((label, colour, hatch, shares[name]) for name, label, colour, hatch in _FATES))
    axes.set_ylabel("p when it was tentative")
    axes.set_xlabel("share of tentative statements with a later study")
    axes.set_xlim(0, 1)
    axes.legend(fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.4, 1.0))
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
