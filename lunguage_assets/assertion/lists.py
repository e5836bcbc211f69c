"""Lists: how far a cue reaches behind it and before it.

Every function looks from a cue outwards until something ends the reach, so that a
reading is linear in its sentence. Which kinds of words end a list is a table here,
which words of a single cue do, its entry says.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from lunguage_assets.assertion.categories import Meant
from lunguage_assets.assertion.cues import Cue
from lunguage_assets.assertion.units import (
    DEVICE,
    JOINTS,
    TaggedToken,
    Units,
    first_beyond,
    kind_at,
)
from lunguage_assets.assertion.vocabulary import Kind
from lunguage_assets.assertion.word_files import WORDS

COURSES = frozenset({"no_change", "improved", "worsened"})
"""Columns of words that say how something has changed."""
STATEMENT_BEGINS = COURSES | {"severity", "measurement"}
"""Columns of words that begin a statement of their own: "no effusion, mild edema"."""
JUDGED: frozenset[Kind] = frozenset({"finding", "abnormal", "normal"})
"""What can be there or not."""

_ENDS: frozenset[Kind] = frozenset(
    {"break", "ended", "negated before", "recommendation", "aim", "condition"}
)
_ENDS_BEFORE: frozenset[Kind] = _ENDS | {"negated", "hedged", "with"}
# "Likely opacity suggesting pneumonia": the second hedge has a list of its own.
_STATES: frozenset[Kind] = frozenset({"with", "copula", "hedged", "negated", "past"})
_ENDS_BEHIND_MEMBER: Mapping[Meant | str, frozenset[Kind]] = {
    "hedged": _STATES,
    "aside": _STATES,
    "past": _STATES,
    # "Without fever this is more likely edema"
    "negated": frozenset({"copula"}),
    "ended": frozenset({"copula", "comma", "negated"}),
}
_BEFORE_OR = ("alternative", "break", "copula", "negated", "with", "hedged")
"""The first of these tells whether a list goes on to an "or"."""
_FINDING: frozenset[Kind] = frozenset({"finding"})
_JOINTS_BEHIND = ("comma", "and", "with")
_SYMPTOM = "PATIENT INFO."
_ENDS_SAID = JOINTS | {"break"}
_AHEAD = 30
"""Units that are looked through for an "or"."""


def list_behind(units: Units, at: int) -> Units:
    """List what follows a cue and what is joined to it: "no edema, mass or fracture".

    Args:
        units: of the sentence.
        at: position of the cue.
    """
    cue = units[at].cue
    members: Units = []
    has_member = False
    for position in range(at + 1, len(units)):
        is_named_end = units[position].form in cue.ends_at
        if is_named_end or _ends_behind(units, position, cue, has_member=has_member):
            break
        # "Not enlarged", "possibly normal"
        if units[position].kind in JUDGED:
            members.append(units[position])
            # "No displaced, healing rib fractures" goes on to its noun.
            has_member |= units[position].kind == "finding"
    return members


def _ends_behind(units: Units, at: int, cue: Cue, *, has_member: bool) -> bool:
    """Whether the list behind a cue ends at a unit.

    Args:
        units: of the sentence.
        at: position of the unit.
        cue: whose list it is.
        has_member: whether the list has a member already.
    """
    unit = units[at]
    if unit.kind in _ENDS:
        return True
    # "Neither enlarged nor displaced", "favored over pneumonia"
    if unit.kind == "negated" and (cue.denies or unit.doubts):
        return True
    is_joint = unit.kind in _JOINTS_BEHIND and unit.form != "/"
    if not has_member:
        return is_joint and cue.makes == "hedged"
    # What is felt is now: "history of asthma, cough".
    is_felt = cue.makes == "past" and unit.code == _SYMPTOM
    if is_felt or unit.kind in _ENDS_BEHIND_MEMBER.get(cue.makes, ()):
        return True
    return is_joint and _begins_statement(units, at, cue)


def _begins_statement(units: Units, at: int, cue: Cue) -> bool:
    """Whether something else is stated behind a joint.

    Args:
        units: of the sentence.
        at: position of the joint.
        cue: whose list it is.
    """
    joint = units[at].kind
    is_hedge = cue.makes == "hedged"
    if cue.reach == "next" and (is_hedge or joint != "comma"):
        # "Possible edema and effusion", "not enlarged and tortuous"; but "there is not
        # edema, effusion, or mass".
        return True
    behind = units[at + 1 : at + _AHEAD]
    first = first_beyond(behind, {*_JOINTS_BEHIND, "place", "other"})
    if first is None or (is_hedge and joint == "and"):
        # "May represent edema and small effusion": the size is on the list.
        return False
    # "No effusion is seen (blunting may be scar)": its verb has closed the list.
    is_closed = units[at - 1].kind == "seen"
    ends = (unit.kind for unit in behind if unit.kind in _BEFORE_OR)
    states = is_closed or _states_something(behind[behind.index(first) :])
    return states and next(ends, "") != "alternative"


def _states_something(statement: Units) -> bool:
    """Whether the first word of what stands behind a joint is never said of a list."""
    first = statement[0]
    # "No pneumothorax, chest tube in place"
    codes = [unit.code for unit in statement[:2]]
    said = takewhile(lambda unit: unit.kind not in _ENDS_SAID, statement)
    return (
        # "No effusion, mild edema", "no edema, effusion has increased"
        any(unit.code in STATEMENT_BEGINS for unit in said)
        # "No effusion, calcified granulomas": what is hardly ever denied.
        or first.form in WORDS["stated"]
        # "No effusion, clear lungs"; "no effusion and possible pneumonia"
        or first.kind in ("normal", "hedged")
        or codes == [DEVICE, "placement"]
    )


def list_before(units: Units, at: int) -> Units:
    """List the finding before a cue, and those joined to it, the nearest first.

    A comma joins in a hedged list, and where the list has an "and" or "or": "A, B and C
    are absent".
    """
    cue = units[at].cue
    is_list = cue.makes == "hedged"
    is_of_last = is_list and units[at].form not in WORDS["plural_verbs"]
    is_joined = True
    # "The heart appears large, but this is due to the projection"
    reached = JUDGED if cue.category == "mimic" else _FINDING
    members: Units = []
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if not members and _stands_between(unit):
            continue
        # "A, and B cannot be excluded" is of B, "A, B, and C are possible" of all.
        is_serial = [kind_at(units, position - 1), unit.kind] == ["comma", "and"]
        is_end = _ends_before(unit, cue, has_member=bool(members))
        if is_end or (is_serial and is_of_last):
            break
        if unit.kind in JOINTS:
            is_list |= unit.kind != "comma"
            is_joined |= is_list
        elif unit.kind in reached:
            if is_joined:
                members.append(unit)
            elif cue.makes != "hedged":
                # "Edema, pneumonia, hemorrhage: none" may be of all three.
                unit.unanswered = (units[at],)
            is_joined = False
    return members


def _stands_between(unit: TaggedToken) -> bool:
    """Whether it stands between a cue and what it is said of before it.

    "Is probably not seen", "the edema that has cleared".
    """
    return unit.kind == "hedged" or unit.form in ("which", "that")


def _ends_before(unit: TaggedToken, cue: Cue, *, has_member: bool) -> bool:
    """Whether the list before a cue ends at a unit.

    Args:
        unit: in question.
        cue: whose list it is.
        has_member: whether the list has a member already.
    """
    if cue.makes == "hedged":
        # "Opacity, atelectasis or pneumonia": the sign is there.
        is_sign = unit.name in WORDS["signs"]
        # "Effusion and edema or pneumonia": so is the effusion.
        is_other_list = cue.category == "alternative" and unit.kind == "and"
        if is_sign or is_other_list:
            return True
    if cue.category == "limitation" and unit.kind == "comma":
        # "A right effusion, and the left base cannot be assessed" is of the base.
        return True
    # "The effusion is small, edema is absent": a verb ends the list.
    is_verb = has_member and unit.kind in ("copula", "link", "seen")
    return is_verb or unit.kind in _ENDS_BEFORE or unit.form in cue.ends_at
