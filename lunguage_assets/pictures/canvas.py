"""What all pictures share: a canvas outside pyplot's global state, the bytes of a PNG, no second drawing."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import pandas as pd

_DPI = 110
_KEPT: dict[str, bytes] = {}
_AT_MOST = 32

P = ParamSpec("P")


def bare_figure(width: float, height: float) -> Any:
    """A figure of its own, outside pyplot's global state: assets may run side by side. Inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain(axes: Any) -> None:
    """No frame at the top and on the right, a pale grid below what is drawn."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.3)
    axes.set_axisbelow(True)


def png(figure: Any) -> bytes:
    """The picture; the same figure gives the same bytes."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=_DPI, metadata={"Software": None})
    return stream.getvalue()


def drawn_once(draw: Callable[P, bytes]) -> Callable[P, bytes]:
    """Keep the last pictures of the process by what they show: the release repeats pictures of assets."""

    @wraps(draw)
    def drawn(*values: P.args, **options: P.kwargs) -> bytes:
        key = hashlib.sha256(pickle.dumps((draw.__qualname__, *map(_told, values), options))).hexdigest()
        found = _KEPT.get(key)
        if found is None:
            found = draw(*values, **options)
            if len(_KEPT) >= _AT_MOST:
                _KEPT.clear()
            _KEPT[key] = found
        return found

    return drawn


def _told(value: Any) -> Any:
    """A frame by its values, however they lie in memory; any other value as it is."""
    if not isinstance(value, pd.DataFrame):
        return value
    lists = {name: value[name].map(repr) for name in value.columns if value[name].dtype == object}
    rows = pd.util.hash_pandas_object(value.assign(**lists), index=False)
    return tuple(map(str, value.columns)), rows.to_numpy().tobytes()
