"""Phrases that a judge knows, found in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lunguage_assets.assertion.tokens import bundled_tokenizer
from lunguage_assets.caches import remembered

_TOKEN = re.compile(
    r"<finding>|and/or|vs\.|[a-z]+(?:['’-][a-z]+)*|\d+(?:[.,]\d+)*|[;:.,?()/]"
)


class Phrase(NamedTuple):
    """A phrase, or a single word, with its characters in the sentence."""

    text: str
    begin: int
    end: int


def words_of(sentence: str, begin: int = 0, end: int | None = None) -> list[Phrase]:
    """Cut a sentence, or a part of it, into words and signs in lower case.

    Words of an abbreviation ("c/w") share its characters.

    Args:
        sentence: the text.
        begin: first character of the part.
        end: character behind the part; None: the end of the sentence.
    """
    lower = sentence.lower()
    # A few letters have a longer lower case, which would shift all characters behind.
    compared = lower if len(lower) == len(sentence) else sentence
    last = len(sentence) if end is None else end
    words: list[Phrase] = []
    for start, stop, meaning in _abbreviations(sentence):
        if begin <= start and stop <= last:
            words += _words_between(compared, begin, start)
            words += [Phrase(word, start, stop) for word in meaning.split()]
            begin = stop
    return words + _words_between(compared, begin, last)


@remembered
def _abbreviations(sentence: str) -> tuple[tuple[int, int, str], ...]:
    return tuple(bundled_tokenizer().shorthand.found_in(sentence))


def _words_between(text: str, begin: int, end: int) -> list[Phrase]:
    return [
        Phrase(match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(text, begin, end)
    ]


class PhraseTable:
    """Phrases to find: the longest first, none overlapping.

    An adverb inside a phrase does not matter: "cannot be confidently excluded".

    Args:
        phrases: words with a space between.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases_by_first_word: dict[str, list[list[str]]] = {}
        # The first phrase that fits is then the longest.
        by_length = sorted(set(phrases), key=lambda text: (-text.count(" "), text))
        for phrase in by_length:
            words = phrase.split()
            self._phrases_by_first_word.setdefault(words[0], []).append(words)

    def find_in(self, sentence: str) -> list[Phrase]:
        """List the phrases of a sentence in order."""
        words = words_of(sentence)
        phrases: list[Phrase] = []
        at = 0
        while at < len(words):
            phrase, end = self._longest_at(words, at)
            if phrase:
                begin = words[at].begin
                phrases.append(Phrase(phrase, begin, words[end - 1].end))
            at = end
        return phrases

    def _longest_at(self, words: Sequence[Phrase], at: int) -> tuple[str, int]:
        """Find the longest phrase that begins at a word, and the word behind it."""
        for phrase in self._phrases_by_first_word.get(words[at].text, ()):
            end = self._end(phrase, words, at)
            if end:
                return " ".join(phrase), end
        return "", at + 1

    def _end(self, phrase: Sequence[str], words: Sequence[Phrase], at: int) -> int:
        """Find the word behind a phrase that begins here; 0: it does not."""
        may_hold_adverbs = len(phrase) > 2
        for number, expected in enumerate(phrase):
            if number and may_hold_adverbs:
                at = self._behind_adverbs(words, at, expected)
            if at == len(words) or words[at].text != expected:
                return 0
            at += 1
        return at

    def _behind_adverbs(self, words: Sequence[Phrase], at: int, expected: str) -> int:
        """Pass over adverbs before an expected word."""
        while (
            at < len(words)
            and words[at].text != expected
            and self._is_adverb(words[at].text)
        ):
            at += 1
        return at

    def _is_adverb(self, word: str) -> bool:
        # "Probably" begins a phrase of its own: it is a hedge, not an adverb inside
        # one.
        return word.endswith("ly") and word not in self._phrases_by_first_word
