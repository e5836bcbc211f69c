"""Complete links: groups in which everything is compatible with everything (implicit.md section 2).

The cross links of two groups are counted as bits, never enumerated: the easy version, a look at every pair of
two groups for every pair of their members, takes the fourth power of the items.
"""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[int, int, float]
"""Numbers of two items, the lower first, and their cosine."""


def complete_link(size: int, pairs: Sequence[Pair]) -> list[list[int]]:
    """Groups of two or more of `size` items, all compatible with each other, sorted.

    Pairs are taken by cosine descending, then by position; two groups unite only when every cross pair is
    listed.
    """
    if not pairs:
        return []
    compatible = [1 << number for number in range(size)]
    """Of each item, and of the group that it leads: bits of what is compatible with all of its members."""
    for a, b, _ in pairs:
        compatible[a] |= 1 << b
        compatible[b] |= 1 << a
    bits = [1 << number for number in range(size)]
    members = [[number] for number in range(size)]
    leader = list(range(size))
    for a, b, _ in sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1])):
        one, other = leader[a], leader[b]
        if one == other or bits[other] & compatible[one] != bits[other]:
            continue
        if len(members[one]) < len(members[other]):
            one, other = other, one
        for member in members[other]:
            leader[member] = one
        members[one] += members[other]
        bits[one] |= bits[other]
        compatible[one] &= compatible[other]
    return sorted(
        sorted(members[number])
        for number in range(size)
        if leader[number] == number and len(members[number]) > 1
    )
