"""What of a phrase may stand in a message or in metadata: judges and people put whole sentences where a
hedging phrase was asked for.
"""

from __future__ import annotations

_WORDS = 6
"""The longest published phrase has four words ("cannot be entirely excluded")."""


def shown_phrase(phrase: str) -> str:
    """The phrase as it is, or how many words it has when it has more than any hedge: it may then be a
    sentence of a report.
    """
    words = len(phrase.split())
    return phrase if words <= _WORDS else f"(a phrase of {words} words)"
