"""Refinement words of a row, negated ones apart, and which one wins (implicit.md section 3).

The rule: of the refinements of a diagnosis that a row states, the first in the order of the pathway file wins
(most specific first, so "acute on chronic" is acute). A negated word is a token of its own: "non-loculated"
and "without tension" state neither loculation nor tension.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from lunguage_assets.implicit.pathways.pathway_file import Diagnosis, Negators
from lunguage_assets.implicit.words import cell_parts, tokens, word_forms

Phrase = tuple[str, ...]


class TokenReader:
    """Reads cells into tokens in which a negated word differs from the word."""

    def __init__(self, negators: Negators) -> None:
        self._negators = negators
        self.read = cache(self._read)

    def _read(self, cell: str) -> tuple[Phrase, ...]:
        """One token sequence per comma part; a negated word X is the token `non-X`."""
        return tuple(self._part(part) for part in cell_parts(cell))

    def _part(self, part: str) -> Phrase:
        read: list[str] = []
        once = rest = False
        for token in tokens(part):
            if token in self._negators.next:
                once = True
            elif token in self._negators.rest:
                rest = True
            elif token in self._negators.turns:
                once = rest = False
            else:
                read.append(f"non-{token}" if once or rest else token)
                once = False
        return tuple(read)


class ListedWords:
    """Listed words and the cells that name them; a negated word names nothing."""

    def __init__(
        self, words: Iterable[str], reader: TokenReader, *, plurals: bool, patterns: Iterable[str] = ()
    ) -> None:
        self.phrases = tuple(phrase for word in words for phrase in reader.read(word))
        self._patterns = tuple(re.compile(pattern) for pattern in patterns)
        self._reader, self._plurals = reader, plurals
        self._in = cache(self._is_in)

    def in_any(self, cells: Iterable[str]) -> bool:
        """Whether any comma part of a cell contains a listed phrase or a token of a pattern."""
        return bool(self.phrases or self._patterns) and any(map(self._in, cells))

    def _is_in(self, cell: str) -> bool:
        return any(map(self._in_part, self._reader.read(cell)))

    def _in_part(self, part: Phrase) -> bool:
        if any(_contains(part, phrase, plurals=self._plurals) for phrase in self.phrases):
            return True
        return any(pattern.fullmatch(token) for pattern in self._patterns for token in part)


@dataclass(frozen=True)
class _RefinementWords:
    """The words of one refinement: those that count anywhere, and those that count in the location."""

    name: str
    anywhere: ListedWords
    in_location: ListedWords


class RefinementRule:
    """The refinement words, device words and foreign places of one diagnosis."""

    def __init__(self, diagnosis: Diagnosis, reader: TokenReader) -> None:
        self._reader = reader
        self._refinements = tuple(
            _RefinementWords(
                refinement.name,
                ListedWords(refinement.words, reader, plurals=False),
                ListedWords(
                    refinement.locations, reader, plurals=True, patterns=refinement.location_patterns
                ),
            )
            for refinement in diagnosis.refinements
        )
        self._devices = ListedWords(diagnosis.devices, reader, plurals=True)
        self._elsewhere = ListedWords(diagnosis.elsewhere, reader, plurals=True)

    def stated(
        self,
        wording: Iterable[str],
        location: Sequence[str],
        attributes: Iterable[str],
        spelled: Iterable[str],
    ) -> list[str]:
        """Names of the refinements that apply, most specific first.

        `wording` is the finding as worded and normalised, `spelled` are the refinements that its spelling is
        listed under.
        """
        if not self._refinements:
            return []
        cells = [cell for cell in (*location, *wording, *attributes) if cell]
        by_spelling = set(spelled)
        return [
            words.name
            for words in self._refinements
            if words.name in by_spelling or words.anywhere.in_any(cells) or words.in_location.in_any(location)
        ]

    def names_device(self, cells: Iterable[str]) -> bool:
        """Whether a cell names a device."""
        return self._devices.in_any(cells)

    def lies_elsewhere(self, location: Iterable[str]) -> bool:
        """Whether the location makes it another condition: a pericardial "effusion" is no pleural one."""
        return self._elsewhere.in_any(location)

    def without_refinements(self, wording: str) -> str | None:
        """The wording without this diagnosis' refinement words and their negations; None without any."""
        kept: list[str] = []
        removed = False
        for part in self._reader.read(wording):
            remaining = list(part)
            for phrase in (phrase for words in self._refinements for phrase in words.anywhere.phrases):
                for form in (phrase, tuple(f"non-{token}" for token in phrase)):
                    while (start := _find(remaining, form)) >= 0:
                        del remaining[start : start + len(form)]
                        removed = True
            kept += remaining
        return " ".join(token for token in kept if token not in _JOINING) if removed else None


_JOINING = frozenset({"on", "and", "or", "to"})


def _contains(part: Phrase, phrase: Phrase, *, plurals: bool = False) -> bool:
    if plurals:
        return any(_starts(part[start:], phrase) for start in range(len(part) - len(phrase) + 1))
    return phrase[0] in part and _find(part, phrase) >= 0


def _starts(part: Phrase, phrase: Phrase) -> bool:
    return all(word in word_forms(token) for word, token in zip(phrase, part, strict=False))


def _find(part: Sequence[str], phrase: Phrase) -> int:
    for start in range(len(part) - len(phrase) + 1):
        if tuple(part[start : start + len(phrase)]) == phrase:
            return start
    return -1
