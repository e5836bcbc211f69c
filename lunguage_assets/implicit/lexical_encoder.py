"""The built-in encoder: phrases as sets of the vocabulary's words.

It needs no model and no network (implicit.md section 2). Encoders that give vectors are
in `encoders.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.rows import tokens

IDENTITY = "lexical-1"

COSINE_DECIMALS = 6
"""Cosines are rounded before any comparison: no platform's last bit decides a merge."""

_LONGEST_TERM = 6
_LONGEST_ABBREVIATED_LOCATION = 2
"""Words: "cp angle", "rul"."""
_FUNCTION_WORDS = frozenset({"a", "an", "and", "at", "in", "of", "the"})
_FEW_PHRASES = 24
"""So few are compared every two of them: an index would cost more than it saves."""

Words = tuple[str, ...]


class LexicalEmbedder:
    """Phrases as sets of the vocabulary's words.

    "effusion RUL" is "pleural effusion right upper lobe".
    """

    identity = IDENTITY

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._singular = remembered(self._find_singular)
        self._term_of_finding = remembered(self._rewrite_finding)
        self._term_of_location = remembered(self._rewrite_location)
        self._bag = remembered(self._make_bag)

    def cosines(
        self, phrases: Sequence[str], first: Sequence[int], second: Sequence[int]
    ) -> NDArray[np.float64]:
        """Compute exact cosines: shared words over the geometric mean of both counts.

        Args:
            phrases: distinct ones.
            first: positions of the first phrases of n pairs.
            second: positions of the second ones.

        Returns:
            (n,)
        """
        bags = [self._bag(phrase) for phrase in phrases]
        cosines = np.empty(len(first), dtype=np.float64)
        for number, pair in enumerate(zip(first, second, strict=True)):
            bag = bags[pair[0]]
            other_bag = bags[pair[1]]
            shared = len(bag & other_bag)
            cosines[number] = shared / math.sqrt(len(bag) * len(other_bag))
        return cosines

    def candidate_pairs(
        self, phrases: Sequence[str], threshold: float
    ) -> list[tuple[str, str]]:
        """Find the pairs that may reach a cosine, by their rarest words where many.

        Two bags with a cosine of t share at least t² of the words of either. So they
        share one of the first n - ceil(t² n) + 1 words of each, whatever the order of
        the words, as long as it is one for all; with the rarest first, few pairs are
        left ("prefix filtering" in the literature of similarity joins).

        Args:
            phrases: distinct ones, in alphabetical order.
            threshold: the cosine.
        """
        if len(phrases) <= _FEW_PHRASES:
            return list(combinations(phrases, 2))
        bags = [self._bag(phrase) for phrase in phrases]
        frequency = Counter(word for bag in bags for word in bag)
        # What is rounded up to the threshold counts, too.
        least_share = max(threshold - 10.0**-COSINE_DECIMALS, 0.0) ** 2
        pairs: set[tuple[int, int]] = set()
        numbers_by_word: dict[str, list[int]] = {}
        for number, bag in enumerate(bags):
            rarest_first = sorted(bag, key=lambda word: (frequency[word], word))
            least_shared = max(1, math.ceil(least_share * len(bag) - 1e-9))
            for word in rarest_first[: len(bag) - least_shared + 1]:
                earlier_numbers = numbers_by_word.setdefault(word, [])
                pairs.update((earlier, number) for earlier in earlier_numbers)
                earlier_numbers.append(number)
        return [(phrases[first], phrases[second]) for first, second in sorted(pairs)]

    def _make_bag(self, phrase: str) -> frozenset[str]:
        """Collect the words of a phrase; only punctuation is a word of its own."""
        words = tokens(phrase)
        start = 0
        bag: list[str] = []
        # The finding comes first.
        for length in range(min(_LONGEST_TERM, len(words)), 0, -1):
            if term := self._term_of_finding(words[:length]):
                bag += term
                start = length
                break
        while start < len(words):
            length, term = self._next_word(words[start:])
            bag += term
            start += length
        return frozenset(bag) - _FUNCTION_WORDS or frozenset((phrase,))

    def _next_word(self, words: Words) -> tuple[int, Words]:
        """Read the location that words begin with, or else one word; how many too."""
        for length in range(_LONGEST_ABBREVIATED_LOCATION, 0, -1):
            if length <= len(words):
                location = self._term_of_location(words[:length])
                if location:
                    return length, location
        return 1, (self._singular(words[0]),)

    def _rewrite_finding(self, words: Words) -> Words:
        return self._rewritten(words, self._vocabulary.finding)

    def _rewrite_location(self, words: Words) -> Words:
        return self._rewritten(words, self._canonical_location)

    def _rewritten(self, words: Words, form: Callable[[str], str]) -> Words:
        """Rewrite words by the vocabulary; empty when they are the same words."""
        term = tuple(map(self._singular, tokens(form(" ".join(words)))))
        singulars = set(map(self._singular, words))
        return () if set(term) == singulars else term

    def _canonical_location(self, text: str) -> str:
        return " ".join(self._vocabulary.location_parts(text))

    def _find_singular(self, word: str) -> str:
        """Find the one-word form of a word, as a finding or else as a location."""
        for canonical in (
            self._vocabulary.finding(word),
            self._canonical_location(word),
        ):
            form = tokens(canonical)
            if len(form) == 1:
                return form[0]
        return word
