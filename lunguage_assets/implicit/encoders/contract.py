"""The protocol of encoders, and cosines of their vectors (implicit.md section 2).

An encoder is part of the provenance: its `identity` is stored with every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.errors import MethodError

_DECIMALS = 6
"""Cosines are rounded to this many decimals before any comparison: no platform's last bit decides a merge."""

_AT_ONCE = 8192
_UNIT_TOLERANCE = 1e-3


class VectorEmbedder(Protocol):
    """A sentence encoder that gives vectors."""

    @property
    def identity(self) -> str:
        """Name and revision, recorded with every result."""

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """One L2-normalised row per phrase, n x d; a phrase's row does not depend on the other phrases."""


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


def pair_cosines(
    embedder: Embedder, phrases: Sequence[str], first: Sequence[int], second: Sequence[int]
) -> NDArray[np.float64]:
    """Rounded cosines of the listed pairs of distinct phrases; every phrase is encoded exactly once.

    Raises:
        MethodError: the encoder's answer is not one finite unit vector per phrase, or not one finite cosine
            per pair.
    """
    if not phrases:
        return np.zeros(0)
    if isinstance(embedder, PairEmbedder):
        found = np.asarray(embedder.cosines(phrases, first, second), dtype=np.float64)
        if found.shape != (len(first),) or not np.isfinite(found).all():
            raise _wrong(embedder.identity, found.shape, f"{len(first)} finite cosines")
        return np.round(found, _DECIMALS)
    vectors = checked_vectors(embedder.identity, embedder.encode(phrases), len(phrases))
    found = np.empty(len(first))
    a, b = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
    for start in range(0, len(found), _AT_ONCE):  # bounds the memory of the gathered rows
        part = slice(start, start + _AT_ONCE)
        found[part] = np.einsum("ij,ij->i", vectors[a[part]], vectors[b[part]], dtype=np.float64)
    return np.round(found, _DECIMALS)


def checked_vectors(identity: str, answer: NDArray[np.float32], rows: int) -> NDArray[np.float32]:
    """The encoder's answer as `rows` finite unit vectors; raises `MethodError` when it is not."""
    vectors = np.asarray(answer)
    right = vectors.ndim == 2 and len(vectors) == rows
    if not right or not np.allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=0.0, atol=_UNIT_TOLERANCE):
        raise _wrong(identity, vectors.shape, f"{rows} finite vectors of length 1")
    return vectors


def _wrong(identity: str, shape: tuple[int, ...], expected: str) -> MethodError:
    return MethodError(f"encoder {identity}: found an array of shape {shape}, expected {expected}.")
