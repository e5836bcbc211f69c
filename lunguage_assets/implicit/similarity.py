"""Pairs of phrases that are similar enough (implicit.md section 2).

They are found without comparing every two of them in Python.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.implicit.encoders import Embedder, checked_vectors
from lunguage_assets.implicit.lexical_encoder import COSINE_DECIMALS, LexicalEmbedder

PhrasePair = tuple[str, str]
"""Two phrases, in alphabetical order."""

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
    number_of = {phrase: number for number, phrase in enumerate(phrases)}
    in_order = [sorted(group) for group in groups]
    if isinstance(embedder, LexicalEmbedder):
        candidates = [embedder.candidate_pairs(group, threshold) for group in in_order]
        distinct_pairs = _distinct(candidates)
        first = [number_of[pair[0]] for pair in distinct_pairs]
        second = [number_of[pair[1]] for pair in distinct_pairs]
        cosines = embedder.cosines(phrases, first, second)
    else:
        # Without a phrase no model is loaded.
        vectors: NDArray[Any] = np.zeros((0, 1))
        if phrases:
            answer = embedder.encode(phrases)
            vectors = checked_vectors(embedder.identity, answer, len(phrases))
        candidates = [
            _candidates_by_vectors(group, number_of, vectors, threshold)
            for group in in_order
        ]
        distinct_pairs = _distinct(candidates)
        cosines = _cosines_of_vectors(distinct_pairs, number_of, vectors)
    rounded = np.round(cosines, COSINE_DECIMALS).tolist()
    cosine_of = dict(zip(distinct_pairs, rounded, strict=True))
    return [
        {pair: cosine_of[pair] for pair in pairs if cosine_of[pair] >= threshold}
        for pairs in candidates
    ]


def _distinct(candidates: Sequence[Sequence[PhrasePair]]) -> list[PhrasePair]:
    return sorted({pair for pairs in candidates for pair in pairs})


def _cosines_of_vectors(
    pairs: Sequence[PhrasePair], number_of: Mapping[str, int], vectors: NDArray[Any]
) -> NDArray[np.float64]:
    """Compute the cosine of every pair alone: the same on every machine."""
    cosines = np.empty(len(pairs))
    # Some at a time, which bounds the memory of the gathered rows.
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        part = pairs[start : start + _PAIRS_AT_ONCE]
        first = vectors[[number_of[pair[0]] for pair in part]]
        second = vectors[[number_of[pair[1]] for pair in part]]
        cosines[start : start + len(part)] = np.einsum(
            "ij,ij->i", first, second, dtype=np.float64
        )
    return cosines


def _candidates_by_vectors(
    group: Sequence[str],
    number_of: Mapping[str, int],
    vectors: NDArray[Any],
    threshold: float,
) -> list[PhrasePair]:
    """Find the pairs whose product of vectors comes near the threshold.

    Their cosines are computed one by one then, since the last bits of a product of
    matrices differ from machine to machine.
    """
    vectors_of_group = vectors[[number_of[phrase] for phrase in group]]
    pairs: list[PhrasePair] = []
    for start in range(0, len(group), _ROWS_AT_ONCE):
        rows = vectors_of_group[start : start + _ROWS_AT_ONCE]
        products = rows @ vectors_of_group.T
        near_rows, near_columns = np.nonzero(products >= threshold - _PRODUCT_ERROR)
        for row, column in zip(near_rows.tolist(), near_columns.tolist(), strict=True):
            if start + row < column:
                pairs.append((group[start + row], group[column]))
    return pairs
