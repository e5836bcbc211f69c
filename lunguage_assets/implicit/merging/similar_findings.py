"""Groups of findings that are alike and that nothing keeps apart.

All rows of a group are alike with each other (complete link, implicit.md section 2):
"opacity" is close to "left opacity" and to "right opacity", and does not make one of
the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.cluster.hierarchy import linkage
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
    """
    phrases_by_block = [list(map(phrase_of, block)) for block in blocks]
    cosines_by_block = cosines_of_groups(embedder, phrases_by_block)
    limit = 1.0 - threshold
    for block, cosines in zip(blocks, cosines_by_block, strict=True):
        distances = 1.0 - cosines
        # No row is its own neighbour.
        np.fill_diagonal(distances, _FURTHEST)
        for first, second in np.argwhere(np.triu(distances <= limit)).tolist():
            wording = wording_of(block[first], blacklist)
            if wording.separated(wording_of(block[second], blacklist)):
                distances[first, second] = distances[second, first] = _FURTHEST
        if distances.min() > limit:
            continue
        tree = linkage(squareform(distances, checks=False), method="complete")
        # SciPy's `fcluster` takes longer to check the tree than to cut it. Rows have
        # the first numbers, and each pair that is joined has the next one.
        groups = {member: [member] for member in range(len(block))}
        for pair, (first, second, distance, _) in enumerate(tree.tolist(), len(block)):
            if distance <= limit:
                groups[pair] = groups.pop(first) + groups.pop(second)
        for members in map(sorted, groups.values()):
            if len(members) > 1:
                nearest = distances[np.ix_(members, members)].min(axis=1)
                rows = [block[member] for member in members]
                yield list(zip(rows, (1.0 - nearest).tolist(), strict=True))
