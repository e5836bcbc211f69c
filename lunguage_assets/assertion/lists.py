"""Lists: how far a cue reaches behind it and before it.

Every function looks from a cue outwards until something ends the reach, so that a
reading is linear in its sentence. Which kinds of words end a list is a table here,
which words of a single cue do, its entry says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from lunguage_assets.assertion.categories import Meant
from lunguage_assets.assertion.units import (
    JOINTS,
    OWN_WORDS,
    TaggedToken,
    first_beyond,
    first_kind,
    kind_at,
)
from lunguage_assets.assertion.vocabulary import Kind
from lunguage_assets.assertion.word_files import WORDS

Says = Meant | Literal["undecided", "reserved", ""]
"""What a cue makes of what it reaches.

`undecided`: what is denied there is left open. `reserved`: what is denied is doubted.
"""

COURSES = frozenset({"no_change", "improved", "worsened"})
"""Columns of words that say how something has changed."""
STATEMENT_BEGINS = COURSES | {"severity", "measurement"}
"""Columns of words that begin a statement of their own: "no effusion, mild edema"."""

ASIDES: frozenset[Kind] = frozenset({"recommendation", "aim", "condition", "relative"})
_ENDS_BEHIND = ASIDES | {"break", "ended", "negated before"}
_ENDS_BEHIND_MEMBER: Mapping[Says, frozenset[str]] = {
    # "Likely opacity suggesting pneumonia": the second hedge has a list of its own.
    "hedged": frozenset({"with", "copula", "hedged", "negated"}),
    "aside": frozenset({"with", "copula", "hedged", "negated"}),
    "past": frozenset({"with", "copula", "hedged", "negated"}),
    "negated": frozenset(),
    "doubted": frozenset(),
    "ended": frozenset({"copula", "comma", "negated"}),
}
_ENDS_BEFORE = _ENDS_BEHIND | {"negated", "hedged", "with"}
BETWEEN_STATEMENTS = _ENDS_BEFORE | {"comma", "and", "copula"}
_BEGINS_CLAUSE = ("negated", "break", "hedged", "past", "copula", "")
_BEFORE_OR = ("alternative", "break", "copula", "negated", "with", "hedged")
"""The first of these tells whether a list goes on to an "or"."""
_FINDING = frozenset({"finding"})
_JUDGED = frozenset({"finding", "abnormal", "normal"})
_REACHED: Mapping[Says, frozenset[str]] = {
    "hedged": frozenset({"finding", "abnormal"}),
    "negated": _JUDGED,
    "doubted": _JUDGED,
}
_SYMPTOM = "PATIENT INFO."
_AHEAD = 30
"""Units that are looked through for an "or"."""
NEAR = 4


def list_behind(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what follows a cue and what is joined to it: "no edema, mass or fracture".

    Args:
        units: of the sentence.
        at: position of the cue.
    """
    cue = units[at]
    reached = _REACHED.get(cue.makes, _FINDING)
    members: list[TaggedToken] = []
    has_member = False
    for position in range(at + 1, len(units)):
        unit = units[position]
        if _ends_behind(units, position, cue, has_member=has_member):
            members += _denied_next(units, position, cue) if has_member else []
            break
        if unit.kind in reached:
            members.append(unit)
            # An adjective ends the list of "not enlarged, stable"; "no enlarged,
            # calcified nodes" goes on to its noun.
            is_noun = unit.kind == "finding" or not cue.denies
            has_member = is_noun or cue.reaches_next
        elif unit.kind in ("hedged", "hedged before", "link") and cue.denies:
            unit.negate(cue)
        elif unit.kind in ("comma", "and", "with") and not _goes_on(
            units, position, cue, has_member=has_member
        ):
            break
    return members


def _denied_next(
    units: list[TaggedToken], at: int, cue: TaggedToken
) -> list[TaggedToken]:
    """ "Likely atelectasis, not pneumonia": what is likely is the denial, too."""
    if cue.makes != "hedged" or not _is_denied_next(units, at):
        return []
    denied = finding_beside(units, at, 1)
    return [] if denied is None else [denied]


