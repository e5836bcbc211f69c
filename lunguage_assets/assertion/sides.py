"""Sides of which a sentence speaks without the noun: "the left has gone, ...".

"The left effusion has gone, the right has not" speaks of two effusions and names one.
The second gets a copy of the first, with its characters: a row quotes what is written.
Only the shapes that real reports have are here; every other one is left open.
"""

from __future__ import annotations

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.scope import COURSES
from lunguage_assets.assertion.units import UNKNOWN, TaggedToken, has_kind, kind_at
from lunguage_assets.assertion.vocabulary import LexiconEntry, entry_of
from lunguage_assets.assertion.word_files import WORDS

_JOINTS = frozenset({"break", "comma", "and"})
_SIZES = frozenset({"measurement", "severity"})


def restore_sides(units: list[TaggedToken]) -> None:
    """Put back the finding that a sentence names once and speaks of twice.

    Args:
        units: of the sentence; changed in place.
    """
    if not has_kind(units, "finding"):
        return
    subject: TaggedToken | None = None
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.kind in ("finding", "anatomy"):
            # What is said next of a part of the body is said of it.
            subject = unit if unit.kind == "finding" else None
        elif subject is not None and kind_at(units, at - 1) in _JOINTS:
            statement = _statement_at(units, at)
            if not has_kind(statement, "finding", "anatomy"):
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
    one = next((unit for unit in statement if unit.form in WORDS["one"]), None)
    if one is not None and at > 0 and statement[0].code in _SIZES:
        # "... but a small one on the right"
        units[units.index(one)] = subject.copy()
        return
    first = statement[0]
    position = at
    is_predicate = first.kind in ("ended", "negated before")
    if not any(_is_side(unit) for unit in statement):
        return
    if first.form in WORDS["none"]:
        # "Large on the left and none on the right": "none" is "no effusion".
        first.become(entry_of(cue_named("negated.none_here")))
        position = at + 1
    elif _is_side(first):
        if not _has_predicate(statement):
            return
        _read_bare_not(units, at, statement[-1])
        position = at + 1
    elif first.kind == "negated" and has_kind(statement, "preposition"):
        # "... but not on the right"
        position = at + 1
    elif first.code in _SIZES and has_kind(units[:at], "negated"):
        # "No effusion on the right and a trace on the left"
        position = at + 1
    elif not is_predicate and first.code not in COURSES:
        return
    units.insert(position, subject.copy())


def _has_predicate(statement: list[TaggedToken]) -> bool:
    kinds = ("ended", "negated before", "negated")
    return any(unit.kind in kinds or unit.code in COURSES for unit in statement)


def _read_bare_not(units: list[TaggedToken], at: int, last: TaggedToken) -> None:
    """Read the "not" of "the left has gone, the right has not": it is still there."""
    if last.kind != "negated" or last.form not in WORDS["left_out_verbs"]:
        return
    last.has_spoken = True
    if has_kind(units[:at], "ended"):
        last.become(UNKNOWN)
    else:
        # "... is seen on the left, the right is not"
        last.become(LexiconEntry("negated before", cue=last.cue))


def _statement_at(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take the units up to the next joint."""
    end = at + 1
    while end < len(units) and units[end].kind not in _JOINTS:
        end += 1
    return units[at:end]


def _is_side(unit: TaggedToken) -> bool:
    return unit.kind == "place" and unit.form in WORDS["sides"]
