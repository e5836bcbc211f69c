"""Pictures that nobody looks at: composed as ever, and not drawn, which is most of what a release costs."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO
from unittest import mock

from lunguage_assets.pictures import canvas

_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)


@contextmanager
def blank_pictures() -> Iterator[None]:
    """Every picture made meanwhile is one dot; none of them is kept for later."""

    def write(canvas: object, stream: BinaryIO, **_: object) -> None:
        stream.write(_DOT)

    with (
        mock.patch.dict(canvas._KEPT, clear=True),
        mock.patch("matplotlib.layout_engine.ConstrainedLayoutEngine.execute"),
        mock.patch("matplotlib.backends.backend_agg.FigureCanvasAgg.print_png", write),
    ):
        yield
