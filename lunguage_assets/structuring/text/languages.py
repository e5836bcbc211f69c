"""Which sentences of a report are not in English, by function words.

The rules know English words, many of which other languages share: "Kein Pneumothorax"
would be a pneumothorax without doubt. What is in another language is therefore not read
by them; a language model reads it. The words stand in
`resources/structuring/languages.yaml`.
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
    r"\b(Dr\.?|[A-Z][a-z]+)\s+"
    r"(?:(?:de|la|las|los|del|da|dos|di|van|von|der|den)\s+){1,3}(?=[A-Z])"
)
"""What stands inside names: "Dr. de la Cruz"."""
_LATIN_END = "\u0250"
"""The first character behind the Latin letters."""


class _Languages(NamedTuple):
    """Words that tell a language.

    Attributes:
        english: function words of English.
        foreign: those of other languages that English does not have.
        borrowed: phrases that English borrows: "status post", "en face".
    """

    english: frozenset[str]
    foreign: frozenset[str]
    borrowed: re.Pattern[str]


class WordCounts(NamedTuple):
    """How many words of a text are plainly English, and how many are not."""

    english: int
    foreign: int

    @property
    def are_telling(self) -> bool:
        """Whether a word tells the language at all."""
        return bool(self.english or self.foreign)

    @property
    def is_foreign(self) -> bool:
        """Whether more words speak for another language than for English."""
        return self.foreign > self.english


@lru_cache(maxsize=1)
def _languages() -> _Languages:
    groups = word_file("languages")
    english = frozenset(" ".join(groups["english", ""]).split())
    foreign: set[str] = set()
    for (group, _language), lines in groups.items():
        if group == "others":
            foreign.update(" ".join(lines).split())
    phrases = "|".join(re.escape(phrase) for phrase in groups["borrowed", ""])
    borrowed = re.compile(rf"\b(?:{phrases})\b")
    # A word that English has as well tells nothing against it.
    return _Languages(english, frozenset(foreign) - english, borrowed)


@remembered
def count_words(text: str) -> WordCounts:
    """Count the words of a text that tell its language; most tell nothing."""
    languages = _languages()
    plain = _PARTICLES.sub(r"\1 ", _REMOVED.sub(" ", text))
    lower = plain.lower()
    if languages.borrowed.search(lower):
        # Only then in lower case: a capital tells a name from a foreign word.
        plain = languages.borrowed.sub(" ", lower)
    english = 0
    foreign = 0
    for word in _WORD.findall(plain):
        if word.lower() in languages.english:
            english += 1
        elif word.lower() in languages.foreign or _has_foreign_letters(word):
            foreign += 1
    return WordCounts(english, foreign)


def _has_foreign_letters(word: str) -> bool:
    """Whether a word is in another script, or no English one by its letters.

    "épanchement" is none; "Sjögren" with its capital is a name, and may be English.
    """
    if word.isascii():
        return False
    letters = [character for character in word if character.isalpha()]
    if any(letter >= _LATIN_END for letter in letters):
        return True
    has_accent = any(not letter.isascii() for letter in letters)
    return word[0].islower() and has_accent


def foreign_sentences(sentences: Sequence[str]) -> list[bool]:
    """Decide for each sentence of a report whether it is in another language.

    A sentence is judged by its own words. One whose words tell nothing
    ("Cardiomegaly.") is of the language of the report, which is English unless more
    words speak for another one.
    """
    counts_by_sentence = [count_words(sentence) for sentence in sentences]
    counts_of_report = WordCounts(
        english=sum(counts.english for counts in counts_by_sentence),
        foreign=sum(counts.foreign for counts in counts_by_sentence),
    )
    are_foreign: list[bool] = []
    for counts in counts_by_sentence:
        deciding = counts if counts.are_telling else counts_of_report
        are_foreign.append(deciding.is_foreign)
    return are_foreign


def is_in_another_language(sentences: Sequence[str]) -> bool:
    """Whether no sentence of a report is in English."""
    return bool(sentences) and all(foreign_sentences(sentences))


def identity() -> str:
    """Hash the words that decide: others decide otherwise."""
    return hashlib.blake2b(
        word_path("languages").read_bytes(), digest_size=6
    ).hexdigest()
