"""Candidates of merging, how similar they are, and their groups: complete links (implicit.md section 2).

Rows of equal wording are one candidate: whatever keeps one of them apart from a row keeps all of them apart,
and their phrases are the same. A report that repeats itself then costs no more than one that does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from lunguage_assets.implicit.encoders.encoder import Embedder, pair_cosines
from lunguage_assets.implicit.merging.blacklist import Blacklist, Marks
from lunguage_assets.implicit.merging.distinctions import (
    NO_VALUES,
    Course,
    Values,
    course,
    courses_differ,
    stated_values,
)
from lunguage_assets.implicit.rows import CLINICAL_ATTRIBUTES, PAPER, Row, attribute_values, collapsed

Group = list[tuple[int, float]]
"""Positions in a block, each with the highest similarity to another member."""

Pair = tuple[int, int, float]
"""Numbers of two items, the lower first, and their cosine."""

_PHRASED = attribute_values(("ent", "location", *CLINICAL_ATTRIBUTES))
_DECIDING = attribute_values(("ent", "name", "location", "location_parts", "placement", *CLINICAL_ATTRIBUTES))
"""All fields that `_Wording` follows from; many rows say the same in the same words."""


def linearised(row: Row) -> str:
    """The phrase that is compared, as the report words it: finding, location and clinical attributes, the
    non-empty ones in this order, in lower case, with single blanks.
    """
    return collapsed(" ".join(filter(None, _PHRASED(row))))


class _Wording(NamedTuple):
    """The properties of a row that decide whether it may merge, whatever the similarity."""

    phrase: int
    listed: Marks
    values: Values
    course: Course

    def separated(self, other: _Wording) -> bool:
        """Whether numbers, levels, directions of change or the blacklist keep two rows apart."""
        return (
            self.values.differ(other.values)
            or courses_differ(self.course, other.course)
            or self.listed.separate(other.listed)
        )


def _wording(row: Row, numbers: dict[str, int], blacklist: Blacklist) -> _Wording:
    phrase = linearised(row)
    # the canonical forms say what an abbreviation hides: RUL is right and upper
    listed = blacklist.marks((phrase, row.name, ", ".join(row.location_parts)), (phrase, row.name))
    number = numbers.setdefault(phrase, len(numbers))
    if row.mode == PAPER:
        return _Wording(number, listed, NO_VALUES, frozenset())
    # two tips of a tube, 4 and 6 cm above the carina, are told apart by their placement
    values = stated_values(f"{phrase}, {row.placement}" if row.placement else phrase)
    return _Wording(number, listed, values, course(row))


def kept_apart(one: Row, other: Row, blacklist: Blacklist) -> bool:
    """Whether numbers, levels, directions of change or the blacklist keep two rows apart."""
    return _wording(one, {}, blacklist).separated(_wording(other, {}, blacklist))


def _pair(one: _Wording, other: _Wording) -> tuple[int, int]:
    """The phrases of two wordings, in their order."""
    return (one.phrase, other.phrase) if one.phrase < other.phrase else (other.phrase, one.phrase)


class Candidates:
    """The candidates of each block of rows, and the phrases that are compared.

    Attributes:
        phrases: those that another candidate of their block, which nothing else keeps apart, words in another
            way, in the order of the rows.
    """

    def __init__(self, blocks: Sequence[Sequence[Row]], blacklist: Blacklist) -> None:
        self._known: dict[tuple[object, ...], _Wording] = {}
        self._numbers: dict[str, int] = {}
        self._blocks = [list(self._of(block, blacklist)) for block in blocks]
        self._asked = sorted(self._asked_pairs())
        asked = {phrase for pair in self._asked for phrase in pair}
        self.phrases = [phrase for phrase, number in self._numbers.items() if number in asked]

    def _of(self, block: Sequence[Row], blacklist: Blacklist) -> Iterator[tuple[_Wording, list[int]]]:
        """The wordings of a block, each with the positions of its rows."""
        at: dict[_Wording, list[int]] = {}
        for position, row in enumerate(block):
            deciding = _DECIDING(row)
            if deciding not in self._known:
                self._known[deciding] = _wording(row, self._numbers, blacklist)
            wording = self._known[deciding]
            if wording.separated(wording):  # "right and left": each of its rows is a candidate of its own
                yield wording, [position]
            elif wording in at:
                at[wording].append(position)
            else:
                at[wording] = [position]
                yield wording, at[wording]

    def _asked_pairs(self) -> set[tuple[int, int]]:
        """The pairs of phrases of which two candidates of a block are kept apart by nothing else."""
        found: set[tuple[int, int]] = set()
        for block in self._blocks:
            for (one, _), (other, _) in combinations(block, 2):
                pair = _pair(one, other)
                if pair[0] != pair[1] and pair not in found and not one.separated(other):
                    found.add(pair)
        return found

    def groups(self, embedder: Embedder, threshold: float) -> Iterator[list[Group]]:
        """The groups of each block that are merged.

        Every distinct phrase is encoded once, and only if it is compared with another one; a phrase is like
        itself whatever the encoder. Raises `MethodError` when the encoder answers wrongly.
        """
        place = {self._numbers[phrase]: number for number, phrase in enumerate(self.phrases)}
        first, second = ([place[pair[side]] for pair in self._asked] for side in (0, 1))
        cosines = pair_cosines(embedder, self.phrases, first, second).tolist()
        similar = dict(zip(self._asked, cosines, strict=True))
        for block in self._blocks:
            pairs: list[Pair] = []
            for (a, (one, _)), (b, (other, _)) in combinations(enumerate(block), 2):
                cosine = 1.0 if one.phrase == other.phrase else similar.get(_pair(one, other), -1.0)
                if cosine >= threshold and not one.separated(other):
                    pairs.append((a, b, cosine))
            yield _merged([positions for _, positions in block], pairs)


def _merged(candidates: Sequence[list[int]], pairs: Sequence[Pair]) -> list[Group]:
    """The groups of candidates, and those of several rows that are in none."""
    linked = complete_link(len(candidates), pairs)
    group_of = {number: group for group, numbers in enumerate(linked) for number in numbers}
    closest: dict[int, float] = {}
    for a, b, cosine in pairs:
        if a in group_of and group_of[a] == group_of.get(b):
            closest[a] = max(cosine, closest.get(a, cosine))
            closest[b] = max(cosine, closest.get(b, cosine))
    alone = ([number] for number, rows in enumerate(candidates) if number not in group_of and rows[1:])
    return [
        sorted(
            (position, 1.0 if len(candidates[number]) > 1 else min(1.0, closest[number]))
            for number in numbers
            for position in candidates[number]
        )
        for numbers in (*linked, *alone)
    ]


def complete_link(size: int, pairs: Iterable[Pair]) -> list[list[int]]:
    """Groups of two or more of `size` items, all compatible with each other, sorted.

    Pairs are taken by cosine descending, then by position; two groups unite only when every cross pair is
    listed.
    """
    in_order = sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))
    listed = {(a, b) for a, b, _ in in_order}
    groups = [[number] for number in range(size)]
    """Of each item: its group, which all of its members share."""
    for a, b, _ in in_order:
        one, other = groups[a], groups[b]
        if one is other or any((min(x, y), max(x, y)) not in listed for x in one for y in other):
            continue
        one += other
        for member in other:
            groups[member] = one
    return sorted(
        sorted(group) for number, group in enumerate(groups) if len(group) > 1 and number == min(group)
    )
