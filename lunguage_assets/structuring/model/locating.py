"""Where words stand in a sentence: letter case, runs of white space and kinds of hyphen do not matter, word
boundaries do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lunguage_assets.structuring.contract import Span

_GAP = r"[\s\-\u00ad\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+"
"""White space and hyphens: "ground glass", "ground-glass" and a line break between them are the same."""

_APOSTROPHES = "'\u2018\u2019`\u00b4"
_EDGES = " \t\r\n.,;:"
_PARTS = re.compile(r"[,;](?!\d)")


def occurrences(words: str, sentence: str) -> list[Span]:
    """Every place of these words in the sentence, from left to right, as whole words; none for what has
    neither letter nor digit.
    """
    if not any(map(str.isalnum, words)):
        return []
    tokens = [token for token in re.split(_GAP, words.strip(_EDGES)) if token]
    before = r"(?<!\w)" if re.match(r"\w", tokens[0]) else ""
    behind = r"(?!\w)" if re.match(r"\w", tokens[-1][-1]) else ""
    pattern = before + _GAP.join(map(_token, tokens)) + behind
    return [Span(*found.span()) for found in re.finditer(pattern, sentence, re.IGNORECASE)]


def nearest(found: Sequence[Span], anchor: Span) -> Span:
    """Of several places the one nearest to `anchor`, one that does not overlap it before one that does, the
    first of equals.
    """

    def rank(span: Span) -> tuple[bool, int, int]:
        overlaps = span.begin < anchor.end and anchor.begin < span.end
        return overlaps, distance(span, anchor), span.begin

    return min(found, key=rank)


def distance(one: Span, other: Span) -> int:
    """Characters between two places; 0 where they touch or overlap."""
    return max(0, one.begin - other.end, other.begin - one.end)


def parts(words: str) -> list[str]:
    """The words between commas, because a cell joins its values by commas; "2,5 cm" is one."""
    return [part for piece in _PARTS.split(words) if (part := piece.strip(_EDGES))]


def _token(token: str) -> str:
    return "".join(f"[{_APOSTROPHES}]" if one in _APOSTROPHES else re.escape(one) for one in token)
