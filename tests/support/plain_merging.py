"""Groups of merging as implicit.md section 2 says them, row by row: what merging is
held against.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from lunguage_assets.implicit.encoders import Embedder
from lunguage_assets.implicit.merging.merge_constraints import (
    Blacklist,
    course,
    courses_differ,
    linearised,
    stated_values,
    values_differ,
)
from lunguage_assets.implicit.rows import Row
from lunguage_assets.implicit.similarity import close_pairs


def cosine_of(embedder: Embedder, phrase_1: str, phrase_2: str) -> float:
    """The cosine of two different phrases."""
    ((cosine,),) = (
        pairs.values() for pairs in close_pairs(embedder, [[phrase_1, phrase_2]], -1.0)
    )
    return cosine


def plain_groups(
    block: Sequence[Row], embedder: Embedder, blacklist: Blacklist, threshold: float
) -> list[dict[str, float]]:
    """The rows of each group by their id, with the highest cosine to another member."""
    cosines = {}
    for a, b in combinations(range(len(block)), 2):
        if not _separated(block[a], block[b], blacklist):
            one = linearised(block[a])
            other = linearised(block[b])
            cosine = 1.0 if one == other else cosine_of(embedder, one, other)
            if cosine >= threshold:
                cosines[a, b] = cosine
    groups = [[number] for number in range(len(block))]
    for a, b in sorted(cosines, key=lambda pair: (-cosines[pair], pair)):
        one, other = (
            next(group for group in groups if number in group) for number in (a, b)
        )
        if one is not other and all(
            (min(x, y), max(x, y)) in cosines for x in one for y in other
        ):
            groups.remove(other)
            one += other
    return [
        {
            block[n].finding_id: min(
                1.0, max(cosines[min(n, m), max(n, m)] for m in group if m != n)
            )
            for n in group
        }
        for group in groups
        if len(group) > 1
    ]


def _separated(row_1: Row, row_2: Row, blacklist: Blacklist) -> bool:
    terms = []
    values = []
    for row in (row_1, row_2):
        phrase = linearised(row)
        terms.append(
            blacklist.exclusion_terms(
                ", ".join([phrase, row.name, *row.location_parts])
            )
        )
        values.append(
            stated_values(f"{phrase}, {row.placement}" if row.placement else phrase)
        )
    if terms[0].exclude(terms[1]):
        return True
    return row_1.mode != "paper" and (
        values_differ(*values) or courses_differ(course(row_1), course(row_2))
    )
