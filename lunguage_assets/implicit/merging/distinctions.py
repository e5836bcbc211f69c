"""Numbers, levels and directions of change that keep two findings apart, and which attributes of two rows may
be united (implicit.md sections 2 and 5).

A row that states no number does not differ from one that does: complete link keeps 5 mm and 8 mm apart around
it. Of directions the same holds, and "unchanged" is one. What deduplication keeps apart, resolution keeps
apart too: two courses, onsets, severities or numbers, and words that the blacklist separates. The survivor
keeps its own cells then, and the other's are in the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, PAPER, Row, collapsed, united_cells
from lunguage_assets.implicit.statements.places import says_resolved

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


class Values(NamedTuple):
    """Values that a finding states: vertebral levels, lengths in millimetres, other numbers (counts, ribs,
    percentages).
    """

    levels: frozenset[str]
    lengths: frozenset[float]
    numbers: frozenset[float]

    def differ(self, other: Values) -> bool:
        """Whether both state a value of the same kind and the values are not the same."""
        if self is NO_VALUES or other is NO_VALUES:
            return False
        return any(mine and theirs and mine != theirs for mine, theirs in zip(self, other, strict=True))


NO_VALUES = Values(frozenset(), frozenset(), frozenset())


@lru_cache(maxsize=200_000)
def stated_values(phrase: str) -> Values:
    """The values that a phrase states: "eighth rib" = "8th rib", centimetres are millimetres."""
    text = _WORD.sub(lambda word: _NUMBER_WORDS[word.group()], phrase.lower())
    if not _DIGITS.search(text):
        return NO_VALUES
    levels, lengths, numbers = set[str](), set[float](), set[float]()

    def take_level(found: re.Match[str]) -> str:
        letter, number, last_letter, last = found.groups()
        levels.add(f"{letter}{int(number)}")
        if last is not None:
            levels.add(f"{last_letter or letter}{int(last)}")
        return " "

    for found in _QUANTITY.finditer(_LEVEL.sub(take_level, text)):
        values = map(float, _DIGITS.findall(found.group()))
        if unit := found.group(1):
            lengths.update(round(value * (10.0 if unit == "cm" else 1.0), 6) for value in values)
        else:
            numbers.update(values)
    return Values(frozenset(levels), frozenset(lengths), frozenset(numbers))


COURSES = ("improved", "no_change", "worsened")
_ONE_OF_THEM = ("onset", "severity")
Course = frozenset[str]
"""The directions of change that a finding states, out of `COURSES`."""

Apart = Callable[[str, str], bool]
"""Whether two cells exclude each other by their words or by their direction."""


def course(row: Row) -> Course:
    """The course of a row; an empty cell states nothing."""
    if row.improved or row.no_change or row.worsened:
        return frozenset(name for name in COURSES if getattr(row, name))
    return frozenset()


def courses_differ(one: Course, other: Course) -> bool:
    """Whether one improved and the other worsened, or their directions have nothing in common."""
    if not one or not other:
        return False
    turned = ("improved" in one and "worsened" in other) or ("worsened" in one and "improved" in other)
    return turned or one.isdisjoint(other)


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
        if cell and name in excluded:
            kept_apart.append((name, cell))
        elif cell:
            setattr(survivor, name, united_cells([getattr(survivor, name), cell]))
    return kept_apart


def _excluded(survivor: Row, other: Row, apart: Apart) -> set[str]:
    excluded: set[str] = set()
    gone = says_resolved(survivor.improved), says_resolved(other.improved)
    if courses_differ(course(survivor), course(other)) or gone[0] != gone[1]:
        excluded.update(COURSES)  # what is there has not resolved
    for name in ATTRIBUTE_NAMES:
        one, cell = getattr(survivor, name), getattr(other, name)
        if not one or not cell or collapsed(one) == collapsed(cell):
            continue
        if name in _ONE_OF_THEM or stated_values(one).differ(stated_values(cell)) or apart(one, cell):
            excluded.add(name)
    return excluded
