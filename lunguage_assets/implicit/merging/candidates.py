"""What is compared in merging, and how similar it is (implicit.md section 2).

Rows of equal wording are one candidate: whatever keeps one of them apart from a row keeps all of them apart,
and their phrases are the same. A report that repeats itself then costs no more than one that does not.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.implicit.encoders import Embedder, pair_cosines
from lunguage_assets.implicit.merging.blacklist import Blacklist, BlacklistMarks
from lunguage_assets.implicit.merging.distinctions import NO_COURSE, NO_MARKS, Course, Marks, course, marks
from lunguage_assets.implicit.merging.linking import Pair
from lunguage_assets.implicit.rows import CLINICAL_ATTRIBUTES, PAPER, Row, attribute_values
from lunguage_assets.implicit.words import collapsed

_DECIDING = attribute_values(("ent", "name", "location", "location_parts", "placement", *CLINICAL_ATTRIBUTES))
"""All fields that `_Wording` follows from.

Many rows say the same in the same words.
"""
_PHRASED = attribute_values(("ent", "location", *CLINICAL_ATTRIBUTES))
_HALF = 32
"""Bits of the number of a phrase, of which a pair has two."""


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
    asked = _asked(blocks, blacklist)
    phrases, first, second, number = asked.questions()
    cosines = np.append(pair_cosines(embedder, phrases, first, second), 1.0)[number]
    similar = np.flatnonzero(cosines >= threshold)
    pairs = list(
        zip(
            np.asarray(asked.first)[similar].tolist(),
            np.asarray(asked.second)[similar].tolist(),
            cosines[similar].tolist(),
            strict=True,
        )
    )
    ends = [0, *np.searchsorted(similar, asked.ends).tolist()]
    return [
        Compared(candidates, pairs[start:end])
        for candidates, start, end in zip(asked.candidates, ends[:-1], ends[1:], strict=True)
    ]


def phrases_of(blocks: Sequence[Sequence[Row]], blacklist: Blacklist) -> list[str]:
    """The distinct phrases that are compared with another phrase."""
    return _asked(blocks, blacklist).questions()[0]


@dataclass(slots=True)
class _Pairs:
    """The pairs of candidates that nothing but their similarity keeps apart, of all blocks in turn.

    `words` has both phrases of a pair in one number, -1 when both say the same phrase; `ends` is the count of
    pairs up to the end of each block.
    """

    phrases: dict[str, int] = field(default_factory=dict)
    candidates: list[list[list[int]]] = field(default_factory=list)
    first: array[int] = field(default_factory=lambda: array("l"))
    second: array[int] = field(default_factory=lambda: array("l"))
    words: array[int] = field(default_factory=lambda: array("q"))
    ends: list[int] = field(default_factory=list)

    def add(self, candidates: list[list[int]], said: Sequence[_Wording], blacklist: Blacklist) -> None:
        """Take in a block: its candidates and what each of them says."""
        self.candidates.append(candidates)
        for b, other in enumerate(said):
            for a in range(b):
                one = said[a]
                if not one.separated(other, blacklist):
                    x, y = one.phrase, other.phrase
                    self.first.append(a)
                    self.second.append(b)
                    self.words.append(-1 if x == y else (min(x, y) << _HALF) | max(x, y))
        self.ends.append(len(self.words))

    def questions(self) -> tuple[list[str], list[int], list[int], NDArray[np.intp]]:
        """The phrases, the pairs of them, each once, and of every pair of candidates the number of its pair
        of phrases, -1 for the same phrase.
        """
        pairs, number = np.unique(np.asarray(self.words, dtype=np.int64), return_inverse=True)
        alike = int(pairs.size > 0 and pairs[0] == -1)
        pairs = pairs[alike:]
        both = np.concatenate([pairs >> _HALF, pairs & ((1 << _HALF) - 1)])
        wanted, place = np.unique(both, return_inverse=True)
        spelled = list(self.phrases)
        first, second = place[: len(pairs)].tolist(), place[len(pairs) :].tolist()
        return [spelled[one] for one in wanted.tolist()], first, second, number - alike


def _asked(blocks: Sequence[Sequence[Row]], blacklist: Blacklist) -> _Pairs:
    """The comparisons within blocks."""
    asked = _Pairs()
    of_wording: dict[tuple[object, ...], _Wording] = {}
    for block in blocks:
        candidates: list[list[int]] = []
        distinct: list[_Wording] = []
        at: dict[_Wording, list[int]] = {}
        for position, row in enumerate(block):
            wording = _DECIDING(row)
            if wording not in of_wording:
                of_wording[wording] = _said(row, asked.phrases, blacklist)
            said = of_wording[wording]
            # "right and left" is kept apart from itself: each of its rows is a candidate of its own
            if said in at and not said.separated(said, blacklist):
                at[said].append(position)
                continue
            at[said] = [position]
            candidates.append(at[said])
            distinct.append(said)
        asked.add(candidates, distinct, blacklist)
    return asked


def kept_apart(one: Row, other: Row, blacklist: Blacklist) -> bool:
    """Whether numbers, levels, directions of change or the blacklist keep two rows apart."""
    return _said(one, {}, blacklist).separated(_said(other, {}, blacklist), blacklist)


def _said(row: Row, phrases: dict[str, int], blacklist: Blacklist) -> _Wording:
    phrase = linearised(row)
    # the canonical forms say what an abbreviation hides: RUL is right and upper
    listed = blacklist.marks((phrase, row.name, ", ".join(row.location_parts)), (phrase, row.name))
    # two tips of a tube, 4 and 6 cm above the carina, are told apart by their placement
    values = marks(f"{phrase}, {row.placement}" if row.placement else phrase)
    changes = course(row.improved, row.no_change, row.worsened)
    if row.mode == PAPER:
        values, changes = NO_MARKS, NO_COURSE
    return _Wording(phrases.setdefault(phrase, len(phrases)), listed, values, changes)