def _ends_behind(
    units: list[TaggedToken], at: int, cue: TaggedToken, *, has_member: bool
) -> bool:
    """Whether the list behind a cue ends at a unit that is no joint.

    Args:
        units: of the sentence.
        at: position of the unit.
        cue: whose list it is.
        has_member: whether the list has a member already.
    """
    unit = units[at]
    if unit.kind in _ENDS_BEHIND or cue.stops_at(unit):
        return True
    # "Without fever this is more likely edema"
    if has_member and unit.kind == "hedged" and units[at - 1].kind == "copula":
        return True
    # "Neither enlarged nor displaced", "favored over pneumonia"
    if unit.kind == "negated" and (cue.denies or unit.doubts):
        return True
    # What is felt is now: "history of asthma, cough".
    is_felt = cue.makes == "past" and unit.code == _SYMPTOM
    return has_member and (is_felt or unit.kind in _ENDS_BEHIND_MEMBER[cue.makes])


def _goes_on(
    units: list[TaggedToken], at: int, cue: TaggedToken, *, has_member: bool
) -> bool:
    """Whether a list goes on behind a joint.

    Args:
        units: of the sentence.
        at: position of the joint.
        cue: whose list it is.
        has_member: whether the list has a member before the joint.
    """
    is_hedge = cue.makes == "hedged"
    joint = units[at]
    if joint.form == "/":
        return True
    if not has_member:
        return not is_hedge
    if is_hedge and _is_denied_next(units, at + 1):
        return True
    # "Possible edema and effusion", "not enlarged and tortuous": of the next alone.
    if cue.reaches_next and (is_hedge or joint.kind != "comma"):
        return False
    return not _begins_statement(units, at, is_hedge=is_hedge)


def _begins_statement(units: list[TaggedToken], at: int, *, is_hedge: bool) -> bool:
    """Whether something else is stated behind a joint.

    Args:
        units: of the sentence.
        at: position of the joint.
        is_hedge: whether the list is one of a hedge.
    """
    behind = at + 1
    while kind_at(units, behind) in ("and", "comma", "with"):
        behind += 1
    if kind_at(units, behind) == "alternative":
        # "No effusion, or edema": the "or" goes on with the list.
        return False
    statement = units[behind : behind + _AHEAD]
    if kind_at(units, behind) in _BEGINS_CLAUSE or _describes_anatomy(statement):
        return True
    if is_hedge and units[at].kind == "and":
        # "May represent edema and small effusion": the size is on the list.
        return False
    is_stated = _states_something(units[at - 1], statement, is_hedge=is_hedge)
    return is_stated and first_kind(statement, _BEFORE_OR) != "alternative"


def _is_denied_next(units: list[TaggedToken], at: int) -> bool:
    return kind_at(units, at) == "negated" and units[at].reaches_next


def _states_something(
    before: TaggedToken, statement: list[TaggedToken], *, is_hedge: bool
) -> bool:
    """Whether the first word is one of size or course, or a hedge of its own.

    Args:
        before: the unit before the joint.
        statement: what follows the joint.
        is_hedge: whether the list is one of a hedge.
    """
    if before.kind == "seen":
        # "No effusion is seen (blunting may be scar)": its verb has closed the list.
        return True
    first = first_beyond(statement, ("place", "other")) or statement[-1]
    is_size = first.code in STATEMENT_BEGINS
    is_described = is_size and first.kind in ("word", "abnormal")
    # "No effusion, calcified granulomas": what is hardly ever denied.
    is_stated = not is_hedge and first.form in WORDS["stated"]
    # "No fracture, findings compatible with emphysema"
    return is_described or is_stated or first.kind == "hedged"


def _describes_anatomy(statement: list[TaggedToken]) -> bool:
    """Whether a part of the body is described: "... and the heart is large"."""
    is_anatomy_named = False
    for unit in statement:
        # "The heart is ...", "tortuous aorta"
        if unit.kind == "normal" or (is_anatomy_named and unit.kind == "copula"):
            return True
        if unit.kind in JOINTS or unit.kind in ("finding", "break", "copula"):
            return False
        is_anatomy_named = is_anatomy_named or unit.kind == "anatomy"
    return False


