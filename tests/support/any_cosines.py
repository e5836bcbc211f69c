"""The worst encoder: cosines that mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain, combinations

import numpy as np

from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder


class AnyCosines(LexicalEmbedder):
    """Cosines of pairs that mean nothing, many of them alike and many at the threshold:
    what the worst encoder may say.
    """

    def __init__(self, salt: int) -> None:
        self.identity, self._salt = f"any-{salt}", salt
        self.asked: set[str] = set()

    def cosine(self, phrase_1: str, phrase_2: str) -> float:
        said_ = f"{self._salt} {min(phrase_1, phrase_2)} | {max(phrase_1, phrase_2)}"
        return (0.0, 0.9, 0.9, 0.95, 0.9999999, 1.0, 1.0000002)[
            blake2b(said_.encode(), digest_size=4).digest()[0] % 7
        ]

    def candidate_pairs(
        self, phrases: Sequence[str], threshold: float
    ) -> list[tuple[str, str]]:
        """Every two phrases: what they say tells nothing of their cosine."""
        return list(combinations(phrases, 2))

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.asked = set(chain.from_iterable(pairs))
        distinct_pairs = {frozenset(pair) for pair in pairs}
        assert len(distinct_pairs) == len(pairs), "a pair of phrases is asked for once"
        assert all(len(pair) == 2 for pair in distinct_pairs), (
            "a phrase is not compared with itself"
        )
        return np.array([self.cosine(*pair) for pair in pairs])
