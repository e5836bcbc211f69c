"""The words of resources/structuring/sections.yaml, by which reports are cut; nothing is cut here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.errors import ConfigurationError

HeadingKind = Literal["hist", "find", "impr", "introduction", "aside", "preliminary", "title", "sign-off"]

_TOKEN = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*|[&/]")


class _Abbreviations(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    inside: list[str]
    before_capital: list[str]
    before_number: list[str]


class _Languages(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    english: list[str]
    other: list[str]


class _Headings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    hist: list[str] = Field(min_length=1)
    find: list[str] = Field(min_length=1)
    impr: list[str] = Field(min_length=1)
    introduction: list[str]
    aside: list[str]
    preliminary: list[str]
    title: list[str]


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    headings: _Headings
    sign_offs: list[str] = Field(min_length=1)
    exam_words: list[str]
    exam_nouns: list[str]
    abbreviations: _Abbreviations
    counted: list[str]
    languages: _Languages


@dataclass(frozen=True, slots=True)
class CuttingWords:
    """Words as they are compared: lower case, single blanks.

    `headings` gives the kind of a heading's words; `longest_heading` is its largest number of words.
    """

    headings: Mapping[str, HeadingKind]
    longest_heading: int
    sign_off: re.Pattern[str]
    exam_words: frozenset[str]
    exam_nouns: frozenset[str]
    inside: frozenset[str]
    before_capital: frozenset[str]
    before_number: frozenset[str]
    counted: frozenset[str]
    english: frozenset[str]
    other_languages: frozenset[str]
    identity: str
    """Changes with every word."""


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
    content = read_as(file, _File, remedy)
    headings = _kinds(content.headings)
    return CuttingWords(
        headings=MappingProxyType(headings),
        longest_heading=max(len(heading.split()) for heading in headings),
        sign_off=_sign_off(content.sign_offs),
        exam_words=frozenset(content.exam_words),
        exam_nouns=frozenset(content.exam_nouns),
        inside=frozenset(content.abbreviations.inside),
        before_capital=frozenset(content.abbreviations.before_capital),
        before_number=frozenset(content.abbreviations.before_number),
        counted=frozenset(content.counted),
        english=frozenset(content.languages.english),
        other_languages=frozenset(content.languages.other) - frozenset(content.languages.english),
        identity=hashlib.blake2b(file.read_bytes(), digest_size=6).hexdigest(),
    )


def _kinds(headings: _Headings) -> dict[str, HeadingKind]:
    kinds: dict[str, HeadingKind] = {}
    listed: dict[HeadingKind, list[str]] = {
        "hist": headings.hist,
        "find": headings.find,
        "impr": headings.impr,
        "introduction": headings.introduction,
        "aside": headings.aside,
        "preliminary": headings.preliminary,
        "title": headings.title,
    }
    for kind, phrases in listed.items():
        for phrase in phrases:
            words = normal(token.group() for token in spoken(phrase))
            if kinds.setdefault(words, kind) != kind:
                raise ConfigurationError(
                    f"structuring/sections.yaml: heading {phrase!r} is listed under {kinds[words]!r} and "
                    f"{kind!r}; keep one."
                )
    return kinds


def _sign_off(phrases: Iterable[str]) -> re.Pattern[str]:
    alternatives = "|".join(
        re.escape(phrase).replace(r"\ ", r"[ \t]+") for phrase in sorted(phrases, key=len, reverse=True)
    )
    return re.compile(
        rf"(?:^[ \t]*|(?<=[.!?][ \t])[ \t]*)((?:{alternatives})(?![^\W_]))", re.IGNORECASE | re.MULTILINE
    )
