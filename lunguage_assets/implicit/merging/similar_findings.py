"""Groups of findings that are alike and that nothing keeps apart.

All rows of a group are alike with each other (complete link, implicit.md section 2):
"opacity" is close to "left opacity" and to "right opacity", and does not make one of
the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from lunguage_assets.implicit.encoders import Embedder, cosines_of_groups
from lunguage_assets.implicit.merging.merge_constraints import (
    Blacklist,
    phrase_of,
    wording_of,
)
from lunguage_assets.implicit.rows import Row

_FURTHEST = 2.0
"""A distance beyond every threshold: 1 less the lowest cosine."""


def similar_groups(
    blocks: Sequence[Sequence[Row]],
    blacklist: Blacklist,
    embedder: Embedder,
    threshold: float,
) -> Iterator[list[tuple[Row, float]]]:
    """Yield the groups of each block that are merged.

    Args:
        blocks: rows that may be one.
        blacklist: pairs that keep rows apart.
        embedder: encodes every phrase once.
        threshold: the least similarity of two rows of a group.

    Yields:
        Rows that are alike, each with its similarity to the nearest of the others.

    Raises:
        MethodError: the encoder answers wrongly.
    """
    phrases_by_block = [list(map(phrase_of, block)) for block in blocks]
    cosines_by_block = cosines_of_groups(embedder, phrases_by_block)
    for block, cosines in zip(blocks, cosines_by_block, strict=True):
        wordings = [wording_of(row, blacklist) for row in block]
        distances = 1.0 - cosines
        for first, second in combinations(range(len(block)), 2):
            if wordings[first].separated(wordings[second]):
                distances[first, second] = distances[second, first] = _FURTHEST
        # No row is its own neighbour.
        np.fill_diagonal(distances, _FURTHEST)
        if distances.min() > 1.0 - threshold:
            continue
        tree = linkage(squareform(distances, checks=False), method="complete")
        numbers = fcluster(tree, 1.0 - threshold, criterion="distance")
        for number in np.unique(numbers):
            members = np.flatnonzero(numbers == number).tolist()
            if len(members) > 1:
                nearest = distances[np.ix_(members, members)].min(axis=1)
                rows = [block[member] for member in members]
                yield list(zip(rows, (1.0 - nearest).tolist(), strict=True))
