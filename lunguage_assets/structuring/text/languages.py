"""Which sentences of a report are not in English, by function words.

The rules know English words, many of which other languages share: "Kein Pneumothorax"
would be a pneumothorax without doubt. What is in another language is therefore not read
by them; a language model reads it. The words stand in
`resources/structuring/languages.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from pydantic import BaseModel

from lunguage_assets.caches import remembered
from lunguage_assets.packaged_data import read_as, resource

OTHER_LANGUAGE = "other language"
"""The reason why a sentence is unreadable to the rules."""
NOT_ENGLISH = "not-english"
"""The note of a report of which no sentence is in English (resources/reasons.yaml)."""
LANGUAGES = resource("structuring", "languages.yaml")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_OF_NAMES = re.compile(
    r"(?<=[a-z.] )(?:(?:de|la|las|los|del|da|dos|di|van|von|der|den)\s+){1,3}(?=[A-Z])"
)
"""What stands inside names: "Dr. de la Cruz"."""
_FOREIGN_LETTERS = re.compile(r"(?![A-Z])[^\W\d_].*[^\x00-\x7f’]|.*[^\x00-\u024f’].*")
"""A word with letters that English has not; with a capital, "Sjögren" is a name."""


class _Languages(BaseModel):
    """Lines of words: of English, of others by language, and what English borrows."""

    english: list[str]
    others: dict[str, list[str]]
    borrowed: list[str]


class _Words(NamedTuple):
    """Words of English, words that it has not, and a pattern of what it borrows."""

    english: frozenset[str]
    foreign: frozenset[str]
    borrowed: re.Pattern[str]


@cache
def _words() -> _Words:
    languages = read_as(LANGUAGES, _Languages)
    english = frozenset(" ".join(languages.english).split())
    foreign = {word for lines in languages.others.values() for word in lines}
    phrases = "|".join(map(re.escape, languages.borrowed))
    borrowed = re.compile(rf"\b(?:{phrases})\b", re.IGNORECASE)
    return _Words(english, frozenset(" ".join(foreign).split()) - english, borrowed)


@remembered
def _foreign_surplus(text: str) -> int | None:
    """Count by how many more words a text is foreign than English; most tell nothing.

    Returns:
        None: no word tells the language.
    """
    words = _words()
    votes: list[int] = []
    for word in _WORD.findall(words.borrowed.sub(" ", _OF_NAMES.sub(" ", text))):
        lower = word.lower()
        if lower in words.english:
            votes.append(-1)
        elif lower in words.foreign or _FOREIGN_LETTERS.match(word):
            votes.append(1)
    return sum(votes) if votes else None


def foreign_sentences(sentences: Sequence[str]) -> list[bool]:
    """Decide for each sentence of a report whether it is in another language.

    A sentence is judged by its own words. One whose words tell nothing
    ("Cardiomegaly.") is of the language of the report, which is English unless more
    words speak for another one.
    """
    text = " ".join(sentences).lower()
    # Most reports have no word of another language, and none need be counted.
    if text.isascii() and _words().foreign.isdisjoint(_WORD.findall(text)):
        return [False] * len(sentences)
    surpluses = [_foreign_surplus(sentence) for sentence in sentences]
    of_report = sum(surplus or 0 for surplus in surpluses)
    return [(of_report if surplus is None else surplus) > 0 for surplus in surpluses]
