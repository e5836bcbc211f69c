"""The words of resources/structuring/sections.yaml, by which reports are cut; nothing is cut here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.errors import ConfigurationError

HeadingKind = Literal["hist", "find", "impr", "introduction", "aside", "preliminary", "title", "sign-off"]

_TOKEN = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*|[&/]")


class WordGroup(BaseModel):
    """A mapping in a word file; keys that nobody knows are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Abbreviations(WordGroup):
    """Words whose full stop may end no sentence: never, before a capital, before a number."""

    inside: frozenset[str]
    before_capital: frozenset[str]
    before_number: frozenset[str]


class Languages(WordGroup):
    """Common words of English, and of other languages."""

    english: frozenset[str]
    other: frozenset[str]


class WordsFile(WordGroup):
    """The content of the file; words are compared in lower case, with single blanks."""

    headings: dict[HeadingKind, list[str]]
    sign_offs: list[str] = Field(min_length=1)
    exam_words: frozenset[str]
    exam_nouns: frozenset[str]
    elsewhere: frozenset[str]
    chest: frozenset[str]
    abbreviations: Abbreviations
    counted: frozenset[str]
    languages: Languages


@dataclass(frozen=True, slots=True)
class CuttingWords:
    """The file, made ready: `headings` gives the kind of a heading's words, `longest_heading` is its largest
    number of words, `identity` changes with every word.
    """

    file: WordsFile
    headings: Mapping[str, HeadingKind]
    longest_heading: int
    sign_off: re.Pattern[str]
    identity: str


def spoken(text: str) -> Iterator[re.Match[str]]:
    """Words of a text with their places; `&` and `/` are words of headings, too."""
    return _TOKEN.finditer(text)


def normal(words: Iterable[str]) -> str:
    """The form in which headings are compared."""
    return " ".join(words).lower()


@lru_cache(maxsize=1)
def cutting_words() -> CuttingWords:
    """The bundled words.

    Raises:
        ConfigurationError: the file cannot be read, or names a heading twice.
    """
    file = resource("structuring", "sections.yaml")
    remedy = 'Correct these words of sections; words such as "no" need quotes.'
    content = read_as(file, WordsFile, remedy)
    headings: dict[str, HeadingKind] = {}
    for kind, phrases in content.headings.items():
        for phrase in phrases:
            words = normal(token.group() for token in spoken(phrase))
            if headings.setdefault(words, kind) != kind:
                raise ConfigurationError(
                    f"{file}: heading {phrase!r} is listed under {headings[words]!r} and {kind!r}; keep one."
                )
    longest = max(len(heading.split()) for heading in headings)
    identity = hashlib.blake2b(file.read_bytes(), digest_size=6).hexdigest()
    return CuttingWords(content, headings, longest, _sign_off(content.sign_offs), identity)


def _sign_off(phrases: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(phrases, key=len, reverse=True)
    alternatives = "|".join(re.escape(phrase).replace(r"\ ", r"[ \t]+") for phrase in longest_first)
    begin = r"(?:^[ \t]*|(?<=[.!?][ \t])[ \t]*)"
    return re.compile(rf"{begin}((?:{alternatives})(?![^\W_]))", re.IGNORECASE | re.MULTILINE)
