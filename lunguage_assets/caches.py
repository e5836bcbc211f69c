"""What a process keeps in memory: answers that come again, and for how long garbage.

Reports repeat their sentences, so that most answers are worth keeping; but a process
that reads for weeks must not grow with them.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache

ENTRIES = 1 << 13
"""Answers that are kept, the latest ones: 8,192 sentences with what was read in them
are about 25 MB.
"""


remembered = lru_cache(maxsize=ENTRIES)
"""Lets a pure function of hashable arguments remember its latest answers."""


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Let Python look for cycles less often, until the `with` block ends.

    Tables are very many objects and no cycles: it saves a fifth of the time of a batch.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(200_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def give_back_memory() -> None:
    """Return what was freed to the system.

    Else Arrow and the C library (glibc) keep the memory of several batches.
    """
    # Slow to import.
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    # Other C libraries have no `malloc_trim`.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
