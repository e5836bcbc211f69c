"""Sides of which a sentence speaks without the noun: "the left has gone, ...".

"The left effusion has gone, the right has not" speaks of two effusions and names one.
The second gets a copy of the first, with its characters: a row quotes what is written.
Only the shapes that real reports have are here; every other one is left open.
"""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.assertion.lists import COURSES
from lunguage_assets.assertion.units import UNKNOWN, TaggedToken, has_kind, kind_at
from lunguage_assets.assertion.vocabulary import LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_JOINTS = ("break", "comma", "and")
_PREDICATES = ("ended", "negated before", "negated")


def restore_sides(units: list[TaggedToken]) -> None:
    """Put back the finding that a sentence names once and speaks of twice.

    Args:
        units: of the sentence; changed in place.
    """
    subject: TaggedToken | None = None
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.kind in ("finding", "anatomy"):
            # What is said next of a part of the body is said of it.
            subject = unit if unit.kind == "finding" else None
        elif subject is not None and kind_at(units, at - 1) in _JOINTS:
            statement = list(
                takewhile(lambda unit: unit.kind not in _JOINTS, units[at:])
            )
            if statement and not has_kind(statement, "finding", "anatomy"):
                _restore(units, at, statement, subject)
        at += 1


def _restore(
    units: list[TaggedToken],
    at: int,
    statement: list[TaggedToken],
    subject: TaggedToken,
) -> None:
    """Give a statement its subject, where it speaks of the other side.

    Args:
        units: of the sentence; changed in place.
        at: where the statement begins.
        statement: its units.
        subject: the finding that was named before.
    """
    first = statement[0]
    sides = list(filter(_is_side, statement))
    predicates = list(filter(_is_predicate, statement))
    ones = [i for i, unit in enumerate(statement, at) if unit.form in WORDS["one"]]
    if ones and first.code in ("measurement", "severity"):
        # "... but a small one on the right"
        units[ones[0]] = subject.copy()
        return
    if not sides or not predicates:
        return
    if _is_side(first):
        _read_bare_not(units, at, statement[-1])
        units.insert(at + 1, subject.copy())
    elif first.kind == "negated":
        # "... but not on the right"
        units.insert(at + 1, subject.copy())
    elif first is predicates[0]:
        units.insert(at, subject.copy())


def _read_bare_not(units: list[TaggedToken], at: int, last: TaggedToken) -> None:
    """Read the "not" of "the left has gone, the right has not": it is still there."""
    if last.kind != "negated":
        return
    last.has_spoken = True
    if has_kind(units[:at], "ended"):
        last.become(UNKNOWN)
    else:
        # "... is seen on the left, the right is not"
        last.become(LexiconEntry("negated before", cue=last.cue))


def _is_predicate(unit: TaggedToken) -> bool:
    return unit.kind in _PREDICATES or unit.code in COURSES


def _is_side(unit: TaggedToken) -> bool:
    return unit.kind == "place" and unit.form in WORDS["sides"]
