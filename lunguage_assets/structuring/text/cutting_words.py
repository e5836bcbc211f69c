"""The words by which reports are cut (`resources/structuring/sections.yaml`).

How they cut a report is decided in `headings.py`, `sections.py` and `sentences.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from operator import ne
from typing import Literal

from pydantic import BaseModel, ConfigDict

from lunguage_assets.packaged_data import read_as, resource

HeadingKind = Literal[
    "hist", "find", "impr", "introduction", "aside", "preliminary", "title", "sign-off"
]

SECTIONS = resource("structuring", "sections.yaml")
_REMEDY = 'The header of the file explains its form; words such as "no" need quotes.'
_HEADING_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*|[&/]")
_LONG_WORD = 7
"""Letters of a word that is still known when one of them is wrong."""
_LEAST_SIMILAR = 0.87
"""Of a misspelled word ("FIDNINGS" has 0.875), as `difflib` counts it."""


class _Abbreviations(BaseModel):
    """Words whose full stop ends no sentence, by what follows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    inside: frozenset[str]
    before_capital: frozenset[str]
    before_number: frozenset[str]


class CuttingWords(BaseModel):
    """The words of `sections.yaml`, whose comments explain them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    headings: dict[HeadingKind, tuple[str, ...]]
    first_words: dict[HeadingKind, tuple[str, ...]]
    sign_offs: frozenset[str]
    exam_words: frozenset[str]
    exam_nouns: frozenset[str]
    elsewhere: frozenset[str]
    chest: frozenset[str]
    counted: frozenset[str]
    answers: frozenset[str]
    abbreviations: _Abbreviations

    @cached_property
    def _kind_by_heading(self) -> dict[str, HeadingKind]:
        return {
            " ".join(_words_in(phrase)): topic
            for topic, phrases in self.headings.items()
            for phrase in phrases
        }

    @cached_property
    def words_of_headings(self) -> frozenset[str]:
        """Single words of the listed headings."""
        return frozenset(" ".join(self._kind_by_heading).split())

    def heading_kind(self, heading: Iterable[re.Match[str]]) -> HeadingKind | None:
        """Find the topic of a listed heading, "INDCATION" among them; None: it is none.

        Args:
            heading: its words.
        """
        words = [match.group().lower() for match in heading]
        listed = self._kind_by_heading.get(" ".join(words))
        return listed or self._kind_by_heading.get(" ".join(map(_mended, words)))

    def kind_by_first_word(self, heading: str) -> HeadingKind | None:
        """Find the topic of a heading by its first word alone: "COMPARISON FILM"."""
        first_word = _mended(next(iter(_words_in(heading)), ""))
        for topic, words in self.first_words.items():
            if first_word in words:
                return topic
        return None

    @cached_property
    def sign_off(self) -> re.Pattern[str]:
        """What ends a report, where a line or sentence begins: "Dictated by"."""
        # The longest first: of alternatives a pattern takes the first that matches.
        phrases = sorted(self.sign_offs, key=lambda phrase: (-len(phrase), phrase))
        alternatives = "|".join(map(re.escape, phrases)).replace(r"\ ", r"[ \t]+")
        # "Read by A. Roe." signs a report off; "as read by A. Roe" is a part of a
        # sentence.
        begin = r"(?:^[ \t]*|(?<=[.!?][ \t])[ \t]*)"
        pattern = rf"{begin}((?:{alternatives})(?![^\W_]))"
        return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


@lru_cache(maxsize=10_000)
def _mended(word: str) -> str:
    """Spell a word as headings do, where a letter or two of it are wrong."""
    known_words = cutting_words().words_of_headings
    # Short words have too many neighbours: "exam" and "exac".
    if len(word) < _LONG_WORD or word in known_words:
        return word
    # One wrong letter, or two swapped ones, weigh too much in a word of seven.
    near = [known for known in known_words if _is_letter_for_letter(word, known)]
    # In a fixed order, so that of two that are as similar one is always taken.
    similar = get_close_matches(word, sorted(known_words), 1, _LEAST_SIMILAR)
    return next(iter((*sorted(near), *similar)), word)


def _is_letter_for_letter(word: str, known: str) -> bool:
    """Whether a letter is another one, or letters are swapped: "HOSTORY", "HISOTRY"."""
    if len(word) != len(known):
        return False
    wrong_letters = sum(map(ne, word, known))
    return wrong_letters == 1 or sorted(word) == sorted(known)


def heading_words(text: str) -> Iterator[re.Match[str]]:
    """Find the words of a text; `&` and `/` are words of headings, too."""
    return _HEADING_WORD.finditer(text)


def _words_in(text: str) -> list[str]:
    return _HEADING_WORD.findall(text.lower())


@cache
def cutting_words() -> CuttingWords:
    """Read the words once.

    Raises:
        ConfigurationError: the file cannot be read, or has a group that is none.
    """
    return read_as(SECTIONS, CuttingWords, _REMEDY)
