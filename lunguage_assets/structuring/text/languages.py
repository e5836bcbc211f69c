"""Which sentences of a report are not in English, by function words (resources/structuring/languages.yaml).

The rules know English words, many of which other languages share: "Kein Pneumothorax" would be a pneumothorax
without doubt. What is in another language is therefore not read by them. A language model reads it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from lunguage_assets.assertion.word_files import word_file, word_path
from lunguage_assets.caches import remembered

OTHER_LANGUAGE = "other language"
"""The reason why a sentence is unreadable to the rules."""
NOT_ENGLISH = "not-english"
"""The note of a report of which no sentence is in English (resources/reasons.yaml)."""
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_REMOVED = re.compile(r"x{3,}|_{2,}|\[\*\*.*?\*\*\]", re.IGNORECASE)
"""What de-identification leaves in the place of names and dates."""
_PARTICLES = re.compile(
    r"\b(Dr\.?|[A-Z][a-z]+)\s+(?:(?:de|la|las|los|del|da|dos|di|van|von|der|den)\s+){1,3}(?=[A-Z])"
)
"""What stands inside names: "Dr. de la Cruz"."""
_LATIN_END = "\u0250"
"""The first character behind the Latin letters."""


class _Languages(NamedTuple):
    english: frozenset[str]
    others: frozenset[str]
    borrowed: re.Pattern[str]


class Words(NamedTuple):
    """How many words of a text are plainly English, and how many plainly of another language."""

    english: int
    other: int

    @property
    def is_other_language(self) -> bool:
        """Whether more words speak for another language than for English."""
        return self.other > self.english


@lru_cache(maxsize=1)
def _languages() -> _Languages:
    groups = word_file("languages")
    english = frozenset(" ".join(groups["english", ""]).split())
    others = {
        word
        for (group, _), words in groups.items()
        if group == "others"
        for word in " ".join(words).split()
    }
    borrowed = "|".join(re.escape(phrase) for phrase in groups["borrowed", ""])
    return _Languages(
        english, frozenset(others) - english, re.compile(rf"\b(?:{borrowed})\b")
    )


@remembered
def counted_words(text: str) -> Words:
    """Count the words of a text that tell its language; most tell nothing."""
    known = _languages()
    plain = _PARTICLES.sub(r"\1 ", _REMOVED.sub(" ", text))
    english = other = 0
    written = (
        known.borrowed.sub(" ", plain.lower())
        if known.borrowed.search(plain.lower())
        else plain
    )
    for word in _WORD.findall(written):
        lower = word.lower()
        if lower in known.english:
            english += 1
        elif lower in known.others or _has_foreign_letters(word):
            other += 1
    return Words(english, other)


def _has_foreign_letters(word: str) -> bool:
    """Whether a word is in another script, or has letters that English lacks and is no name: "épanchement",
    not "Sjögren".
    """
    if word.isascii():
        return False
    if any(character >= _LATIN_END and character.isalpha() for character in word):
        return True
    return word[0].islower() and any(
        character.isalpha() and not character.isascii() for character in word
    )


def foreign_sentences(sentences: Sequence[str]) -> list[bool]:
    """Decide for each sentence of a report whether it is in another language.

    A sentence is judged by its own words; one whose words tell nothing ("Cardiomegaly.") is of the language
    of the report, which is English unless more words speak for another one.
    """
    counts = [counted_words(sentence) for sentence in sentences]
    whole = Words(sum(one.english for one in counts), sum(one.other for one in counts))
    return [
        one.is_other_language if one.english or one.other else whole.is_other_language
        for one in counts
    ]


def is_in_another_language(sentences: Sequence[str]) -> bool:
    """Whether no sentence of a report is in English."""
    return bool(sentences) and all(foreign_sentences(sentences))


def identity() -> str:
    """Hash of the words that decide: others decide otherwise."""
    return hashlib.blake2b(
        word_path("languages").read_bytes(), digest_size=6
    ).hexdigest()
