"""Pairs of phrases that are similar enough (implicit.md section 2).

They are found without comparing every two of them in Python.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.implicit.encoders import (
    Embedder,
    VectorEmbedder,
    checked_vectors,
)
from lunguage_assets.implicit.lexical_encoder import (
    COSINE_DECIMALS,
    LexicalEmbedder,
    PhrasePair,
)

_PAIRS_AT_ONCE = 8192
_ROWS_AT_ONCE = 1024
_PRODUCT_ERROR = 1e-3
"""How far a product in single precision may be from the cosine, generously."""


def close_pairs(
    embedder: Embedder, groups: Sequence[Collection[str]], threshold: float
) -> list[dict[PhrasePair, float]]:
    """Find the pairs of phrases that are similar enough.

    Args:
        embedder: what measures similarity; it encodes every phrase once.
        groups: distinct phrases; those of different groups are not compared.
        threshold: the least rounded cosine of a pair.

    Returns:
        For each group its pairs, the phrases of each in alphabetical order, with their
        rounded cosine.

    Raises:
        MethodError: the encoder's answer is not one finite unit vector per phrase.
    """
    phrases = sorted({phrase for group in groups for phrase in group})
    if isinstance(embedder, LexicalEmbedder):
        measure: LexicalEmbedder | _PhraseVectors = embedder
    else:
        measure = _PhraseVectors(embedder, phrases)
    candidates = [measure.candidate_pairs(sorted(group), threshold) for group in groups]
    distinct_pairs = sorted(set(chain.from_iterable(candidates)))
    cosines = np.round(measure.cosines(distinct_pairs), COSINE_DECIMALS).tolist()
    cosine_of = dict(zip(distinct_pairs, cosines, strict=True))
    # A candidate only may be near: its exact cosine, rounded, decides.
    close: list[dict[PhrasePair, float]] = []
    for pairs in candidates:
        near = (pair for pair in pairs if cosine_of[pair] >= threshold)
        close.append({pair: cosine_of[pair] for pair in near})
    return close


class _PhraseVectors:
    """The vectors of phrases, compared as `LexicalEmbedder` compares their words."""

    def __init__(self, embedder: VectorEmbedder, phrases: Sequence[str]) -> None:
        self._number_of = {phrase: number for number, phrase in enumerate(phrases)}
        # Without a phrase no model is loaded.
        self._vectors: NDArray[Any] = np.zeros((0, 1))
        if phrases:
            answer = embedder.encode(phrases)
            self._vectors = checked_vectors(embedder.identity, answer, len(phrases))

    def _vectors_of(self, phrases: Iterable[str]) -> NDArray[Any]:
        return self._vectors[[self._number_of[phrase] for phrase in phrases]]

    def candidate_pairs(
        self, phrases: Sequence[str], threshold: float
    ) -> list[PhrasePair]:
        """Find the pairs whose product of vectors comes near the threshold.

        Their cosines are computed one by one then, since the last bits of a product of
        matrices differ from machine to machine.
        """
        vectors = self._vectors_of(phrases)
        pairs: list[PhrasePair] = []
        for start in range(0, len(phrases), _ROWS_AT_ONCE):
            products = vectors[start : start + _ROWS_AT_ONCE] @ vectors.T
            is_near = products >= threshold - _PRODUCT_ERROR
            for row, second in np.argwhere(is_near).tolist():
                first = start + row
                if first < second:
                    pairs.append((phrases[first], phrases[second]))
        return pairs

    def cosines(self, pairs: Sequence[PhrasePair]) -> NDArray[np.float64]:
        """Compute the cosine of every pair alone: the same on every machine."""
        cosines = np.empty(len(pairs))
        # Some at a time, which bounds the memory of the gathered rows.
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            batch = pairs[start : start + _PAIRS_AT_ONCE]
            first = self._vectors_of(pair[0] for pair in batch)
            second = self._vectors_of(pair[1] for pair in batch)
            cosines[start : start + len(batch)] = np.einsum(
                "ij,ij->i", first, second, dtype=np.float64
            )
        return cosines
