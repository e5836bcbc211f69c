"""The built-in encoder: phrases as sets of the vocabulary's words.

It needs no model and no network (implicit.md section 2). Encoders that give vectors are
in `encoders.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

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
        pairs = product(map(self._bag, phrases), repeat=2)
        numbers_shared = [len(first & second) for first, second in pairs]
        shared = np.reshape(numbers_shared, (len(phrases), len(phrases)))
        sizes = np.diagonal(shared)
        cosines: Floats = shared / np.sqrt(np.outer(sizes, sizes))
        return cosines

    def _make_bag(self, phrase: str) -> frozenset[str]:
        """Collect the words of a phrase; only punctuation is a word of its own."""
        words = tokens(phrase)
        # The finding comes first.
        finding, length = self._renamed(words, _LONGEST_TERM, self._vocabulary.finding)
        bag = set(finding)
        words = words[length:]
        while words:
            location, length = self._renamed(
                words, _LONGEST_ABBREVIATED_LOCATION, self._canonical_location
            )
            bag.update(location or [self._singular(words[0])])
            words = words[length or 1 :]
        return frozenset(bag - _FUNCTION_WORDS or {phrase})

    def _renamed(
        self, words: Words, longest: int, canonical: Callable[[str], str]
    ) -> tuple[Words, int]:
        """Find the canonical form of the first words, where it has other words.

        Args:
            words: of a phrase.
            longest: how many of them are read together, at most.
            canonical: finds the form of a text.

        Returns:
            The words of the form, and how many of the phrase it stands for.
        """
        for length in range(min(longest, len(words)), 0, -1):
            form = canonical(" ".join(words[:length]))
            renamed = tuple(map(self._singular, tokens(form)))
            if set(renamed) != set(map(self._singular, words[:length])):
                return renamed, length
        return (), 0

    def _canonical_location(self, text: str) -> str:
        return " ".join(self._vocabulary.location_parts(text))

    def _find_singular(self, word: str) -> str:
        """Find the one-word form of a word, as a finding or else as a location."""
        for form in (self._vocabulary.finding(word), self._canonical_location(word)):
            if len(tokens(form)) == 1:
                return tokens(form)[0]
        return word
