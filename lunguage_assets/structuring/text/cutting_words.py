"""The words by which reports are cut (`resources/structuring/sections.yaml`).

How they cut a report is decided in `headings.py`, `sections.py` and `sentences.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from lunguage_assets.assertion.word_files import require, word_file, word_path

HeadingKind = Literal[
    "hist", "find", "impr", "introduction", "aside", "preliminary", "title", "sign-off"
]

_HEADING_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*|[&/]")
_GROUPS = (
    "sign_offs", "exam_words", "exam_nouns", "elsewhere", "chest", "counted",
    "abbreviations inside", "abbreviations before_capital",
    "abbreviations before_number",
)  # fmt: skip


class CuttingWords(NamedTuple):
    """The words of `sections.yaml`.

    Attributes:
        headings: spelling -> what stands below it.
        longest_heading: in words.
        groups: name -> its words.
        sign_off: pattern of what ends a report: "Dictated by".
        identity: hash of the file.
    """

    headings: Mapping[str, HeadingKind]
    longest_heading: int
    groups: Mapping[str, frozenset[str]]
    sign_off: re.Pattern[str]
    identity: str

    def heading_kind(self, words: Iterable[re.Match[str]]) -> HeadingKind | None:
        """Find the kind of the heading that these words are; None: they are none."""
        return self.headings.get(_compared_form(words))


def heading_words(text: str) -> Iterator[re.Match[str]]:
    """Find the words of a text; `&` and `/` are words of headings, too."""
    return _HEADING_WORD.finditer(text)


def _compared_form(words: Iterable[re.Match[str]]) -> str:
    return " ".join(word.group() for word in words).lower()


@lru_cache(maxsize=1)
def cutting_words() -> CuttingWords:
    """Read the words once.

    Raises:
        ConfigurationError: the file cannot be read, or has a group that is none.
    """
    file = word_file("sections")
    # A group may have a sub-group, "headings" has "hist"; others have an empty one.
    groups_of_file = {
        " ".join(key).strip(): frozenset(words) for key, words in file.items()
    }
    heading_kinds = get_args(HeadingKind)
    heading_groups = [f"headings {heading_kind}" for heading_kind in heading_kinds]
    require("sections", groups_of_file, (*_GROUPS, *heading_groups))
    groups = dict.fromkeys(_GROUPS, frozenset[str]()) | groups_of_file
    headings: dict[str, HeadingKind] = {}
    for heading_kind in heading_kinds:
        for phrase in file.get(("headings", heading_kind), ()):
            headings[_compared_form(heading_words(phrase))] = heading_kind
    return CuttingWords(
        headings=headings,
        longest_heading=max(len(heading.split()) for heading in headings),
        groups=groups,
        sign_off=_sign_off(groups["sign_offs"]),
        identity=hashlib.blake2b(
            word_path("sections").read_bytes(), digest_size=6
        ).hexdigest(),
    )


def _sign_off(phrases: Iterable[str]) -> re.Pattern[str]:
    """Compile the phrases to one pattern, where a line or sentence begins."""
    # The longest first: of alternatives a pattern takes the first that matches.
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    alternatives = "|".join(
        re.escape(phrase).replace(r"\ ", r"[ \t]+") for phrase in longest_first
    )
    # "Read by A. Roe." signs a report off; "as read by A. Roe" is a part of a sentence.
    begin = r"(?:^[ \t]*|(?<=[.!?][ \t])[ \t]*)"
    pattern = rf"{begin}((?:{alternatives})(?![^\W_]))"
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
