"""What all pictures share: figures, colours and the bytes of a PNG.

Colours are told apart by colour-blind readers (Okabe and Ito), and never carry a
distinction alone. matplotlib is imported with the first picture: it is slow to import.
"""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_DPI = 110
SMALL = 9
"""Points of small print."""
HALF_PAGE = 5.4
"""Inches of a figure that stands beside another: drawn at its own size, so that its
words stay readable.
"""

BLUE = "#0072B2"
ORANGE = "#E69F00"
GREY = "#6F6F6F"
VERMILION = "#D55E00"


class Style(NamedTuple):
    """How a series is drawn."""

    colour: str
    marker: str


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


def error_bars(middle: Any, low: Any, high: Any) -> NDArray[np.float64]:
    """Compute the lengths of error bars; a bound beyond its middle draws none.

    Args:
        middle: where the points lie.
        low: lower bounds, as values on the axis.
        high: upper bounds.

    Returns:
        Lengths below and above the middle, shape (2, points).
    """
    lengths: NDArray[np.float64] = np.clip([middle - low, high - middle], 0.0, None)
    return lengths
