"""The worst encoder: cosines that mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder


class AnyCosines(LexicalEmbedder):
    """Cosines of pairs that mean nothing, many of them alike and many at the threshold:
    what the worst encoder may say.
    """

    def __init__(self, salt: int) -> None:
        self.identity, self._salt = f"any-{salt}", salt

    def cosine(self, phrase_1: str, phrase_2: str) -> float:
        if phrase_1 == phrase_2:
            return 1.0
        said_ = f"{self._salt} {min(phrase_1, phrase_2)} | {max(phrase_1, phrase_2)}"
        return (0.0, 0.9, 0.9, 0.95, 0.9999999, 1.0, 1.0000002)[
            blake2b(said_.encode(), digest_size=4).digest()[0] % 7
        ]

    def cosines(self, phrases: Sequence[str]) -> np.ndarray:
        return np.array([[self.cosine(a, b) for b in phrases] for a in phrases])
