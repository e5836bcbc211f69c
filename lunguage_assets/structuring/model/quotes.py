"""Where quoted words stand in a sentence.

Letter case, white space, kinds of hyphen and apostrophe do not matter; word boundaries
do.
"""

from __future__ import annotations

import re

from lunguage_assets.structuring.contract import Span

_HYPHENS = "-\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_APOSTROPHES = "\u2018\u2019`\u00b4"
_PLAIN = str.maketrans(dict.fromkeys(_HYPHENS, " ") | dict.fromkeys(_APOSTROPHES, "'"))
"""Character for character, so that places stay where they are."""
_MARGIN = " \t\r\n.,;:"
"""What may stand around quoted words."""
_SEPARATOR = re.compile(r"[,;](?!\d)")
# "Edema" does not stand in "edematous". A sign has no such boundary: "(mild" may stand
# directly behind a letter.
_BOUNDARY = r"(?:(?<!\w)|(?!\w))"


def occurrences(words: str, sentence: str) -> list[Span]:
    """Find these words everywhere in the sentence, as whole words.

    Words without letter or digit are found nowhere.
    """
    if not any(character.isalnum() for character in words):
        return []
    # "Ground glass", "ground-glass" and a line break between them are the same.
    tokens = words.strip(_MARGIN).translate(_PLAIN).split()
    pattern = r"\s+".join(map(re.escape, tokens))
    whole_words = re.compile(rf"{_BOUNDARY}{pattern}{_BOUNDARY}", re.IGNORECASE)
    plain_sentence = sentence.translate(_PLAIN)
    return [Span(*match.span()) for match in whole_words.finditer(plain_sentence)]


def values_of(cell: str) -> list[str]:
    """Divide a claim at its commas, because a cell joins its values by commas.

    "2,5 cm" is one value.
    """
    pieces = [piece.strip(_MARGIN) for piece in _SEPARATOR.split(cell)]
    return [piece for piece in pieces if piece]
