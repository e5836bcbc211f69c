"""Candidates of merging, how similar they are, and their groups: complete links (implicit.md section 2).

Rows of equal wording are one candidate: whatever keeps one of them apart from a row keeps all of them apart,
and their phrases are the same. A report that repeats itself then costs no more than one that does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lunguage_assets.implicit.encoders import Embedder, pair_cosines
from lunguage_assets.implicit.merging.blacklist import Blacklist, BlacklistMarks
from lunguage_assets.implicit.merging.distinctions import NO_COURSE, NO_MARKS, Course, Marks, course, marks
from lunguage_assets.implicit.rows import CLINICAL_ATTRIBUTES, PAPER, Row, attribute_values
from lunguage_assets.implicit.words import collapsed

_DECIDING = attribute_values(("ent", "name", "location", "location_parts", "placement", *CLINICAL_ATTRIBUTES))
"""All fields that `_Wording` follows from.

Many rows say the same in the same words.
"""
_PHRASED = attribute_values(("ent", "location", *CLINICAL_ATTRIBUTES))


def linearise(finding: str, location: str, attributes: Iterable[str]) -> str:
    """Finding, location and clinical attributes as the phrase that is compared: non-empty parts in this
    order, in lower case, with single blanks.
    """
    return collapsed(" ".join(part for part in (finding, location, *attributes) if part))


def linearised(row: Row) -> str:
    """The phrase of a row, as the report words it."""
    finding, location, *attributes = _PHRASED(row)
    return linearise(finding, location, attributes)


@dataclass(frozen=True, slots=True)
class _Wording:
    """The properties of a row that decide whether it may merge, whatever the similarity."""

    phrase: int
    listed: BlacklistMarks
    values: Marks
    course: Course

    def separated(self, other: _Wording, blacklist: Blacklist) -> bool:
        """Whether numbers, levels, directions of change or the blacklist keep two rows apart."""
        return (
            self.values.differ(other.values)
            or self.course.differs(other.course)
            or blacklist.separates(self.listed, other.listed)
        )


@dataclass(frozen=True, slots=True)
class Compared:
    """The candidates of a block, and which of them are similar.

    Args:
        candidates: positions of rows in the block that say the same, in report order of their first rows.
        pairs: numbers of two similar candidates that nothing keeps apart, and their rounded cosine.
    """

    candidates: list[list[int]]
    pairs: list[Pair]


def compared(
    blocks: Sequence[Sequence[Row]], embedder: Embedder, blacklist: Blacklist, threshold: float
) -> list[Compared]:
    """The candidates of each block, compared.

    Every distinct phrase is encoded once, and only if it is compared with another one; a phrase is like
    itself whatever the encoder. Raises `MethodError` when the encoder answers wrongly.
    """
    known = _Wordings(blocks, blacklist)
    pairs = sorted(known.asked())
    number = {
        phrase: place for place, phrase in enumerate(sorted({phrase for pair in pairs for phrase in pair}))
    }
    first, second = ([number[pair[side]] for pair in pairs] for side in (0, 1))
    spelled = list(known.phrases)
    cosines = pair_cosines(embedder, [spelled[phrase] for phrase in number], first, second).tolist()
    similar = {pair: cosine for pair, cosine in zip(pairs, cosines, strict=True) if cosine >= threshold}
    return [
        Compared(candidates, list(_similar(wordings, similar, blacklist)))
        for candidates, wordings in known.blocks
    ]


def phrases_of(blocks: Sequence[Sequence[Row]], blacklist: Blacklist) -> list[str]:
    """The distinct phrases that are compared with another phrase."""
    known = _Wordings(blocks, blacklist)
    asked = {phrase for pair in known.asked() for phrase in pair}
    return [phrase for number, phrase in enumerate(known.phrases) if number in asked]


def _similar(
    wordings: Sequence[_Wording], similar: Mapping[tuple[int, int], float], blacklist: Blacklist
) -> Iterator[Pair]:
    """Similar candidates of a block that nothing keeps apart."""
    for b, other in enumerate(wordings):
        for a in range(b):
            one = wordings[a]
            cosine = 1.0 if one.phrase == other.phrase else similar.get(_pair(one, other))
            if cosine is not None and not one.separated(other, blacklist):
                yield a, b, cosine


def _pair(one: _Wording, other: _Wording) -> tuple[int, int]:
    return (one.phrase, other.phrase) if one.phrase < other.phrase else (other.phrase, one.phrase)


class _Wordings:
    """Candidates and wordings of each block, and all phrases by number."""

    def __init__(self, blocks: Sequence[Sequence[Row]], blacklist: Blacklist) -> None:
        self.phrases: dict[str, int] = {}
        self._blacklist = blacklist
        self._known: dict[tuple[object, ...], _Wording] = {}
        self.blocks = [self._candidates(block) for block in blocks]

    def _candidates(self, block: Sequence[Row]) -> tuple[list[list[int]], list[_Wording]]:
        candidates: list[list[int]] = []
        wordings: list[_Wording] = []
        at: dict[_Wording, list[int]] = {}
        for position, row in enumerate(block):
            deciding = _DECIDING(row)
            if deciding not in self._known:
                self._known[deciding] = _wording_of(row, self.phrases, self._blacklist)
            wording = self._known[deciding]
            # "right and left" is kept apart from itself: each of its rows is a candidate of its own
            if wording in at and not wording.separated(wording, self._blacklist):
                at[wording].append(position)
                continue
            at[wording] = [position]
            candidates.append(at[wording])
            wordings.append(wording)
        return candidates, wordings

    def asked(self) -> set[tuple[int, int]]:
        """The pairs of phrases of which two candidates of a block are kept apart by nothing else."""
        found: set[tuple[int, int]] = set()
        for _, wordings in self.blocks:
            for one, other in combinations(wordings, 2):
                pair = _pair(one, other)
                if pair[0] != pair[1] and pair not in found and not one.separated(other, self._blacklist):
                    found.add(pair)
        return found


def kept_apart(one: Row, other: Row, blacklist: Blacklist) -> bool:
    """Whether numbers, levels, directions of change or the blacklist keep two rows apart."""
    return _wording_of(one, {}, blacklist).separated(_wording_of(other, {}, blacklist), blacklist)


def _wording_of(row: Row, phrases: dict[str, int], blacklist: Blacklist) -> _Wording:
    phrase = linearised(row)
    # the canonical forms say what an abbreviation hides: RUL is right and upper
    listed = blacklist.marks((phrase, row.name, ", ".join(row.location_parts)), (phrase, row.name))
    # two tips of a tube, 4 and 6 cm above the carina, are told apart by their placement
    values = marks(f"{phrase}, {row.placement}" if row.placement else phrase)
    changes = course(row.improved, row.no_change, row.worsened)
    if row.mode == PAPER:
        values, changes = NO_MARKS, NO_COURSE
    return _Wording(phrases.setdefault(phrase, len(phrases)), listed, values, changes)


Pair = tuple[int, int, float]
"""Numbers of two items, the lower first, and their cosine."""


def complete_link(size: int, pairs: Sequence[Pair]) -> list[list[int]]:
    """Groups of two or more of `size` items, all compatible with each other, sorted.

    Pairs are taken by cosine descending, then by position; two groups unite only when every cross pair is
    listed.
    """
    listed = {(a, b) for a, b, _ in pairs}
    groups = [[number] for number in range(size)]
    """Of each item: its group, which all of its members share."""
    for a, b, _ in sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1])):
        one, other = groups[a], groups[b]
        if one is other or any((min(x, y), max(x, y)) not in listed for x in one for y in other):
            continue
        one += other
        for member in other:
            groups[member] = one
    return sorted(
        sorted(group) for number, group in enumerate(groups) if len(group) > 1 and number == min(group)
    )
