"""Sides of which a sentence speaks without the noun: "the left has gone, ...".

"The left effusion has gone, the right has not" speaks of two effusions and names one.
The second gets a copy of the first, with its characters: a row quotes what is written.
Only the shapes that real reports have are here; every other one is left open.
"""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.assertion.lists import COURSES
from lunguage_assets.assertion.units import TaggedToken, Units, has_kind, kind_at
from lunguage_assets.assertion.vocabulary import LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_JOINTS = ("break", "comma", "and")
_PREDICATES = ("ended", "negated before", "negated")


def restore_sides(units: Units) -> None:
    """Put back the finding that a sentence names once and speaks of twice.

    Args:
        units: of the sentence; changed in place.
    """
    subject: TaggedToken | None = None
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.kind == "finding":
            subject = unit
        elif subject is not None and kind_at(units, at - 1) in _JOINTS:
            _restore(units, at, subject)
        at += 1


def _restore(units: Units, at: int, subject: TaggedToken) -> None:
    """Give a statement its subject, where it speaks of the other side.

    Args:
        units: of the sentence; changed in place.
        at: where the statement begins.
        subject: the finding that was named before.
    """
    statement = list(takewhile(lambda unit: unit.kind not in _JOINTS, units[at:]))
    if has_kind(statement, "finding", "anatomy"):
        return
    forms = [unit.form for unit in statement]
    if "one" in forms:
        # "... but a small one on the right"
        units[at + forms.index("one")] = subject.copy()
        return
    says_something = any(
        unit.kind in _PREDICATES or unit.code in COURSES for unit in statement
    )
    if WORDS["sides"].isdisjoint(forms) or not says_something:
        return
    units[at - 1].become(LexiconEntry("break"))
    # "... but not on the right", "the right is unchanged"
    is_behind = statement[0].kind == "negated"
    units.insert(at + is_behind, subject.copy())
