"""Groups of findings that are alike and that nothing keeps apart.

All rows of a group are alike with each other (complete link, implicit.md section 2):
"opacity" is close to "left opacity" and to "right opacity", and does not make one of
the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

from lunguage_assets.implicit.encoders import Embedder
from lunguage_assets.implicit.merging.merge_constraints import (
    Blacklist,
    Wording,
    wording_of,
)
from lunguage_assets.implicit.rows import Row
from lunguage_assets.implicit.similarity import PhrasePair, close_pairs

Pair = tuple[int, int]
"""Positions of two items, the lower first."""


class SimilarGroup(NamedTuple):
    """Rows that are alike, each with its similarity to the nearest of the others."""

    rows: list[Row]
    similarity_by_id: dict[str, float]


class DistinctWording(NamedTuple):
    """A wording of a block, and the positions of the rows that have it."""

    wording: Wording
    positions: list[int]


def similar_groups(
    blocks: Sequence[Sequence[Row]],
    blacklist: Blacklist,
    embedder: Embedder,
    threshold: float,
) -> Iterator[SimilarGroup]:
    """Yield the groups of each block that are merged.

    Args:
        blocks: rows that may be one.
        blacklist: pairs that keep rows apart.
        embedder: encodes every phrase once, and only one that is compared.
        threshold: the least similarity of two rows of a group.

    Raises:
        MethodError: the encoder answers wrongly.
    """
    wordings_by_block = [distinct_wordings(block, blacklist) for block in blocks]
    phrases_by_block = [_phrases_compared(wordings) for wordings in wordings_by_block]
    cosines_by_block = close_pairs(embedder, phrases_by_block, threshold)
    for block, wordings, cosines in zip(
        blocks, wordings_by_block, cosines_by_block, strict=True
    ):
        similarity = _similarity_of_wordings(wordings, cosines)
        groups = complete_link(len(wordings), similarity)
        in_groups = set[int]().union(*groups)
        for number, wording in enumerate(wordings):
            # Rows of one wording are one, whether or not another is like it.
            if number not in in_groups and len(wording.positions) > 1:
                groups.append([number])
        for group in groups:
            yield _group_of_rows(block, group, wordings, similarity)


def distinct_wordings(
    block: Sequence[Row], blacklist: Blacklist
) -> list[DistinctWording]:
    """Group the rows of a block by their wording.

    A wording that its own words keep apart ("left or right opacity") is no group: each
    row that has it stands alone.
    """
    wordings: list[DistinctWording] = []
    wordings_by_phrase: dict[str, list[DistinctWording]] = {}
    for position, row in enumerate(block):
        wording = wording_of(row, blacklist)
        of_phrase = wordings_by_phrase.setdefault(wording.phrase, [])
        equals = [distinct for distinct in of_phrase if distinct.wording == wording]
        if equals and not wording.separated(wording):
            equals[0].positions.append(position)
            continue
        distinct = DistinctWording(wording, [position])
        of_phrase.append(distinct)
        wordings.append(distinct)
    return wordings


def _phrases_compared(wordings: Sequence[DistinctWording]) -> set[str]:
    """Find the phrases of a block that are compared with another one.

    Something keeps the others apart from all. A partner is looked for until one is
    found, which is soon.
    """
    compared: set[str] = set()
    for wording, _ in wordings:
        if wording.phrase in compared:
            continue
        for partner, _ in wordings:
            if partner.phrase != wording.phrase and not wording.separated(partner):
                compared.update((wording.phrase, partner.phrase))
                break
    return compared


def _similarity_of_wordings(
    wordings: Sequence[DistinctWording], cosines: Mapping[PhrasePair, float]
) -> dict[Pair, float]:
    """Find the pairs of wordings that are close enough and that nothing keeps apart."""
    numbers_by_phrase: dict[str, list[int]] = {}
    for number, distinct in enumerate(wordings):
        numbers_by_phrase.setdefault(distinct.wording.phrase, []).append(number)

    cosine_of: dict[Pair, float] = {}
    for phrases, cosine in cosines.items():
        for pair in product(*(numbers_by_phrase[phrase] for phrase in phrases)):
            cosine_of[min(pair), max(pair)] = cosine
    # One phrase with other values beside it: "nodule", at placements 4 cm and 6 cm.
    for numbers in numbers_by_phrase.values():
        cosine_of.update(dict.fromkeys(combinations(numbers, 2), 1.0))

    similarity: dict[Pair, float] = {}
    for (first, second), cosine in cosine_of.items():
        if not wordings[first].wording.separated(wordings[second].wording):
            similarity[first, second] = cosine
    return similarity


def _group_of_rows(
    block: Sequence[Row],
    group: Sequence[int],
    wordings: Sequence[DistinctWording],
    similarity: Mapping[Pair, float],
) -> SimilarGroup:
    """Collect the rows of a group of wordings, in report order."""
    # Another row of the same wording is as near as can be.
    nearest = {number: float(len(wordings[number].positions) > 1) for number in group}
    for first, second in combinations(group, 2):
        cosine = min(1.0, similarity.get((first, second), 0.0))
        nearest[first] = max(nearest[first], cosine)
        nearest[second] = max(nearest[second], cosine)
    positions: list[int] = []
    similarity_by_id: dict[str, float] = {}
    for number in group:
        for position in wordings[number].positions:
            positions.append(position)
            similarity_by_id[block[position].finding_id] = nearest[number]
    return SimilarGroup(
        [block[position] for position in sorted(positions)], similarity_by_id
    )


def complete_link(size: int, similarity: Mapping[Pair, float]) -> list[list[int]]:
    """Group items that are all similar to each other.

    Pairs are taken by similarity descending, then by position; two groups unite only
    when every pair across them is listed.

    Args:
        size: how many items there are.
        similarity: of the pairs that are similar.

    Returns:
        Groups of two or more, sorted.
    """
    # Of each item its group, which all of its members share.
    group_of = [[item] for item in range(size)]
    nearest_first = sorted(similarity, key=lambda pair: (-similarity[pair], pair))
    for first, second in nearest_first:
        group = group_of[first]
        joining = group_of[second]
        if group is joining:
            continue
        across = product(group, joining)
        # Chained through "lower lung", a finding on the right became one on the left.
        if any((min(pair), max(pair)) not in similarity for pair in across):
            continue
        group += joining
        for item in joining:
            group_of[item] = group
    groups: list[list[int]] = []
    for item, group in enumerate(group_of):
        # Each of its members has the group: it is listed by the first.
        if len(group) > 1 and item == min(group):
            groups.append(sorted(group))
    return sorted(groups)
