"""Python's cyclic garbage collector, less often: tables of many rows are made of very many objects and no
cycles.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLD = (200_000, 20, 20)
"""New objects before the youngest are looked through, instead of Python's 700."""


@contextmanager
def collector_seldom() -> Iterator[None]:
    """Let the collector run seldom. A fifth of the time of a large run is its search among rows."""
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)
