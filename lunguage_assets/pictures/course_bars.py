"""The picture of what became of tentative findings."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lunguage_assets.pictures.canvas import bare_figure, drawn_once, plain, png

_FATES = (
    ("confirmed", "confirmed", "#0072B2", ""),
    ("carried_forward", "still tentative", "#56B4E9", "///"),
    ("refuted", "refuted", "#D55E00", ""),
    ("resolved", "resolved", "#E69F00", "..."),
    ("silent", "not mentioned again", "#BBBBBB", ""),
)


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
    places, left = np.arange(len(rows)), np.zeros(len(rows))
    for name, label, colour, hatch in _FATES:
        share = np.divide(shown[name], total, out=np.zeros(len(rows)), where=total > 0)
        axes.barh(
            places, share, left=left, color=colour, hatch=hatch, edgecolor="white", height=0.7, label=label
        )
        left += share
    names = [f"{fifth}  (n = {int(n):,})" for fifth, n in zip(rows["value"].tolist(), total, strict=True)]
    axes.set_yticks(places, names)
    axes.set_ylabel("p when it was tentative")
    axes.set_xlabel("share of tentative statements with a later study")
    axes.set_xlim(0, 1)
    plain(axes)
    axes.grid(visible=False, axis="y")
    axes.legend(fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.4, 1.0))
    return png(canvas)
