"""Which sentences of a report are not in English, by function words.

The rules know English words, many of which other languages share: "Kein Pneumothorax"
would be a pneumothorax without doubt. What is in another language is therefore not read
by them; a language model reads it. The words stand in
`resources/structuring/languages.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property

from pydantic import BaseModel, ConfigDict

from lunguage_assets.caches import remembered
from lunguage_assets.packaged_data import read_as, resource

OTHER_LANGUAGE = "other language"
"""The reason why a sentence is unreadable to the rules."""
NOT_ENGLISH = "not-english"
"""The note of a report of which no sentence is in English (resources/reasons.yaml)."""
LANGUAGES = resource("structuring", "languages.yaml")
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


class _Languages(BaseModel):
    """Words that tell a language.

    Attributes:
        english: function words of English.
        others: those of each other language.
        borrowed: phrases that English borrows: "de novo", "en face".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    english: list[str]
    others: dict[str, list[str]]
    borrowed: list[str]

    @cached_property
    def english_words(self) -> frozenset[str]:
        return frozenset(" ".join(self.english).split())

    @cached_property
    def foreign_words(self) -> frozenset[str]:
        """Words of other languages that English does not have."""
        lines = [line for lines in self.others.values() for line in lines]
        return frozenset(" ".join(lines).split()) - self.english_words

    @cached_property
    def borrowed_phrases(self) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, self.borrowed))})\b")


@cache
def _languages() -> _Languages:
    return read_as(LANGUAGES, _Languages)


@remembered
def _foreign_surplus(text: str) -> int | None:
    """Count by how many more words a text is foreign than English; most tell nothing.

    Returns:
        None: no word tells the language.
    """
    languages = _languages()
    plain = _PARTICLES.sub(r"\1 ", _REMOVED.sub(" ", text))
    lower = plain.lower()
    if languages.borrowed_phrases.search(lower):
        # Only then in lower case: a capital tells a name from a foreign word.
        plain = languages.borrowed_phrases.sub(" ", lower)
    votes: list[int] = []
    for word in _WORD.findall(plain):
        if word.lower() in languages.english_words:
            votes.append(-1)
        elif word.lower() in languages.foreign_words or _has_foreign_letters(word):
            votes.append(1)
    return sum(votes) if votes else None


def _has_foreign_letters(word: str) -> bool:
    """Whether a word is in another script, or no English one by its letters.

    "épanchement" is none; "Sjögren" with its capital is a name, and may be English.
    """
    letters = word.replace("’", "'")
    is_foreign = letters[0].islower() or max(letters) >= _LATIN_END
    return is_foreign and not letters.isascii()


def foreign_sentences(sentences: Sequence[str]) -> list[bool]:
    """Decide for each sentence of a report whether it is in another language.

    A sentence is judged by its own words. One whose words tell nothing
    ("Cardiomegaly.") is of the language of the report, which is English unless more
    words speak for another one.
    """
    surpluses = [_foreign_surplus(sentence) for sentence in sentences]
    of_report = sum(surplus or 0 for surplus in surpluses)
    return [(of_report if surplus is None else surplus) > 0 for surplus in surpluses]


def is_in_another_language(sentences: Sequence[str]) -> bool:
    """Whether no sentence of a report is in English."""
    return bool(sentences) and all(foreign_sentences(sentences))
