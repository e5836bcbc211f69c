"""Python's cyclic garbage collector, less often: tables of many rows are made of very many objects and no
cycles.
"""

from __future__ import annotations

import gc

_THRESHOLD = (200_000, 20, 20)
"""New objects before the youngest are looked through, instead of Python's 700: it costs a small batch a
twelfth of its time, and a large one a fifth.
"""


def collect_seldom() -> None:
    """Let this process look seldom for unused cycles."""
    gc.set_threshold(*_THRESHOLD)
