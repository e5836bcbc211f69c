"""Where quoted words stand in a sentence.

Letter case, runs of white space and kinds of hyphen do not matter; word boundaries do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lunguage_assets.structuring.contract import Span

_GAP = r"[\s\-\u00ad\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+"
"""White space and hyphens.

"Ground glass", "ground-glass" and a line break between them are the same.
"""
_APOSTROPHE = "['\u2018\u2019`\u00b4]"
_MARGIN = " \t\r\n.,;:"
"""What may stand around quoted words."""
_SEPARATOR = re.compile(r"[,;](?!\d)")
_BEGIN_OF_WORD = r"(?<!\w)"
_END_OF_WORD = r"(?!\w)"


def occurrences(words: str, sentence: str) -> list[Span]:
    """Find these words everywhere in the sentence, as whole words.

    Words without letter or digit are found nowhere.
    """
    if not any(character.isalnum() for character in words):
        return []
    tokens = [token for token in re.split(_GAP, words.strip(_MARGIN)) if token]
    pattern = _GAP.join(_pattern_of(token) for token in tokens)
    # "Edema" does not stand in "edematous". A sign has no such boundary: "(mild" may
    # stand directly behind a letter.
    if re.match(r"\w", tokens[0]):
        pattern = _BEGIN_OF_WORD + pattern
    if re.match(r"\w", tokens[-1][-1]):
        pattern += _END_OF_WORD
    matches = re.finditer(pattern, sentence, re.IGNORECASE)
    return [Span(*match.span()) for match in matches]


def _pattern_of(token: str) -> str:
    """Match a word with any kind of apostrophe: "Bochdalek's"."""
    pieces = [re.escape(piece) for piece in re.split(_APOSTROPHE, token)]
    return _APOSTROPHE.join(pieces)


def nearest(spans: Sequence[Span], anchor: Span) -> Span:
    """Choose the place nearest to an anchor; of equals the first.

    Places that do not overlap the anchor come first: "opacity" in "opacity, no new
    opacity" is no place of itself.

    Args:
        spans: places, one at least.
        anchor: the finding's own words.
    """

    def rank(span: Span) -> tuple[bool, int, Span]:
        overlaps = span.begin < anchor.end and anchor.begin < span.end
        return overlaps, distance(span, anchor), span

    return min(spans, key=rank)


def distance(first: Span, second: Span) -> int:
    """Count the characters between two places; 0 where they touch or overlap."""
    return max(0, first.begin - second.end, second.begin - first.end)


def values_of(cell: str) -> list[str]:
    """Divide a claim at its commas, because a cell joins its values by commas.

    "2,5 cm" is one value.
    """
    pieces = [piece.strip(_MARGIN) for piece in _SEPARATOR.split(cell)]
    return [piece for piece in pieces if piece]
