"""Which refinement words a row states: tokens, negated tokens, and the rule when several apply (implicit.md section 3).

The rule: of the refinements of a diagnosis that a row states, the first in the order of the pathway file wins (most specific first, so
"acute on chronic" is acute). A negated word is a token of its own: "non-loculated" and "without tension" state neither loculation nor tension.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lunguage_assets.implicit.pathway_file import Diagnosis, Negators
from lunguage_assets.implicit.words import cell_parts, tokens, word_forms

Phrase = tuple[str, ...]


class TokenReader:
    """Reads cells into tokens in which a negated word differs from the word."""

    def __init__(self, negators: Negators) -> None:
        self._next, self._rest, self._turns = frozenset(negators.next), frozenset(negators.rest), frozenset(negators.turns)
        self._cache: dict[str, tuple[Phrase, ...]] = {}

    def read(self, cell: str) -> tuple[Phrase, ...]:
        """One token sequence per comma part; a negated word X is the token `non-X`."""
        found = self._cache.get(cell)
        if found is None:
            found = self._cache[cell] = tuple(self._part(part) for part in cell_parts(cell))
        return found

    def _part(self, part: str) -> Phrase:
        read: list[str] = []
        once = rest = False
        for token in tokens(part):
            if token in self._next:
                once = True
            elif token in self._rest:
                rest = True
            elif token in self._turns:
                once = rest = False
            else:
                read.append(f"non-{token}" if once or rest else token)
                once = False
        return tuple(read)


@dataclass(frozen=True)
class _Words:
    """The words of one refinement, as token sequences."""

    name: str
    anywhere: tuple[Phrase, ...]
    in_location: tuple[Phrase, ...]
    patterns: tuple[re.Pattern[str], ...]


class RefinementRule:
    """The refinement words and device words of one diagnosis."""

    def __init__(self, diagnosis: Diagnosis, reader: TokenReader) -> None:
        self._reader = reader
        self._refinements = tuple(
            _Words(
                refinement.name,
                tuple(phrase for word in refinement.words for phrase in reader.read(word)),
                tuple(phrase for word in refinement.locations for phrase in reader.read(word)),
                tuple(re.compile(pattern) for pattern in refinement.location_patterns),
            )
            for refinement in diagnosis.refinements
        )
        self._device_parts: dict[Phrase, bool] = {}
        self._devices = tuple(phrase for word in diagnosis.devices for phrase in reader.read(word))

    def stated(self, wording: Iterable[str], location: Iterable[str], attributes: Iterable[str], spelled: Iterable[str]) -> list[str]:
        """Names of the refinements that apply, most specific first.

        `wording` is the finding as worded and normalised, `spelled` are the refinements that its spelling is listed under.
        """
        if not self._refinements:
            return []
        places = [part for cell in location for part in self._reader.read(cell)]
        parts = places + [part for cells in (wording, attributes) for cell in cells if cell for part in self._reader.read(cell)]
        by_spelling = set(spelled)
        return [words.name for words in self._refinements if words.name in by_spelling or _applies(words, parts, places)]

    def names_device(self, cells: Iterable[str]) -> bool:
        """Whether a cell names a device; plurals count."""
        return bool(self._devices) and any(self._part_names_device(part) for cell in cells for part in self._reader.read(cell))

    def _part_names_device(self, part: Phrase) -> bool:
        known = self._device_parts.get(part)
        if known is None:
            known = self._device_parts[part] = any(_contains(part, device, plurals=True) for device in self._devices)
        return known

    def without_refinements(self, wording: str) -> str | None:
        """The wording less this diagnosis' refinement words and their negations; None when it has none."""
        kept: list[str] = []
        removed = False
        for part in self._reader.read(wording):
            remaining = list(part)
            for phrase in (phrase for words in self._refinements for phrase in words.anywhere):
                for form in (phrase, tuple(f"non-{token}" for token in phrase)):
                    while (start := _find(remaining, form)) >= 0:
                        del remaining[start : start + len(form)]
                        removed = True
            kept += remaining
        return " ".join(token for token in kept if token not in _JOINING) if removed else None


_JOINING = frozenset({"on", "and", "or", "to"})


def _applies(words: _Words, parts: Sequence[Phrase], places: Sequence[Phrase]) -> bool:
    if any(_contains(part, phrase) for part in parts for phrase in words.anywhere):
        return True
    if any(_contains(place, phrase, plurals=True) for place in places for phrase in words.in_location):
        return True
    return any(pattern.fullmatch(token) for pattern in words.patterns for place in places for token in place)


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
