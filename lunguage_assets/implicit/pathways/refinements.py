"""Refinement words of a row, negated ones apart, and which one wins (implicit.md section 3).

Of the refinements of a diagnosis that a row states, the first in the order of the pathway file wins (most
specific first, so "acute on chronic" is acute). A negated word is a token of its own: "non-loculated" and
"without tension" state neither loculation nor tension.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from lunguage_assets.implicit.pathways.pathway_file import Diagnosis, Negators
from lunguage_assets.implicit.rows import cell_parts, tokens, word_forms

Phrase = tuple[str, ...]
Reader = Callable[[str], tuple[Phrase, ...]]
"""A cell as tokens, one sequence per comma part."""

_JOINING = frozenset({"on", "and", "or", "to"})


def token_reader(negators: Negators) -> Reader:
    """A reader in which a negated word X is the token `non-X`."""
    return cache(lambda cell: tuple(_read_part(part, negators) for part in cell_parts(cell)))


def _read_part(part: str, negators: Negators) -> Phrase:
    read: list[str] = []
    once = rest = False
    for token in tokens(part):
        if token in negators.next:
            once = True
        elif token in negators.rest:
            rest = True
        elif token in negators.turns:
            once = rest = False
        else:
            read.append(f"non-{token}" if once or rest else token)
            once = False
    return tuple(read)


class ListedWords:
    """Listed words and the cells that name them; a negated word names nothing."""

    def __init__(
        self,
        words: Iterable[str],
        reader: Reader,
        *,
        plurals: bool = True,
        patterns: Sequence[re.Pattern[str]] = (),
    ) -> None:
        self.phrases = tuple(phrase for word in words for phrase in reader(word) if phrase)
        self._reader, self._plurals, self._patterns = reader, plurals, patterns
        self._in = cache(lambda cell: any(map(self._in_part, self._reader(cell))))

    def in_any(self, cells: Iterable[str]) -> bool:
        """Whether any comma part of a cell contains a listed phrase or a token of a pattern."""
        return bool(self.phrases or self._patterns) and any(map(self._in, cells))

    def _in_part(self, part: Phrase) -> bool:
        if any(_find(part, phrase, self._plurals) >= 0 for phrase in self.phrases):
            return True
        return any(pattern.fullmatch(token) for pattern in self._patterns for token in part)


class RefinementRule:
    """The refinement words of one diagnosis, `devices` that have it instead of the patient, and locations
    `elsewhere` that make it another condition: a pericardial "effusion" is no pleural one.
    """

    def __init__(self, diagnosis: Diagnosis, reader: Reader) -> None:
        self._reader = reader
        self._refinements = [
            (
                one.name,
                ListedWords(one.words, reader, plurals=False),
                ListedWords(one.locations, reader, patterns=one.location_patterns),
            )
            for one in diagnosis.refinements
        ]
        """Name, words that count anywhere, words that count in the location."""
        self.devices = ListedWords(diagnosis.devices, reader)
        self.elsewhere = ListedWords(diagnosis.elsewhere, reader)

    def stated(self, location: Sequence[str], others: Iterable[str], spelled: Iterable[str]) -> list[str]:
        """Names of the refinements that apply, most specific first; `others` are names and attributes,
        `spelled` the refinements that the spelling is listed under.
        """
        if not self._refinements:
            return []
        cells, by_spelling = [cell for cell in (*location, *others) if cell], set(spelled)
        return [
            name
            for name, anywhere, there in self._refinements
            if name in by_spelling or anywhere.in_any(cells) or there.in_any(location)
        ]

    def without_refinements(self, wording: str) -> str | None:
        """The wording without this diagnosis' refinement words and their negations; None without any."""
        kept: list[str] = []
        removed = False
        for remaining in self._reader(wording):
            for phrase in (phrase for _, words, _ in self._refinements for phrase in words.phrases):
                for form in (phrase, tuple(f"non-{token}" for token in phrase)):
                    while (start := _find(remaining, form)) >= 0:
                        remaining = remaining[:start] + remaining[start + len(form) :]
                        removed = True
            kept += remaining
        return " ".join(token for token in kept if token not in _JOINING) if removed else None


def _find(part: Phrase, phrase: Phrase, plurals: bool = False) -> int:
    """Where a phrase begins in a part, or -1; with `plurals` its words may be plural there."""
    for start in range(len(part) - len(phrase) + 1):
        said = part[start : start + len(phrase)]
        if said == phrase:
            return start
        if plurals and all(word in word_forms(token) for word, token in zip(phrase, said, strict=True)):
            return start
    return -1
