"""Numbers, levels and directions of change that keep two findings apart, and which attributes of two rows may
be united (implicit.md sections 2 and 5).

"Rows whose numbers or levels differ (5 mm and 8 mm, T8 and T9), or of which one improved and the other
worsened, never merge." A row that states no number does not differ from one that does: silence is not a
number, and complete link keeps 5 mm and 8 mm apart around it. Of directions the same holds, and "unchanged"
is one: it is neither better nor worse.

What deduplication keeps apart, resolution keeps apart too: two courses, two onsets, two severities, two
numbers, and words that the blacklist separates. The survivor keeps its own cells then, and the other's are in
the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import and_
from typing import NamedTuple

from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, PAPER, Row
from lunguage_assets.implicit.statements.places import says_resolved
from lunguage_assets.implicit.words import collapsed, united_cells

_CARDINALS = "one two three four five six seven eight nine ten eleven twelve"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_NUMBER_WORDS = {
    word: str(number)
    for words in (_CARDINALS, _ORDINALS)
    for number, word in enumerate(words.split(), start=1)
}
_WORD = re.compile(r"\b(?:" + "|".join(_NUMBER_WORDS) + r")\b")
_LEVEL = re.compile(
    r"(?<![a-z0-9])([ctls])-?(\d{1,2})(?:\s?(?:-|to|through|/)\s?([ctls])?(\d{1,2}))?"
    r"(?!\d|\.\d|[ ]?(?:mm|cm)\b)"
)
_QUANTITY = re.compile(r"\d+(?:\.\d+)?(?:\s?(?:x|×|-|to|by|/)\s?\d+(?:\.\d+)?)*(?:\s?(mm|cm)(?![a-z]))?")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Marks:
    """Values that a finding states: vertebral levels, lengths in millimetres, other numbers (counts, ribs,
    percentages).
    """

    levels: frozenset[str]
    lengths: frozenset[float]
    numbers: frozenset[float]

    def differ(self, other: Marks) -> bool:
        """Whether both state a value of the same kind and the values are not the same."""
        if self is NO_MARKS or other is NO_MARKS:
            return False
        return bool(  # written out: asked of every pair of wordings in a study
            (self.levels and other.levels and self.levels != other.levels)
            or (self.lengths and other.lengths and self.lengths != other.lengths)
            or (self.numbers and other.numbers and self.numbers != other.numbers)
        )


NO_MARKS = Marks(frozenset(), frozenset(), frozenset())


@lru_cache(maxsize=200_000)
def marks(phrase: str) -> Marks:
    """The values that a phrase states.

    Number words and ordinals count ("eighth rib" = "8th rib"), centimetres are millimetres.
    """
    text = _WORD.sub(lambda word: _NUMBER_WORDS[word.group()], phrase.lower())
    if not _DIGITS.search(text):
        return NO_MARKS
    levels: set[str] = set()

    def take_level(found: re.Match[str]) -> str:
        letter, number, last_letter, last = found.groups()
        levels.add(f"{letter}{int(number)}")
        if last is not None:
            levels.add(f"{last_letter or letter}{int(last)}")
        return " "

    text = _LEVEL.sub(take_level, text)
    lengths: set[float] = set()
    numbers: set[float] = set()
    for found in _QUANTITY.finditer(text):
        values = [float(digits) for digits in _DIGITS.findall(found.group())]
        if found.group(1):
            lengths.update(round(value * (10.0 if found.group(1) == "cm" else 1.0), 6) for value in values)
        else:
            numbers.update(values)
    return Marks(frozenset(levels), frozenset(lengths), frozenset(numbers))


class Course(NamedTuple):
    """The directions of change that a finding states."""

    improved: bool
    no_change: bool
    worsened: bool

    def differs(self, other: Course) -> bool:
        """Whether one improved and the other worsened, or their directions have nothing in common."""
        if self is NO_COURSE or other is NO_COURSE:
            return False
        if (self.improved and other.worsened) or (self.worsened and other.improved):
            return True
        return not any(map(and_, self, other))


NO_COURSE = Course(improved=False, no_change=False, worsened=False)


def course(improved: str, no_change: str, worsened: str) -> Course:
    """The course in the cells of a finding; an empty cell states nothing."""
    found = Course(bool(improved), bool(no_change), bool(worsened))
    return found if any(found) else NO_COURSE


COURSES = ("improved", "no_change", "worsened")
_ONE_OF_THEM = ("onset", "severity")

Apart = Callable[[str, str], bool]
"""Whether two cells exclude each other by their words or by their direction."""


def unite_attributes(survivor: Row, other: Row, apart: Apart) -> list[tuple[str, str]]:
    """Unite the attributes of a row with the survivor's.

    Args:
        survivor: changed in place.
        other: whose cells are added where nothing excludes them.
        apart: of the blacklist, and of measured directions.

    Returns:
        (column, cell) of what was not united, in the order of the columns.
    """
    excluded = _excluded(survivor, other, apart) if survivor.mode != PAPER else set()
    kept_apart = []
    for name in ATTRIBUTE_NAMES:
        cell = getattr(other, name)
        if name in excluded:
            if cell:
                kept_apart.append((name, cell))
        else:
            setattr(survivor, name, united_cells([getattr(survivor, name), cell]))
    return kept_apart


def _excluded(survivor: Row, other: Row, apart: Apart) -> set[str]:
    excluded: set[str] = set()
    courses = [course(row.improved, row.no_change, row.worsened) for row in (survivor, other)]
    gone = [says_resolved(row.improved) for row in (survivor, other)]
    if courses[0].differs(courses[1]) or gone[0] != gone[1]:  # what is there has not resolved
        excluded.update(COURSES)
    for name in ATTRIBUTE_NAMES:
        one, cell = getattr(survivor, name), getattr(other, name)
        if not one or not cell or collapsed(one) == collapsed(cell):
            continue
        if name in _ONE_OF_THEM or marks(one).differ(marks(cell)) or apart(one, cell):
            excluded.add(name)
    return excluded
