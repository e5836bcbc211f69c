"""Sentence encoders: how similar two phrases are (implicit.md section 2).

An encoder is part of the provenance: its `identity` is stored with every row. One that
cannot be opened is an error, never a reason to take another. The built-in encoder is in
`lexical_encoder.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.hub import SentenceEmbedder
from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder
from lunguage_assets.randomness import Floats
from lunguage_assets.settings import ImplicitSettings

COSINE_DECIMALS = 6
"""Cosines are rounded before any comparison: no platform's last bit decides a merge."""


class VectorEmbedder(Protocol):
    """A sentence encoder that gives vectors."""

    @property
    def identity(self) -> str:
        """Name and revision, recorded with every result."""

    def encode(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """Encode n phrases as n x d, each as it would be alone, with length 1."""


Embedder = VectorEmbedder | LexicalEmbedder
"""What measures similarity; one's own has the members of `VectorEmbedder`."""


def make_embedder(settings: ImplicitSettings, vocabulary: Vocabulary) -> Embedder:
    """Open the configured encoder; the built-in one reads with a vocabulary.

    Raises:
        ConfigurationError: library, model or revision is missing.
    """
    if settings.encoder == "lexical":
        return LexicalEmbedder(vocabulary)
    return SentenceEmbedder(settings.encoder_model, settings.encoder_revision)


def cosines_of_groups(
    embedder: Embedder, groups: Sequence[Sequence[str]]
) -> list[Floats]:
    """Compute how similar the phrases of each group are.

    Args:
        embedder: what measures similarity; it encodes every phrase once.
        groups: phrases; those of different groups are not compared.

    Returns:
        For each group of n phrases the rounded cosines of every two, shape (n, n).
    """
    # Without a phrase no model is loaded.
    if not groups:
        return []
    if isinstance(embedder, LexicalEmbedder):
        cosines_by_group = [embedder.cosines(group) for group in groups]
    else:
        # Phrases of one length go through a model together.
        phrases = sorted(set().union(*groups), key=lambda phrase: (len(phrase), phrase))
        vectors = dict(zip(phrases, embedder.encode(phrases), strict=True))
        cosines_by_group = []
        for group in groups:
            of_group = np.array([vectors[phrase] for phrase in group], float)
            cosines_by_group.append(np.inner(of_group, of_group))
    return [
        np.round(cosines, COSINE_DECIMALS).clip(max=1.0) for cosines in cosines_by_group
    ]
