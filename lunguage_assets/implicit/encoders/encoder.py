"""Sentence encoders, which measure the similarity of two phrases (implicit.md section 2).

An encoder is part of the provenance: its `identity` is stored with every row. One that cannot be opened is an
error, never a reason to take another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.errors import ConfigurationError, MethodError
from lunguage_assets.implicit.encoders.sentence import SentenceEmbedder
from lunguage_assets.implicit.encoders.vectors import (
    CachedEmbedder,
    PrecomputedEmbedder,
    VectorEmbedder,
    checked_vectors,
)
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.settings import ImplicitSettings

IDENTITY = "lexical-1"
"""Of the built-in encoder."""

_LONGEST_TERM = 6
_FUNCTION_WORDS = frozenset({"a", "an", "and", "at", "in", "of", "the"})

_DECIMALS = 6
"""Cosines are rounded to this many decimals before any comparison: no platform's last bit decides a merge."""

_AT_ONCE = 8192


@runtime_checkable
class PairEmbedder(Protocol):
    """An encoder that gives cosines of listed pairs without vectors."""

    @property
    def identity(self) -> str:
        """Name and revision, recorded with every result."""

    def cosines(
        self, phrases: Sequence[str], first: Sequence[int], second: Sequence[int]
    ) -> NDArray[np.float64]:
        """Cosine of phrases[first[k]] and phrases[second[k]] for every k."""


Embedder = VectorEmbedder | PairEmbedder
"""What measures the similarity of two phrases. An encoder of one's own is any object with the members of
either; of one that has both, the cosines are asked for.
"""


def make_embedder(settings: ImplicitSettings, vocabulary: Vocabulary, home: Path) -> Embedder:
    """The configured encoder, opened; a model keeps its vectors in `encodings` of the home.

    Raises:
        ConfigurationError: a library, model or revision is missing, or no vectors file is named.
        InputError: the vectors file cannot be used.
    """
    return LexicalEmbedder(vocabulary) if settings.encoder == "lexical" else _from_outside(settings, home)


def encoder_identity(settings: ImplicitSettings, home: Path) -> str:
    """The identity of the encoder that `make_embedder` would open; raises as that does."""
    return IDENTITY if settings.encoder == "lexical" else _from_outside(settings, home).identity


def _from_outside(settings: ImplicitSettings, home: Path) -> VectorEmbedder:
    if settings.encoder == "sentence":
        name, revision = settings.encoder_model, settings.encoder_revision
        model = SentenceEmbedder(name, revision, settings.encoder_device, settings.encoder_batch_size)
        return CachedEmbedder(model, home / "encodings")
    if not settings.encoder_vectors:
        raise ConfigurationError(
            "settings.toml, option implicit.encoder_vectors: found nothing, expected the Parquet file with "
            "the vectors of encoder 'precomputed'. docs/models.md shows how to make one."
        )
    return PrecomputedEmbedder(home / Path(settings.encoder_vectors).expanduser())


def pair_cosines(
    embedder: Embedder, phrases: Sequence[str], first: Sequence[int], second: Sequence[int]
) -> NDArray[np.float64]:
    """Rounded cosines of the listed pairs of distinct phrases; every phrase is encoded exactly once. Raises
    `MethodError` when the answer is not one finite unit vector per phrase, or one finite cosine per pair.
    """
    if not phrases:
        return np.zeros(0)
    if isinstance(embedder, PairEmbedder):
        found = np.asarray(embedder.cosines(phrases, first, second), dtype=np.float64)
        if found.shape != (len(first),) or not np.isfinite(found).all():
            raise MethodError(
                f"encoder {embedder.identity}: found an array of shape {found.shape}, expected {len(first)} "
                "finite cosines."
            )
        return np.round(found, _DECIMALS)
    vectors = checked_vectors(embedder.identity, embedder.encode(phrases), len(phrases))
    found = np.empty(len(first))
    a, b = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
    for start in range(0, len(found), _AT_ONCE):  # bounds the memory of the gathered rows
        part = slice(start, start + _AT_ONCE)
        found[part] = np.einsum("ij,ij->i", vectors[a[part]], vectors[b[part]], dtype=np.float64)
    return np.round(found, _DECIMALS)


class LexicalEmbedder:
    """Phrases as sets of vocabulary-normalised words: no model, exact, the same everywhere.

    Abbreviations are expanded and plurals singular: "effusion RUL" is "pleural effusion right upper lobe".
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
