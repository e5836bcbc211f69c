"""Pairs of phrases that are similar enough (implicit.md section 2)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from lunguage_assets.implicit.encoders import Embedder, checked_vectors
from lunguage_assets.implicit.lexical_encoder import LexicalEmbedder
from lunguage_assets.randomness import Floats

COSINE_DECIMALS = 6
"""Cosines are rounded before any comparison: no platform's last bit decides a merge."""

PhrasePair = tuple[str, str]
"""Two phrases, in alphabetical order."""


def close_pairs(
    embedder: Embedder, groups: Sequence[Collection[str]], threshold: float
) -> list[dict[PhrasePair, float]]:
    """Find the pairs of phrases that are similar enough.

    Args:
        embedder: what measures similarity; it encodes every phrase once.
        groups: distinct phrases; those of different groups are not compared.
        threshold: the least rounded cosine of a pair.

    Returns:
        For each group its pairs, with their rounded cosine.

    Raises:
        MethodError: the encoder's answer is not one finite unit vector per phrase.
    """
    vector_by_phrase: dict[str, Floats] = {}
    phrases = sorted(set().union(*groups))
    # Without a phrase no model is loaded.
    if phrases and not isinstance(embedder, LexicalEmbedder):
        answer = embedder.encode(phrases)
        vectors = checked_vectors(embedder.identity, answer, len(phrases))
        vector_by_phrase = dict(zip(phrases, vectors.astype(np.float64), strict=True))
    close = []
    for group in map(sorted, groups):
        pairs: dict[PhrasePair, float] = {}
        if len(group) > 1:
            if isinstance(embedder, LexicalEmbedder):
                cosines = embedder.cosines(group)
            else:
                of_group = np.stack([vector_by_phrase[phrase] for phrase in group])
                cosines = of_group @ of_group.T
            rounded = np.round(cosines, COSINE_DECIMALS)
            for first, second in np.argwhere(np.triu(rounded >= threshold, 1)):
                pairs[group[first], group[second]] = float(rounded[first, second])
        close.append(pairs)
    return close
