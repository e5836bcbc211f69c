"""An encoder with a memory: every phrase is encoded once for a home, not once for a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.implicit.encoders.contract import Embedder, checked_vectors
from lunguage_assets.implicit.encoders.vector_cache import VectorCache

KEPT_EVERY = 4096
"""Phrases that are encoded before their vectors are kept: the most that a killed run loses."""


class CachedEmbedder:
    """Another encoder's vectors, kept in a `VectorCache`.

    `known` counts phrases that were kept already, `encoded` the others.
    """

    def __init__(self, inner: Embedder, cache: VectorCache) -> None:
        self._inner, self._cache = inner, cache
        self.known = self.encoded = 0

    @property
    def identity(self) -> str:
        return self._inner.identity

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """The inner encoder's vectors, n x d.

        Its errors are raised after the vectors made until then are kept.
        """
        vectors, known = self._cache.read(phrases)
        missing = sorted(
            (int(number) for number in np.flatnonzero(~known)),
            key=lambda number: (len(phrases[number]), phrases[number]),
        )
        for start in range(0, len(missing), KEPT_EVERY):
            rows = missing[start : start + KEPT_EVERY]
            said = [phrases[row] for row in rows]
            fresh = checked_vectors(self.identity, self._inner.encode(said), len(said)).astype(
                np.float32, copy=False
            )
            if fresh.shape[1] != vectors.shape[1]:
                if known.any():  # the file speaks of another encoder than it says
                    self._cache.discard("its vectors are of another length than the encoder's")
                    return self.encode(phrases)
                vectors = np.empty((len(phrases), fresh.shape[1]), dtype=np.float32)
            vectors[rows] = self._cache.add(said, fresh)
        self.known += len(phrases) - len(missing)
        self.encoded += len(missing)
        return vectors
