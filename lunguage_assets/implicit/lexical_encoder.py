"""The built-in encoder: phrases as sets of the vocabulary's words.

It needs no model and no network (implicit.md section 2). Encoders that give vectors are
in `encoders.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.randomness import Floats

_LONGEST_TERM = 6
_LONGEST_ABBREVIATED_LOCATION = 2
"""Words: "cp angle", "rul"."""
_FUNCTION_WORDS = frozenset({"a", "an", "and", "at", "in", "of", "the"})

Words = tuple[str, ...]


class LexicalEmbedder:
    """Phrases as sets of the vocabulary's words.

    "effusion RUL" is "pleural effusion right upper lobe".
    """

    identity = "lexical-1"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._singular = remembered(self._find_singular)
        self._bag = remembered(self._make_bag)

    def cosines(self, phrases: Sequence[str]) -> Floats:
        """Compute the cosine of every two phrases, shape (n, n).

        It is the number of shared words over the geometric mean of both numbers.
        """
        bags = [self._bag(phrase) for phrase in phrases]
        words = sorted(frozenset().union(*bags))
        has_word = np.array([[word in bag for word in words] for bag in bags], float)
        sizes = has_word.sum(axis=1)
        cosines: Floats = has_word @ has_word.T / np.sqrt(np.outer(sizes, sizes))
        return cosines

    def _make_bag(self, phrase: str) -> frozenset[str]:
        """Collect the words of a phrase; only punctuation is a word of its own."""
        words = tokens(phrase)
        bag: set[str] = set()
        # The finding comes first.
        for length in range(min(_LONGEST_TERM, len(words)), 0, -1):
            finding = self._vocabulary.finding(" ".join(words[:length]))
            term = self._other_words(finding, words[:length])
            if term:
                bag.update(term)
                words = words[length:]
                break
        while words:
            for length in range(_LONGEST_ABBREVIATED_LOCATION, 0, -1):
                location = self._canonical_location(" ".join(words[:length]))
                term = self._other_words(location, words[:length])
                if term:
                    break
            bag.update(term or [self._singular(words[0])])
            words = words[length:]
        return frozenset(bag - _FUNCTION_WORDS or {phrase})

    def _other_words(self, canonical: str, words: Words) -> Words:
        """Read the words of a canonical form; empty when they are the same words."""
        term = tuple(map(self._singular, tokens(canonical)))
        return () if set(term) == set(map(self._singular, words)) else term

    def _canonical_location(self, text: str) -> str:
        return " ".join(self._vocabulary.location_parts(text))

    def _find_singular(self, word: str) -> str:
        """Find the one-word form of a word, as a finding or else as a location."""
        for form in (self._vocabulary.finding(word), self._canonical_location(word)):
            if len(tokens(form)) == 1:
                return tokens(form)[0]
        return word
