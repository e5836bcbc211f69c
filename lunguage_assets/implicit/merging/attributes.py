"""Which attributes of two rows may be united (implicit.md sections 2 and 5).

What deduplication keeps apart, resolution keeps apart too: two courses, two onsets, two severities, two
numbers, and words that the blacklist separates. The survivor keeps its own cells then, and the other's are in
the log. The easy version unites every cell, and calls one effusion improved and worsened.
"""

from __future__ import annotations

from collections.abc import Callable

from lunguage_assets.implicit.merging.distinctions import course, marks
from lunguage_assets.implicit.rows import ATTRIBUTE_NAMES, PAPER, Row
from lunguage_assets.implicit.statements.places import says_resolved
from lunguage_assets.implicit.words import collapsed, united_cells

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
