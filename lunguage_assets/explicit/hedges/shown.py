"""How a phrase is shown in messages and metadata.

Judges and people sometimes write a whole sentence instead of a phrase.
"""

from __future__ import annotations

_WORDS = 6
"""The longest published phrase has four words ("cannot be entirely excluded")."""


def shown_phrase(phrase: str) -> str:
    """The phrase, or its number of words when it is too long for a hedge.

    A long one may be a sentence of a report.
    """
    words = len(phrase.split())
    return phrase if words <= _WORDS else f"(a phrase of {words} words)"
