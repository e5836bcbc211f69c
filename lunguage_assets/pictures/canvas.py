"""What all pictures share: a canvas outside pyplot's global state, and the bytes of a PNG."""

from __future__ import annotations

import io
from typing import Any

_DPI = 110


def bare_figure(width: float, height: float) -> Any:
    """A figure of its own, outside pyplot's global state: assets may run side by side. Inches."""
    from matplotlib.figure import Figure

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
