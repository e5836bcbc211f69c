"""How similar phrases are (implicit.md section 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lunguage_assets.implicit.encoders import Embedder, checked_vectors
from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder
from lunguage_assets.randomness import Floats

COSINE_DECIMALS = 6
"""Cosines are rounded before any comparison: no platform's last bit decides a merge."""


def cosines_of_groups(
    embedder: Embedder, groups: Sequence[Sequence[str]]
) -> list[Floats]:
    """Compute how similar the phrases of each group are.

    Args:
        embedder: what measures similarity; it encodes every phrase once.
        groups: phrases; those of different groups are not compared.

    Returns:
        For each group of n phrases the rounded cosines of every two, shape (n, n).

    Raises:
        MethodError: the encoder's answer is not one finite unit vector per phrase.
    """
    phrases = sorted(set().union(*groups))
    position = {phrase: number for number, phrase in enumerate(phrases)}
    # Without a phrase no model is loaded.
    if phrases and not isinstance(embedder, LexicalEmbedder):
        answer = embedder.encode(phrases)
        vectors = checked_vectors(embedder.identity, answer, len(phrases)).astype(float)
    cosines_by_group = []
    for group in groups:
        if isinstance(embedder, LexicalEmbedder):
            cosines = embedder.cosines(group)
        else:
            of_group = vectors[[position[phrase] for phrase in group]]
            cosines = np.inner(of_group, of_group)
        cosines_by_group.append(np.round(cosines, COSINE_DECIMALS).clip(max=1.0))
    return cosines_by_group
