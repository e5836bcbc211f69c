"""Words of findings, locations and attributes: tokens, plurals, comma-separated cells.

Only the form of words is here; what they mean clinically is data in `resources/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

_TOKEN = re.compile(r"[^\W_]+(?:\.\d+)?")


@lru_cache(maxsize=200_000)
def tokens(text: str) -> tuple[str, ...]:
    """Lower-case words in order; all punctuation splits, but a decimal number stays whole."""
    return tuple(_TOKEN.findall(text.lower()))


@lru_cache(maxsize=50_000)
def word_forms(token: str) -> frozenset[str]:
    """The token and the singulars that it may be the plural of: "opacities" -> opacity, "masses" -> mass,
    "atelectases" -> atelectasis.
    """
    forms = {token}
    if len(token) > 3:
        if token.endswith(("s", "ae")):
            forms.add(token[:-1])
        if token.endswith("es"):
            forms.update((token[:-2], token[:-2] + "is"))
        if token.endswith("ies"):
            forms.add(token[:-3] + "y")
        if token.endswith("ces"):
            forms.add(token[:-3] + "x")
    return frozenset(forms)


@lru_cache(maxsize=100_000)
def collapsed(text: str) -> str:
    """Lower case, runs of white space as one blank: the form in which two wordings are compared."""
    return " ".join(text.lower().split())


def cell_parts(cell: str) -> list[str]:
    """Non-empty comma parts of an attribute or location cell, in order."""
    return [part for part in (piece.strip() for piece in cell.split(",")) if part]


def united_cells(cells: Iterable[str]) -> str:
    """Comma-separated cells as one, in order and without repeats; the first wording of a part stays."""
    present = list(dict.fromkeys(cell for cell in cells if cell))
    if len(present) < 2:
        return "".join(present)
    kept: dict[str, str] = {}
    for part in chain.from_iterable(map(cell_parts, present)):
        kept.setdefault(collapsed(part), part)
    return ", ".join(kept.values())


def united_tokens(*lists: tuple[str, ...]) -> tuple[str, ...]:
    """Reference lists as one, in order and without repeats."""
    return tuple(dict.fromkeys(chain(*lists)))
