"""Sides of which a sentence speaks without the noun: "the left has gone, ...".

"The left effusion has gone, the right has not" speaks of two effusions and names one.
The second gets a copy of the first, with its characters: a row quotes what is written.
Only the shapes that real reports have are here; every other one is left open.
"""

from __future__ import annotations

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.scope import COURSES
from lunguage_assets.assertion.units import UNKNOWN, TaggedToken, has_kind, kind_at
from lunguage_assets.assertion.vocabulary import LexiconEntry, sense_of
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
    _restore_noun_behind(units)
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
        # "The effusion was large, but has gone"
        if is_predicate and units[at - 1].form in WORDS["turns"]:
            units.insert(at, subject.copy())
        return
    if first.form in WORDS["none"]:
        # "Large on the left and none on the right": "none" is "no effusion".
        first.become(sense_of(cue_named("negated.none_here")))
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


def _restore_noun_behind(units: list[TaggedToken]) -> None:
    """Give a side the noun behind the other: "right, but no left, edema"."""
    for at in range(len(units) - 2):
        denial = at + 1
        while kind_at(units, denial) in _JOINTS:
            denial += 1
        noun = denial + 2
        if denial == at + 1 or noun >= len(units) or not _is_side(units[at]):
            continue
        if units[denial].kind != "negated" or not _is_side(units[denial + 1]):
            continue
        while kind_at(units, noun) == "place":
            noun += 1
        if kind_at(units, noun) == "comma":
            # It would end the denial: "no left, effusion".
            del units[noun]
        if kind_at(units, noun) == "finding":
            shared = units[denial + 2 : noun + 1]
            units[at + 1 : at + 1] = [unit.copy() for unit in shared]
            return


def _statement_at(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take the units up to the next joint."""
    end = at + 1
    while end < len(units) and units[end].kind not in _JOINTS:
        end += 1
    return units[at:end]


def _is_side(unit: TaggedToken) -> bool:
    return unit.kind == "place" and unit.form in WORDS["sides"]
