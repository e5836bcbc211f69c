"""The words of a sentence, and phrases that a judge knows in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lunguage_assets.caches import remembered

_TOKEN = re.compile(
    r"<finding>|and/or|vs\.|[a-z]+(?:['’-][a-z]+)*|\d+(?:[.,]\d+)*|[;:.,?()/]"
)


class Phrase(NamedTuple):
    """A phrase, or a single word, with its characters in the sentence."""

    text: str
    begin: int
    end: int


@remembered
def words_of(sentence: str) -> tuple[Phrase, ...]:
    """Cut a sentence into words and signs in lower case."""
    lower = sentence.lower()
    # A few letters have a longer lower case, which would shift all characters behind.
    compared = lower if len(lower) == len(sentence) else sentence
    return tuple(
        Phrase(match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(compared)
    )


def within(words: Sequence[Phrase], begin: int, end: int) -> Sequence[Phrase]:
    """Take the words or phrases, in order, that share characters with a span."""
    first = bisect_left(words, begin + 1, key=lambda word: word.end)
    last = bisect_left(words, end, key=lambda word: word.begin)
    return words[first:last]


class PhraseTable:
    """Phrases to find: the longest first, none overlapping.

    An adverb inside a phrase of three words or more does not matter: "cannot be
    confidently excluded".

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

    def find_in(self, words: Sequence[Phrase]) -> list[Phrase]:
        """List the phrases of a sentence in order."""
        phrases: list[Phrase] = []
        end_of_last = 0
        for at, word in enumerate(words):
            if at < end_of_last:
                continue
            for phrase in self._phrases_by_first_word.get(word.text, ()):
                end = self._end(phrase, words, at)
                if end:
                    text = " ".join(phrase)
                    phrases.append(Phrase(text, word.begin, words[end - 1].end))
                    end_of_last = end
                    break
        return phrases

    def _end(self, phrase: Sequence[str], words: Sequence[Phrase], at: int) -> int:
        """Find the word behind a phrase that begins here; 0: it does not."""
        matched = 0
        for end, word in enumerate(words[at:], start=at + 1):
            if word.text == phrase[matched]:
                matched += 1
                if matched == len(phrase):
                    return end
                continue
            is_adverb = word.text.endswith("ly") and len(phrase) > 2
            # "Probably" begins a phrase of its own: it is a hedge, not an adverb inside
            # one.
            if not is_adverb or word.text in self._phrases_by_first_word:
                break
        return 0
