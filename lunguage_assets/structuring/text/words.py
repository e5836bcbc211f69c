"""The word files of `resources/structuring/`, and the words of `sections.yaml` by which reports are cut."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import RootModel

from lunguage_assets.data_files import read_as, resource
from lunguage_assets.errors import ConfigurationError

HeadingKind = Literal["hist", "find", "impr", "introduction", "aside", "preliminary", "title", "sign-off"]

_TOKEN = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*|[&/]")
_GROUPS = (
    "sign_offs", "exam_words", "exam_nouns", "elsewhere", "chest", "abbreviations inside",
    "abbreviations before_capital", "abbreviations before_number", "counted", "languages english",
    "languages other",
)  # fmt: skip


class _WordFile(RootModel[dict[str, list[str] | dict[str, list[str]]]]):
    """Groups of spellings, or of names with their spellings."""


def word_file(name: str) -> dict[tuple[str, str], list[str]]:
    """Spellings of NAME.yaml by group and name ("" without names), or an error that names file and field."""
    remedy = 'The header of the file explains its form; words such as "no" need quotes.'
    flat: dict[tuple[str, str], list[str]] = {}
    for group, named in read_as(word_path(name), _WordFile, remedy).root.items():
        flat |= {(group, ""): named} if isinstance(named, list) else {(group, k): v for k, v in named.items()}
    return flat


def word_path(name: str) -> Path:
    return resource("structuring", f"{name}.yaml")


def require(file: str, found: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a group or name that the rules do not know, naming the file."""
    for name in sorted({*found} - {*known}):
        raise ConfigurationError(f"{word_path(file)}, {name!r} is no code; expected {', '.join(known)}.")


class CuttingWords(NamedTuple):
    """The words of `sections.yaml`: kinds of headings, the longest one in words, and other groups."""

    headings: Mapping[str, HeadingKind]
    longest_heading: int
    groups: Mapping[str, frozenset[str]]
    sign_off: re.Pattern[str]
    identity: str


def spoken(text: str) -> Iterator[re.Match[str]]:
    """Words of a text with their places; `&` and `/` are words of headings, too."""
    return _TOKEN.finditer(text)


def normal(words: Iterable[re.Match[str]]) -> str:
    """The form in which headings are compared."""
    return " ".join(word.group() for word in words).lower()


@lru_cache(maxsize=1)
def cutting_words() -> CuttingWords:
    file, kinds = word_file("sections"), get_args(HeadingKind)
    named = {" ".join(key).strip(): frozenset(words) for key, words in file.items()}
    require("sections", named, (*_GROUPS, *(f"headings {kind}" for kind in kinds)))
    groups = dict.fromkeys(_GROUPS, frozenset[str]()) | named
    headings: dict[str, HeadingKind] = {
        normal(spoken(phrase)): kind for kind in kinds for phrase in file.get(("headings", kind), ())
    }
    longest_first = sorted(groups["sign_offs"], key=lambda phrase: (-len(phrase), phrase))
    alternatives = "|".join(re.escape(phrase).replace(r"\ ", r"[ \t]+") for phrase in longest_first)
    begin = r"(?:^[ \t]*|(?<=[.!?][ \t])[ \t]*)"
    sign_off = re.compile(rf"{begin}((?:{alternatives})(?![^\W_]))", re.IGNORECASE | re.MULTILINE)
    longest = max(len(heading.split()) for heading in headings)
    identity = hashlib.blake2b(word_path("sections").read_bytes(), digest_size=6).hexdigest()
    return CuttingWords(headings, longest, groups, sign_off, identity)
