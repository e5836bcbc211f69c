"""What spellings mean, and how they are found in a sentence (method.md section 7).

The spellings are data (`resources/structuring/`, read and put together in `building.py`);
which rules use them is in the other modules of this package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Literal

from lunguage_assets.corpus.vocabulary import Singulars, built_in_forms

VERSION = "13"
"""Part of the structurer's identity: raise it with every change of rules that changes an answer."""

Kind = Literal[
    "finding", "anatomy", "place", "word", "abnormal", "normal", "deny", "deny after", "ended", "open",
    "open after", "alternative", "break", "copula", "seen", "link", "preposition", "with", "past", "source",
    "advice", "aim", "exam", "condition", "somebody else", "article", "and", "comma", "question", "other",
]  # fmt: skip
"""What a spelling is for the rules; `other` is an unknown word."""

UNDECIDED = "undecided"
"""Name of words that are themselves between normal and abnormal: "borderline"."""

_TOKEN = re.compile(
    r"and/or|//|vs\b\.?|[wc]/o?|[rs]/[op]|[hb]/[ol]|[ctls]\d{1,2}\b|\d{1,2}(?:st|nd|rd|th)\b|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?"
    r"|_+|(?<=\s)[-–]+(?=\s)|—|[;:.,?()/&+\[\]]"
)
ELSEWHERE = "elsewhere"
"""Name of places that a chest film does not show."""
_ADVERB = "adverb"
_ALTERNATIVES = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class Sense:
    """What a spelling means.

    `name` is the canonical name of a finding or a part of the body, or the reach of a denial or hedge;
    `code` the category of a finding or the column of an attribute.
    """

    kind: Kind
    name: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a sentence in the form in which words are compared, and its characters."""

    form: str
    begin: int
    end: int


class ReportLexicon:
    """All spellings as one tree of words; the longest spelling at a place wins."""

    def __init__(self, words: Mapping[str, list[str]]) -> None:
        self._singulars = Singulars(built_in_forms())
        self._spellings = {
            spelling.lower(): form.lower() for form, spellings in words.items() for spelling in spellings
        }
        self._form = lru_cache(maxsize=200_000)(self._form_of)
        self._tree: dict[str | None, Any] = {}

    def tokens(self, text: str) -> list[Token]:
        """The words of a text; hyphens split, other signs are words of their own."""
        lower = text.lower()
        found = _TOKEN.finditer(lower if len(lower) == len(text) else text)
        return [Token(self._form(word.group()), *word.span()) for word in found]

    def _form_of(self, word: str) -> str:
        word = word.replace("’", "'").rstrip(".") or word
        if word in self._spellings:
            return self._spellings[word]
        form = self._singulars.of_word(word)
        return self._spellings.get(form, form)

    def add(self, spelling: str, sense: Sense, *, widen: bool = False) -> None:
        """Add every alternative of a spelling; `widen`: only where nothing is known yet."""
        for one in alternatives(spelling):
            self.add_literal(one, sense, widen=widen)

    def add_literal(self, spelling: str, sense: Sense, *, widen: bool = True) -> None:
        """Add a spelling in which brackets mean nothing; one without words is left out."""
        branch = self._tree
        for token in self.tokens(spelling):
            branch = branch.setdefault(token.form, {})
        if branch is not self._tree and not (widen and None in branch):
            branch[None] = sense

    def match(self, tokens: list[Token], start: int) -> tuple[Sense | None, int]:
        """The longest known spelling that begins at a token, and the token behind it.

        "adverb" of a spelling is any word that ends in -ly.
        """
        branch, found, end = self._tree, None, start + 1
        for place in range(start, len(tokens)):
            form = tokens[place].form
            following = branch.get(form) or (branch.get(_ADVERB) if form.endswith("ly") else None)
            if following is None:
                break
            branch = following
            sense = branch.get(None)
            if sense is not None:
                found, end = sense, place + 1
        return found, end


def alternatives(spelling: str) -> Iterator[str]:
    """Every wording of "(a|b|) c", without repeated blanks; an alternative may itself hold "(c|d)"."""
    inner = _ALTERNATIVES.search(spelling)
    if inner is None:
        yield " ".join(spelling.split())
        return
    pieces = _ALTERNATIVES.split(spelling)
    if any("(" in piece or ")" in piece for piece in pieces[::2]):
        for choice in inner.group(1).split("|"):
            yield from alternatives(spelling[: inner.start()] + choice + spelling[inner.end() :])
        return
    for choices in product(*(piece.split("|") if n % 2 else [piece] for n, piece in enumerate(pieces))):
        yield " ".join("".join(choices).split())
