"""The picture of what hedging phrases mean, ours and published scales phrase by phrase."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lunguage_assets.pictures.canvas import bare_figure, drawn_once, plain, png

_COLOURS = ("#D55E00", "#009E73", "#CC79A7")  # Okabe and Ito
_OURS, _SMALL = "#0072B2", 8


@drawn_once
def scale_plot(scale: pd.DataFrame, marks: pd.DataFrame) -> bytes:
    """PNG: p of every phrase with the interval of the mean (thick) and the range of another reader (thin),
    and published scales below it.

    Args:
        scale: a `PHRASE_SCALE` frame.
        marks: columns scale, phrase, middle, low, high (shares); a band has no middle.
    """
    drawn = scale[scale["p"].notna() | scale["phrase"].isin(marks["phrase"])].reset_index(drop=True)
    canvas = bare_figure(7.5, 1.2 + 0.24 * max(len(drawn), 5))
    axes = canvas.subplots()
    places = {phrase: len(drawn) - 1 - i for i, phrase in enumerate(drawn["phrase"].tolist())}
    ours = drawn[drawn["p"].notna()]
    own = np.array([places[phrase] for phrase in ours["phrase"].tolist()]) + 0.12
    axes.hlines(
        own, ours["reader_low"], ours["reader_high"], lw=0.8, color=_OURS, label="another reader, 95%"
    )
    axes.hlines(
        own, ours["p_low"], ours["p_high"], lw=3, color=_OURS, alpha=0.5, label="ours, 95% of the mean"
    )
    axes.plot(ours["p"], own, "o", ms=4, color=_OURS, label="ours")
    anchors = ours["is_anchor"].to_numpy(dtype=bool)
    axes.plot(ours["p"][anchors], own[anchors], "D", ms=6, mfc="none", color="black", label="anchor")
    for (name, rows), colour in zip(marks.groupby("scale", sort=False), _COLOURS, strict=False):
        rows = rows[rows["phrase"].isin(places)]
        at = np.array([places[phrase] for phrase in rows["phrase"].tolist()]) - 0.18
        axes.hlines(at, rows["low"], rows["high"], lw=2.5, color=colour, label=str(name))
        axes.plot(rows["middle"], at, "s", ms=4, color=colour)
    axes.set_yticks(list(places.values()), list(places), fontsize=_SMALL)
    axes.set_ylim(-0.8, len(places) - 0.2)
    axes.set(xlim=(0, 1), xlabel="probability that the finding is present")
    plain(axes)
    axes.legend(loc="upper left", fontsize=_SMALL)
    return png(canvas)
