"""The built-in encoder: words of the vocabulary instead of a model (implicit.md section 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.words import tokens

IDENTITY = "lexical-1"

_LONGEST_TERM = 6
_FUNCTION_WORDS = frozenset({"a", "an", "and", "at", "in", "of", "the"})


class LexicalEmbedder:
    """Phrases as sets of vocabulary-normalised words: no model, exact, the same everywhere.

    Abbreviations are expanded and plurals are singular, so "effusion RUL" is "pleural effusion right upper
    lobe". There are no vectors: words hashed into a few hundred numbers would invent similarity.
    """

    identity = IDENTITY

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._singular = cache(self._singular_of)
        self._finding = cache(lambda said: self._rewritten(said, vocabulary.finding))
        self._location = cache(lambda said: self._rewritten(said, self._place))

    def cosines(
        self, phrases: Sequence[str], first: Sequence[int], second: Sequence[int]
    ) -> NDArray[np.float64]:
        """Exact cosines: shared words over the geometric mean of both counts."""
        bags = [self._bag(phrase) for phrase in phrases]
        shared = [
            len(bags[a] & bags[b]) / math.sqrt(len(bags[a]) * len(bags[b]))
            for a, b in zip(first, second, strict=True)
        ]
        return np.array(shared, dtype=np.float64)

    def _bag(self, phrase: str) -> frozenset[str]:
        """Words of a phrase; one without any word (only punctuation) is a word of its own."""
        said = tokens(phrase)
        words: list[str] = []
        start = 0
        for length in range(min(_LONGEST_TERM, len(said)), 0, -1):  # the finding comes first
            if term := self._finding(said[:length]):
                words += term
                start = length
                break
        while start < len(said):
            for taken in (2, 1):  # abbreviated places have at most two words ("cp angle", "rul")
                place = self._location(said[start : start + taken]) if start + taken <= len(said) else ()
                if place:
                    break
            words += place or (self._singular(said[start]),)
            start += taken
        return frozenset(words) - _FUNCTION_WORDS or frozenset((phrase,))

    def _rewritten(self, said: tuple[str, ...], form: Callable[[str], str]) -> tuple[str, ...]:
        """The vocabulary's words for some words; empty when they are the same, word by word."""
        term = tuple(map(self._singular, tokens(form(" ".join(said)))))
        return () if set(term) == set(map(self._singular, said)) else term

    def _place(self, span: str) -> str:
        return " ".join(self._vocabulary.location_parts(span))

    def _singular_of(self, word: str) -> str:
        """The vocabulary's one-word form of a word, as a finding or else as a place; else the word itself."""
        forms = (tokens(self._vocabulary.finding(word)), tokens(self._place(word)))
        return next((form[0] for form in forms if len(form) == 1), word)
