"""The built-in encoder: phrases as sets of the vocabulary's words.

It needs no model and no network (implicit.md section 2). Encoders that give vectors are
in `encoders.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain, combinations

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

PhrasePair = tuple[str, str]
"""Two phrases, in alphabetical order."""


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

    def cosines(self, pairs: Sequence[PhrasePair]) -> NDArray[np.float64]:
        """Compute exact cosines: shared words over the geometric mean of both counts.

        Returns:
            (n,) for n pairs.
        """
        phrases = set(chain.from_iterable(pairs))
        bag_of = {phrase: self._bag(phrase) for phrase in phrases}
        cosines = np.empty(len(pairs), dtype=np.float64)
        for number, (first, second) in enumerate(pairs):
            first_bag = bag_of[first]
            second_bag = bag_of[second]
            shared = len(first_bag & second_bag)
            cosines[number] = shared / math.sqrt(len(first_bag) * len(second_bag))
        return cosines

    def candidate_pairs(
        self, phrases: Sequence[str], threshold: float
    ) -> list[PhrasePair]:
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
        frequency = Counter(chain.from_iterable(bags))
        # What is rounded up to the threshold counts, too.
        least_share = max(threshold - 10.0**-COSINE_DECIMALS, 0.0) ** 2
        pairs: set[PhrasePair] = set()
        phrases_by_word: dict[str, list[str]] = {}
        for phrase, bag in zip(phrases, bags, strict=True):
            rarest_first = sorted(bag, key=lambda word: (frequency[word], word))
            # A product that is a whole number may come out a last bit above it.
            least_shared = max(1, math.ceil(least_share * len(bag) - 1e-9))
            for word in rarest_first[: len(bag) - least_shared + 1]:
                earlier_phrases = phrases_by_word.setdefault(word, [])
                pairs.update((earlier, phrase) for earlier in earlier_phrases)
                earlier_phrases.append(phrase)
        # Phrases come in alphabetical order, and so do the members of a pair.
        return sorted(pairs)

    def _make_bag(self, phrase: str) -> frozenset[str]:
        """Collect the words of a phrase; only punctuation is a word of its own."""
        words = tokens(phrase)
        bag: set[str] = set()
        # The finding comes first.
        for length in range(min(_LONGEST_TERM, len(words)), 0, -1):
            term = self._term_of_finding(words[:length])
            if term:
                bag.update(term)
                words = words[length:]
                break
        while words:
            length, term = self._next_word(words)
            bag.update(term)
            words = words[length:]
        return frozenset(bag - _FUNCTION_WORDS or {phrase})

    def _next_word(self, words: Words) -> tuple[int, Words]:
        """Read the location that words begin with, or else one word; how many too."""
        for length in range(min(_LONGEST_ABBREVIATED_LOCATION, len(words)), 0, -1):
            location = self._term_of_location(words[:length])
            if location:
                return length, location
        return 1, (self._singular(words[0]),)

    def _rewrite_finding(self, words: Words) -> Words:
        return self._rewritten(words, self._vocabulary.finding(" ".join(words)))

    def _rewrite_location(self, words: Words) -> Words:
        return self._rewritten(words, self._canonical_location(" ".join(words)))

    def _rewritten(self, words: Words, canonical: str) -> Words:
        """Read the words of a canonical form; empty when they are the same words."""
        term = tuple(map(self._singular, tokens(canonical)))
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