def list_before(
    units: list[TaggedToken], at: int, *, is_hedge: bool = False, is_or: bool = False
) -> list[TaggedToken]:
    """List the finding before a cue, and those joined to it, the nearest first.

    A comma joins where the list has an "and" or "or": "A, B and C are absent".

    Args:
        units: of the sentence.
        at: position of the cue.
        is_hedge: "A, and B cannot be excluded" is of B only.
        is_or: the cue is the "or" itself.
    """
    cue = units[at]
    is_plural = cue.form in WORDS["plural_verbs"]
    is_list = is_plural or is_or
    is_of_last = is_hedge and not is_plural
    is_joined = True
    members: list[TaggedToken] = []
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if not members and _stands_between(units, position, at):
            continue
        if _ends_before(unit, cue, has_member=bool(members), is_or=is_or):
            break
        if is_of_last and _is_serial(units, position):
            break
        if unit.kind in JOINTS:
            is_list |= unit.kind != "comma"
            is_joined |= is_list
        elif unit.kind == "finding":
            if not is_joined:
                break
            members.append(unit)
            is_joined = False
    return members


def _is_serial(units: list[TaggedToken], at: int) -> bool:
    """Whether an "and" stands behind a comma."""
    return units[at].kind == "and" and kind_at(units, at - 1) == "comma"


def _ends_before(
    unit: TaggedToken, cue: TaggedToken, *, has_member: bool, is_or: bool
) -> bool:
    """Whether the list before a cue ends at a unit.

    Args:
        unit: in question.
        cue: whose list it is.
        has_member: whether the list has a member already.
        is_or: the cue is an "or".
    """
    if is_or and _ends_alternatives(unit, has_member=has_member):
        return True
    # "The effusion is small, edema is absent": a verb ends the list.
    is_verb = has_member and unit.kind in ("copula", "link", "seen")
    # "Scarring, either atelectasis or pneumonia": the list begins here.
    is_end = unit.kind in _ENDS_BEFORE or unit.form == "either"
    return is_end or is_verb or cue.stops_at(unit)


def _ends_alternatives(unit: TaggedToken, *, has_member: bool) -> bool:
    """Whether the alternatives of an "or" end at a unit before it."""
    if unit.kind == "finding":
        # "Opacity, atelectasis or pneumonia": the sign is there.
        return has_member and unit.name in WORDS["signs"]
    # "Effusion and edema or pneumonia": the effusion is there. What stands before
    # another "or" is that one's.
    is_end = unit.kind == "and" or (unit.kind == "alternative" and has_member)
    return is_end and unit.form != "/"


def _stands_between(units: list[TaggedToken], position: int, at: int) -> bool:
    """Whether a word stands between a cue and what it is said of before it.

    "Is probably not seen", "the edema that has cleared".
    """
    unit = units[position]
    if unit.kind == "hedged":
        return True
    if unit.kind != "break" or unit.form not in ("which", "that"):
        return False
    return first_beyond(units[position + 1 : at], ("copula", "other", "seen")) is None


def finding_beside(units: list[TaggedToken], at: int, step: int) -> TaggedToken | None:
    """Find the finding next to a joint, with nothing but its own words between.

    Args:
        units: of the sentence.
        at: position of the joint.
        step: 1 to look behind it, -1 to look before it.
    """
    between = {*OWN_WORDS, "preposition", "comma", "hedged"}
    behind = units[at + 1 : at + _AHEAD]
    beside = behind if step > 0 else reversed(units[max(0, at - _AHEAD) : at])
    for unit in beside:
        if unit.kind == "finding":
            return unit
        # "Edema or, less likely, pneumonia"
        is_doubt = step > 0 and unit.kind == "negated" and unit.doubts
        if unit.kind not in between and not is_doubt:
            return None
    return None
