"""Pictures that nobody looks at: one dot each, neither composed nor drawn, most of what a release costs."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from lunguage_assets.pictures import canvas

_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)


class _Dots(dict[str, bytes]):
    def get(self, *_: object) -> bytes:
        return _DOT


@contextmanager
def blank_pictures() -> Iterator[None]:
    """Every picture that is drawn once for what it shows is a dot meanwhile; none is kept for later."""
    with mock.patch.object(canvas, "_KEPT", _Dots()):
        yield
