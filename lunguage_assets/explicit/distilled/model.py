"""What a distilled model knows beside its encoder: a head, and how far it errs.

docs/distilled.md. The head is fitted in `head.py`, the errors are measured in
`training.py`, and both are stored by `scorer_files.py` under the names of their fields.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.explicit.distilled.encoder import Vectors
from lunguage_assets.randomness import Floats

_VECTORS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Head:
    """A linear function from a sentence's vector to its mu.

    Attributes:
        centre: subtracted from vectors first, shape (2 d,).
        scale: by which they are divided then.
        weights: shape (2 d,).
        intercept: mu of a vector at the centre.
        covariance: of the weights (Laplace), which says what the head does not know;
            shape (2 d, 2 d).
    """

    centre: Floats
    scale: float
    weights: Floats
    intercept: float
    covariance: Floats

    def inputs(self, vectors: Vectors) -> Floats:
        """Centre and scale vectors, as the weights want them."""
        inputs: Floats = (vectors.astype(np.float64) - self.centre) / self.scale
        return inputs

    def mu(self, vectors: Vectors) -> Floats:
        """Score n vectors, shape (n,)."""
        return np.asarray(self.inputs(vectors) @ self.weights + self.intercept)

    def variance(self, vectors: Vectors) -> Floats:
        """Variance of mu, shape (n,), as far as the head knows."""
        inputs = self.inputs(vectors)
        return np.asarray(np.einsum("ij,ij->i", inputs @ self.covariance, inputs))


@dataclass(frozen=True, eq=False)
class ScoreErrors:
    """How far a scorer errs, on sentences that it had not seen.

    Attributes:
        cuts: mu between the thirds of the scale, shape (2,).
        variance: of the error in each third, without the panel's own, shape (3,).
        usual: variance of the head among training sentences.
        known: vectors of the training sentences, shape (n, 2 d).
        farthest: 99th percentile of the distance between these and their nearest.
    """

    cuts: Floats
    variance: Floats
    usual: float
    known: NDArray[np.float16]
    farthest: float

    def deviation(self, mu: Floats, head_variance: Floats) -> Floats:
        """Compute the standard deviation of mu, shape (n,).

        What the head's variance usually is, the variance of a third contains; only what
        is beyond it is added.
        """
        third = np.searchsorted(self.cuts, mu)
        excess = np.maximum(head_variance - self.usual, 0.0)
        return np.asarray(np.sqrt(self.variance[third] + excess))

    def is_out_of_distribution(self, vectors: Vectors) -> NDArray[np.bool_]:
        """Whether a sentence is farther from all known ones than these are, mostly."""
        return np.asarray(nearest(vectors, self.known) > self.farthest)


def nearest(vectors: Vectors, neighbours: NDArray[np.float16]) -> Floats:
    """Measure the distance of each vector from its nearest neighbour, shape (n,)."""
    known_vectors = neighbours.astype(np.float32)
    known_squares = (known_vectors**2).sum(axis=1)
    distance = np.empty(len(vectors))
    for start in range(0, len(vectors), _VECTORS_AT_ONCE):
        block = slice(start, start + _VECTORS_AT_ONCE)
        of_block = vectors[block]
        squares = (of_block**2).sum(axis=1)[:, None]
        # Squared distances, as |a|^2 + |b|^2 - 2 ab; rounding may put them below zero.
        apart = squares + known_squares - 2.0 * of_block @ known_vectors.T
        distance[block] = np.sqrt(np.maximum(apart.min(axis=1), 0.0))
    return distance
