"""Remembers the answers of pure functions of texts, within bounds.

Reports repeat their sentences, so that most answers are worth keeping; but a process
that reads for weeks must not grow with them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

Answer = TypeVar("Answer")

ENTRIES = 1 << 13
"""Answers that are kept, the latest ones: 8,192 sentences with what was read in them
are about 25 MB.
"""
LONGEST = 4_000
"""Characters of a question that is kept: no longer sentence is read."""


def remembered(
    function: Callable[..., Answer], entries: int = ENTRIES
) -> Callable[..., Answer]:
    """Let a function of texts remember its latest answers to short ones.

    Args:
        function: of hashable arguments, the first of which is the text that may be
            long; pure.
        entries: how many answers are kept.

    Returns:
        A function that answers as `function` does.
    """
    remembering = lru_cache(maxsize=entries)(function)

    def answer(text: str, *arguments: Any) -> Answer:
        if len(text) > LONGEST:
            return function(text, *arguments)
        return remembering(text, *arguments)

    return answer
