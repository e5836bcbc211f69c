"""Remembers the answers of pure functions of texts, within bounds.

Reports repeat their sentences, so that most answers are worth keeping; but a process
that reads for weeks must not grow with them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

Answer = TypeVar("Answer")

ENTRIES = 1 << 13
"""Answers that are kept, the latest ones: 8,192 sentences with what was read in them
are about 25 MB.
"""


def remembered(
    function: Callable[..., Answer], entries: int = ENTRIES
) -> Callable[..., Answer]:
    """Let a pure function of hashable arguments remember its latest answers."""
    return lru_cache(maxsize=entries)(function)
