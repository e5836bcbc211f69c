"""Pairs of findings that may merge, how similar they are, and their groups: complete links (implicit.md
section 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from lunguage_assets.implicit.encoders.encoder import Embedder, pair_cosines
from lunguage_assets.implicit.merging.apart import Blacklist, wording_of
from lunguage_assets.implicit.rows import Row

Pair = tuple[int, int]
"""Positions of two items, the lower first."""

Phrases = tuple[str, str]
"""Of two rows, in alphabetical order."""


def comparable(block: Sequence[Row], blacklist: Blacklist) -> dict[Pair, Phrases]:
    """The pairs of rows that nothing keeps apart, and their phrases."""
    wordings = [wording_of(row, blacklist) for row in block]
    found: dict[Pair, Phrases] = {}
    for (a, one), (b, other) in combinations(enumerate(wordings), 2):
        if not one.separated(other):
            found[a, b] = min(one.phrase, other.phrase), max(one.phrase, other.phrase)
    return found


def compared(pairs: Iterable[Mapping[Pair, Phrases]]) -> list[Phrases]:
    """The distinct pairs of phrases that an encoder is asked for: no phrase is compared with itself."""
    return sorted({phrases for listed in pairs for phrases in listed.values() if phrases[0] != phrases[1]})


def phrase_cosines(asked: Sequence[Phrases], embedder: Embedder) -> dict[Phrases, float]:
    """The cosines of pairs of phrases, each phrase encoded once. Raises `MethodError` for a wrong answer."""
    phrases = sorted({phrase for pair in asked for phrase in pair})
    number = {phrase: place for place, phrase in enumerate(phrases)}
    first, second = ([number[pair[side]] for pair in asked] for side in (0, 1))
    return dict(zip(asked, pair_cosines(embedder, phrases, first, second).tolist(), strict=True))


def groups(
    size: int, pairs: Mapping[Pair, Phrases], cosines: Mapping[Phrases, float], threshold: float
) -> Iterator[dict[int, float]]:
    """The groups of a block of `size` rows that are merged: each position with the highest similarity to
    another member.
    """
    similar = {pair: cosines.get(phrases, 1.0) for pair, phrases in pairs.items()}
    similar = {pair: cosine for pair, cosine in similar.items() if cosine >= threshold}
    for group in complete_link(size, similar):
        closest = dict.fromkeys(group, 0.0)
        for a, b in combinations(group, 2):
            cosine = similar.get((a, b), 0.0)
            closest[a], closest[b] = max(closest[a], cosine), max(closest[b], cosine)
        yield {position: min(1.0, cosine) for position, cosine in closest.items()}


def complete_link(size: int, similar: Mapping[Pair, float]) -> list[list[int]]:
    """Groups of two or more of `size` items, all compatible with each other, sorted.

    Pairs are taken by similarity descending, then by position; two groups unite only when every cross pair is
    listed.
    """
    groups = [[number] for number in range(size)]
    """Of each item: its group, which all of its members share."""
    for a, b in sorted(similar, key=lambda pair: (-similar[pair], pair)):
        one, other = groups[a], groups[b]
        if one is other or any((min(x, y), max(x, y)) not in similar for x in one for y in other):
            continue
        one += other
        for member in other:
            groups[member] = one
    return sorted(
        sorted(group) for number, group in enumerate(groups) if len(group) > 1 and number == min(group)
    )
