"""Listed words in the cells of a row: the one way in which words of a file are found.

A word that a cell denies is a word of its own: "non-loculated" and "without tension"
name neither loculation nor tension (implicit.md section 3). What is denied, the engine
of `assertion/` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, product, starmap

from lunguage_assets.assertion.phrases import split_by_denial
from lunguage_assets.assertion.plurals import singular_of
from lunguage_assets.caches import remembered
from lunguage_assets.implicit.rows import cell_parts, tokens

Words = tuple[str, ...]

DENIED = "non-"
"""What the token of a denied word begins with."""


@remembered
def read_cell(cell: str) -> tuple[Words, ...]:
    """Read a cell as tokens, one sequence per comma part."""
    return tuple(map(_read_part, cell_parts(cell)))


def _read_part(part: str) -> Words:
    words: list[str] = []
    for segment in split_by_denial(part):
        prefix = DENIED if segment.is_denied else ""
        words += [prefix + token for token in tokens(segment.text)]
    return tuple(words)


def names_any(cells: Iterable[str], listed: Words) -> bool:
    """Whether a comma part of a cell has a listed wording; plurals count."""
    return bool(listed) and any(_names(cell, listed) for cell in cells if cell)


@remembered
def _names(cell: str, listed: Words) -> bool:
    wordings = chain.from_iterable(map(read_cell, listed))
    return any(starmap(_has_wording, product(read_cell(cell), wordings)))


def _has_wording(part: Words, wording: Words) -> bool:
    for start in range(len(part) - len(wording) + 1):
        pairs = zip(wording, part[start:], strict=False)
        if all(word in (token, singular_of(token)) for word, token in pairs):
            return True
    return False
