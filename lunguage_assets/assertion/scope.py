"""What every cue of a sentence says, and how far it reaches (method.md section 6).

Which words are cues, where they look, how far they reach and where they end is data
(`resources/assertion/`); what a category does is the table of `categories.py`. What no
cue answers for is no matter of this module (`unanswered.py`).

Every function looks from a cue outwards until something ends the reach, so that a
reading is linear in its sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Literal, NamedTuple

from lunguage_assets.assertion.categories import CATEGORIES, Category, Meant
from lunguage_assets.assertion.cues import Cue
from lunguage_assets.assertion.units import (
    DEVICE,
    JOINTS,
    LIMITATION,
    OWN_WORDS,
    UNKNOWN,
    TaggedToken,
    begin_of_clause,
    first_beyond,
    first_kind,
    form_at,
    has_kind,
    is_adjective,
    kind_at,
    kind_beyond,
    rest_of_clause,
)
from lunguage_assets.assertion.vocabulary import (
    UNDECIDED,
    Kind,
    LexiconEntry,
)
from lunguage_assets.assertion.word_files import WORDS

Says = Meant | Literal["undecided", "reserved", ""]
"""What a cue makes of what it reaches.

`undecided`: what is denied there is left open. `reserved`: what is denied is doubted.
"""

_ORDER: tuple[frozenset[Says], ...] = (
    frozenset({"undecided"}),
    frozenset({"aside"}),
    frozenset({"negated", "doubted", "ended"}),
    frozenset({"reserved"}),
    frozenset({"hedged"}),
    frozenset({"past"}),
)
"""Nothing is denied in what is set aside. A hedge inside a denial changes nothing, and
what an earlier film left open was open then.
"""
COURSES = frozenset({"no_change", "improved", "worsened"})
"""Columns of words that say how something has changed."""
STATEMENT_BEGINS = COURSES | {"severity", "measurement"}
"""Columns of words that begin a statement of their own: "no effusion, mild edema"."""
_BEGINS_BEHIND_HEDGE = STATEMENT_BEGINS | {"morphology", "distribution", "onset"}
_ASIDES: frozenset[Kind] = frozenset({"recommendation", "aim", "condition", "relative"})
_ENDS_BEHIND: frozenset[Kind] = _ASIDES | {"break", "ended", "negated before"}
_ENDS_BEFORE: frozenset[Kind] = _ASIDES | {
    "break", "negated", "negated before", "hedged", "ended", "with",
}  # fmt: skip
_BETWEEN_STATEMENTS: frozenset[Kind] = _ENDS_BEFORE | {"comma", "and", "copula"}
_ENDS_BEHIND_MEMBER: Mapping[Says, frozenset[Kind]] = {
    # "Likely opacity suggesting pneumonia": the second hedge has a list of its own.
    "hedged": frozenset({"with", "copula", "hedged", "negated"}),
    "aside": frozenset({"with", "copula", "hedged", "negated"}),
    "negated": frozenset({"negated"}),
    "doubted": frozenset({"negated"}),
    "ended": frozenset({"copula", "comma", "negated"}),
}
_REACHED: Mapping[Says, frozenset[Kind]] = {
    "hedged": frozenset({"finding", "abnormal"}),
    "negated": frozenset({"finding", "abnormal", "normal"}),
    "doubted": frozenset({"finding", "abnormal", "normal"}),
}
_FINDING: frozenset[Kind] = frozenset({"finding"})
_SYMPTOM = "PATIENT INFO."
_AHEAD = 30
"""Units that are looked through for an "or"."""
_NEAR = 4
_IMPROVED = LexiconEntry("word", code="improved")
_PERSISTS = LexiconEntry("word", code="no_change")


class Claim(NamedTuple):
    """What a cue says of a unit."""

    says: Says
    cue: TaggedToken
    target: TaggedToken


def mark_claims(units: list[TaggedToken]) -> None:
    """Mark what every cue says of the units that it reaches.

    Args:
        units: of the sentence; changed in place.
    """
    for at, unit in enumerate(units):
        if unit.form in WORDS["appearances"] and _is_plain_copula(units, at):
            unit.become(LexiconEntry("copula"))
    unite_with_ends(units)
    claims: list[Claim] = []
    for at in range(len(units)):
        claims += _claims(units, at)
    undecided_by = {
        claim.target: claim.cue for claim in claims if claim.says == "undecided"
    }
    # Between a denial before and one behind, the one before decides.
    claims.sort(key=lambda claim: claim.cue.begin > claim.target.begin)
    for group in _ORDER:
        for claim in claims:
            if claim.says in group:
                _mark(claim, undecided_by.get(claim.target))
    _forget_spent_cues(units)


def _forget_spent_cues(units: list[TaggedToken]) -> None:
    """Let words that have said what they reach describe, or say nothing more."""
    for unit in units:
        # The words that say what cannot be seen are in the row that they limit.
        if unit.is_of("limitation") or unit.kind == "mimic before":
            unit.become(LIMITATION._replace(cue=unit.cue))
        elif unit.kind in ("partial", "partial before"):
            # "Largely unchanged", "partially calcified": no end is near.
            unit.become(UNKNOWN)


def _is_plain_copula(units: list[TaggedToken], at: int) -> bool:
    """Whether a verb only joins what is said to its subject: "the lungs appear clear".

    "There appears to be an effusion" hedges.
    """
    said = first_beyond(units[at + 1 :], ("word", "place", "other", "copula"))
    if said is None:
        return kind_at(units, at + 1) in ("word", "other")
    is_said_of_part = kind_beyond(reversed(units[:at]), ("word", "other")) in (
        "anatomy", "place",
    )  # fmt: skip
    is_abnormal = said.kind == "abnormal" or is_adjective(said)
    return said.kind == "normal" or (is_abnormal and is_said_of_part)


def _mark(claim: Claim, undecided_by: TaggedToken | None) -> None:
    says, cue, target = claim
    # A hedge that is denied says nothing: "not suspicious for". "Edema or effusion is
    # not seen" denies both.
    is_denied = cue.negation or (target.negation and cue.is_of("alternative"))
    if target.aside or says == "undecided" or (says == "hedged" and is_denied):
        cue.has_spoken = True
    elif says in ("negated", "doubted", "ended"):
        _deny(claim, undecided_by)
    elif says == "aside" and cue.cue is not None:
        target.set_aside(CATEGORIES[cue.cue.category].reason, cue)
    elif says == "reserved":
        target.doubt_denial(cue)
    elif says == "hedged":
        target.leave_open(cue)
    elif says == "past":
        target.make_past(cue)


def _deny(claim: Claim, undecided_by: TaggedToken | None) -> None:
    says, cue, target = claim
    if undecided_by is not None:
        # "Unclear whether it has resolved" denies nothing.
        target.leave_open(undecided_by)
        cue.has_spoken = True
        return
    target.negate(cue, with_doubt=says == "doubted")
    if says == "ended" and target.kind == "finding":
        target.make_past(cue)


# --- what a cue says


def _claims(units: list[TaggedToken], at: int) -> Iterator[Claim]:
    """Yield what a cue says of what it reaches."""
    unit = units[at]
    if unit.code == "other_source":
        # "A nodule was seen on the prior CT"
        yield from _claimed("past", unit, _seen_then(units, at))
    elif unit.name == UNDECIDED:
        yield from _claimed("hedged", unit, _borderline(units, at))
    elif unit.cue is None:
        return
    elif unit.cue.category in _REACH_BY_CATEGORY:
        reach = _REACH_BY_CATEGORY[unit.cue.category]
        says: Says = CATEGORIES[unit.cue.category].makes
        if unit.is_of("reservation"):
            says = "reserved"
        yield from _claimed(says, unit, reach(units, at))
    elif unit.is_of("negated", "doubted", "mimic"):
        yield from _denials(units, at)
    elif unit.is_of("ended"):
        yield from _ends(units, at)
    elif unit.is_of("hedged", "setting"):
        yield from _hedges(units, at)


def _claimed(
    says: Says, cue: TaggedToken, targets: Iterable[TaggedToken]
) -> Iterator[Claim]:
    for target in targets:
        yield Claim(says, cue, target)


def _borderline(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    own_words = takewhile(lambda unit: unit.kind in OWN_WORDS, units[at + 1 :])
    behind = [unit for unit in own_words if unit.kind == "abnormal"]
    following = units[at + 1 + len(behind) :]
    finding = first_beyond(following, OWN_WORDS - {"anatomy"})
    is_next = finding is not None and finding.kind == "finding"
    return [units[at], *behind, *([finding] if finding and is_next else [])]


# --- denials and ends


def _denials(units: list[TaggedToken], at: int) -> Iterator[Claim]:
    """Yield what a denial denies: what is behind it, else what is before it."""
    cue = units[at]
    says: Says = "doubted" if cue.doubts else "negated"
    if _is_of_device_end(units, at):
        # "The tip of the tube is not seen": the tube is there.
        cue.has_spoken = True
        cue.become(LIMITATION)
        return
    if cue.kind == "mimic before":
        yield from _claimed(says, cue, _due_to_technique(units, at))
        return
    looks_back = cue.kind == "negated before" or _is_answer(units, at)
    if looks_back:
        reached = _list_before(units, at)
        if cue.doubts and cue.cue is not None and cue.cue.direction == "both":
            # "Atelectasis likely, pneumonia less likely" doubts the second.
            reached = reached[:1]
        yield from _claimed(says, cue, _with_sign(units, reached))
        return
    is_of_hedge = kind_at(units, at + 1) == "hedged" and cue.reaches_next
    if is_of_hedge and units[at + 1].form in WORDS["beliefs"]:
        # "Not suspicious for cancer" leaves a doubt, "not consistent with" none.
        says = "doubted"
        units[at + 1].has_spoken = True
    reached = _list_behind(units, at, says)
    yield from _claimed(says, cue, reached)


def _due_to_technique(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Find what "is due to the projection" is said of: the nearest finding or state."""
    for unit in reversed(units[max(0, at - 2 * _NEAR) : at]):
        if unit.kind in ("finding", "abnormal"):
            # An artifact is there, and is the effect of the technique itself.
            return [] if unit.name in WORDS["of_technique"] else [unit]
        if unit.kind == "break" and unit.form not in WORDS["goes_back"]:
            return []
    return []


def _is_of_device_end(units: list[TaggedToken], at: int) -> bool:
    """Whether only the end of a device is not seen: "tip not seen"."""
    clause = units[begin_of_clause(units, at) : at]
    if units[at].kind == "negated":
        clause = units[at + 1 : at + 2]
    return any(unit.is_of("device_part") for unit in clause)


def _is_answer(units: list[TaggedToken], at: int) -> bool:
    """Whether a denial is the whole answer: "Effusion: no", "pneumonia less likely"."""
    cue = units[at]
    if cue.cue is None or cue.cue.direction != "both":
        return False
    following = kind_at(units, at + 1)
    if following not in ("", "break", "comma"):
        return False
    before = kind_at(units, at - 1)
    # "Effusion (no), edema (mild)"
    is_enclosed = form_at(units, at - 1) == "(" and form_at(units, at + 1) == ")"
    if is_enclosed or before == "finding":
        return True
    if cue.doubts:
        return before in ("place", "copula")
    # The colon behind a heading is read as its verb, a dash as a comma.
    return before in ("copula", "comma") and following != "comma"


def _with_sign(
    units: list[TaggedToken], reached: list[TaggedToken]
) -> list[TaggedToken]:
    """Add the sign that it explains: "the opacity concerning for edema has cleared"."""
    if not reached:
        return reached
    first = units.index(reached[-1])
    is_explained = False
    for unit in reversed(units[max(0, first - 8) : first]):
        if unit.kind == "finding":
            return [*reached, unit] if is_explained else reached
        if unit.kind in ("hedged", "link"):
            is_explained = True
        elif unit.kind in _BETWEEN_STATEMENTS and unit.form not in WORDS["that_was"]:
            # "The opacity that was concerning for edema" goes on at "that was".
            break
    return reached


def unite_with_ends(units: list[TaggedToken]) -> None:
    """Read each end together with the word beside it that undoes or weakens it.

    "Nearly resolved" is there and improved, "not resolved" is there, "not definitely
    resolved" may be there. A row quotes both as a whole.
    """
    for at, unit in enumerate(units):
        if unit.kind == "ended" or unit.code == _IMPROVED.code:
            modifier = _modifier_of(units, at)
            if modifier is not None and modifier.kind != "hedged":
                _unite(modifier, unit)
        elif unit.kind in ("partial before", "hedged before"):
            _change_end_before(units, at)


def _unite(modifier: TaggedToken, end: TaggedToken) -> None:
    """Make one unit of an end and the word before it."""
    sense = _PERSISTS
    if modifier.kind == "partial":
        sense = _IMPROVED
    elif modifier.doubts and end.kind != "ended":
        return
    elif modifier.doubts:
        looks_back = end.cue is not None and end.cue.direction != "behind"
        kind: Kind = "hedged before" if looks_back else "hedged"
        sense = LexiconEntry(kind, cue=_as_hedge(modifier, end))
    end.begin = modifier.begin
    end.form = modifier.form
    end.become(sense)
    modifier.become(UNKNOWN)
    modifier.has_spoken = True


def _change_end_before(units: list[TaggedToken], at: int) -> None:
    """ "Resolution of the edema is incomplete", "... cannot be confirmed"."""
    clause = units[begin_of_clause(units, at) : at]
    end = next((unit for unit in reversed(clause) if unit.kind == "ended"), None)
    if end is None or end.cue is None or end.cue.direction != "behind":
        return
    end.become(_IMPROVED if units[at].kind == "partial before" else UNKNOWN)
    end.has_spoken = units[at].has_spoken = True


def _as_hedge(modifier: TaggedToken, end: TaggedToken) -> Cue | None:
    direction = "behind" if end.cue is None else end.cue.direction
    update = {"category": "hedged", "direction": direction}
    return None if modifier.cue is None else modifier.cue.model_copy(update=update)


def _modifier_of(units: list[TaggedToken], at: int) -> TaggedToken | None:
    """Find the denial, hedge or "nearly" that is said of an end, if there is one."""
    for unit in reversed(units[max(0, at - _NEAR) : at]):
        if unit.kind in ("partial", "negated", "hedged"):
            return unit
        if unit.kind not in ("copula", "other") and unit.form != "to":
            return None
    return None


def _ends(units: list[TaggedToken], at: int) -> Iterator[Claim]:
    """Yield what has gone: what stands before, else what follows ("resolved edema")."""
    end = units[at]
    cue = end.cue
    gone: list[TaggedToken] = []
    behind = first_beyond(units[at + 1 :], OWN_WORDS)
    # "Lung cancer, now resolved pneumonia"
    before = kind_beyond(reversed(units[:at]), ("other", "seen"))
    is_first = before in ("", "break", "comma", "hedged", "link")
    is_adjective = is_first and behind is not None and behind.kind == "finding"
    if cue is not None and cue.direction != "behind" and not is_adjective:
        gone = _with_sign(units, _list_before(units, at))
    if not gone and cue is not None and cue.direction != "before":
        gone = _list_behind(units, at, "ended")
    is_exchanged = bool(gone) and end.is_cue("ended.exchanged_for")
    if is_exchanged and behind is not None and behind.name == gone[0].name:
        # "The tube was exchanged for a longer tube": there is one again.
        end.has_spoken = True
        return
    modifier = _modifier_of(units, at)
    if modifier is not None and modifier.kind == "hedged":
        # "Has probably resolved": absent, with doubt.
        yield from _claimed("doubted", modifier, gone)
    yield from _claimed("ended", end, gone)


# --- lists


def _list_behind(units: list[TaggedToken], at: int, says: Says) -> list[TaggedToken]:
    """List what follows a cue and what is joined to it: "no edema, mass or fracture".

    Args:
        units: of the sentence.
        at: position of the cue.
        says: what it makes of them.
    """
    cue = units[at]
    is_denial = says in ("negated", "doubted")
    members: list[TaggedToken] = []
    has_member = False
    for position in range(at + 1, len(units)):
        unit = units[position]
        if _ends_list(units, position, cue, says, has_member=has_member):
            members += _denied_next(units, position, says) if has_member else []
            break
        if _is_member(unit, cue, says, is_next=position == at + 1):
            members.append(unit)
            # An adjective ends the list of "not enlarged, stable"; "no enlarged,
            # calcified nodes" goes on to its noun.
            has_member = unit.kind == "finding" or cue.reaches_next or not is_denial
        elif is_denial and unit.kind in ("hedged", "hedged before", "link"):
            unit.negate(cue)
        elif unit.kind in ("comma", "and", "with") and not _goes_on(
            units, position, at, says, has_member=has_member
        ):
            break
        if says in ("past", "ended") and members and cue.reaches_next:
            break
    return members


def _is_member(
    unit: TaggedToken, cue: TaggedToken, says: Says, *, is_next: bool
) -> bool:
    """Whether a cue reaches units of this kind."""
    if unit.kind in _REACHED.get(says, _FINDING):
        # What is felt is now ("history of asthma, cough").
        return says != "past" or is_next or unit.code != _SYMPTOM
    # "No longer sharp": what follows directly is an adjective.
    is_judged = says == "ended" and is_next and cue.form == "no"
    return is_judged and unit.kind in _REACHED["negated"]


def _ends_list(
    units: list[TaggedToken], at: int, cue: TaggedToken, says: Says, *, has_member: bool
) -> bool:
    """Whether the list of a cue ends at a unit that is no joint.

    Args:
        units: of the sentence.
        at: position of the unit.
        cue: whose list it is.
        says: what it makes of the list.
        has_member: whether the list has a member already.
    """
    unit = units[at]
    if unit.kind in _ENDS_BEHIND or cue.stops_at(unit):
        return True
    if says == "past":
        is_felt = unit.code == _SYMPTOM and has_member
        return is_felt or unit.kind in ("with", "copula", "hedged", "negated")
    if has_member and unit.kind in _ENDS_BEHIND_MEMBER.get(says, ()):
        return True
    if says in ("negated", "doubted"):
        # "Without fever this is more likely edema"
        is_behind_verb = unit.kind == "hedged" and kind_at(units, at - 1) == "copula"
        return unit.kind == "negated" or (has_member and is_behind_verb)
    return says == "hedged" and unit.kind == "negated" and unit.doubts


def _denied_next(units: list[TaggedToken], at: int, says: Says) -> list[TaggedToken]:
    """ "Likely atelectasis, not pneumonia": what is likely is the denial, too."""
    if says != "hedged" or units[at].kind != "negated" or not units[at].reaches_next:
        return []
    denied = finding_beside(units, at, 1)
    return [] if denied is None else [denied]


def _goes_on(
    units: list[TaggedToken], at: int, cue: int, says: Says, *, has_member: bool
) -> bool:
    """Whether a list goes on behind a joint.

    Args:
        units: of the sentence.
        at: position of the joint.
        cue: position of the cue whose list it is.
        says: what it makes of the list.
        has_member: whether the list has a member before the joint.
    """
    joint = units[at]
    if joint.kind == "comma" and kind_at(units, at + 1) == "copula":
        # "Edema, as opposed to infection, is suspected": the verb is said of edema.
        return False
    if not has_member:
        return says != "hedged" or _is_inside_phrase(units, at)
    if says == "past":
        return True
    if says == "hedged":
        if units[at - 1].kind in JOINTS or joint.form == "/":
            return True
        is_denial_next = kind_at(units, at + 1) == "negated"
        if is_denial_next and units[at + 1].reaches_next:
            # "Likely atelectasis, not pneumonia"
            return True
        if units[cue].reaches_next and not _has_or_ahead(units, at + 1):
            # "Possible edema and effusion" is of the edema; "or" joins both.
            return False
    if not _begins_statement(units, at, units[cue], is_hedge=says == "hedged"):
        return True
    behind = kind_beyond(units[at + 1 : at + _AHEAD], OWN_WORDS)
    if says == "hedged" and joint.kind == "comma" and behind == "finding":
        # "May represent scarring, mild edema": nothing reaches over this comma.
        joint.become(LexiconEntry("break"))
    return False


def _is_inside_phrase(units: list[TaggedToken], at: int) -> bool:
    """Whether a joint before the first finding of a hedge's list does not end it."""
    before = units[at - 1]
    if units[at].form == "/":
        return True
    if units[at].kind == "comma":
        # "Not diagnostic of, but suggestive of, edema"
        return before.form in WORDS["said_on"]
    # "Possible right third and fourth rib fracture"
    kind_behind = kind_at(units, at + 1)
    return before.kind == kind_behind and before.kind in ("place", "word")


def _begins_statement(
    units: list[TaggedToken], at: int, cue: TaggedToken, *, is_hedge: bool
) -> bool:
    """Whether a list ends at this joint, because something else is stated behind it.

    Args:
        units: of the sentence.
        at: position of the joint.
        cue: the denial or hedge whose list it is.
        is_hedge: whether it is a hedge.
    """
    behind = at + 1
    while behind < len(units) and units[behind].kind in (*JOINTS, "with"):
        if units[behind].kind == "alternative":
            # "No effusion, or edema": the "or" goes on with the list.
            return False
        behind += 1
    statement = units[behind : behind + _AHEAD]
    if not statement or statement[0].kind in ("negated", "break", "hedged", "past"):
        return True
    if units[at - 1].kind == "seen" and not _has_or_ahead(units, behind):
        # "No effusion is seen (blunting may be scar)": its verb has closed the list.
        return True
    if _describes_anatomy(statement):
        return True
    joint = units[at]
    if cue.reaches_next and joint.kind != "comma":
        # "Not enlarged and tortuous": a "not" is of the next word.
        return True
    if is_hedge and joint.kind == "and":
        # "May represent edema and small effusion": the size is on the list.
        return False
    return _states_something(statement, is_hedge=is_hedge) and not (
        _has_or_ahead(units, behind)
    )


def _states_something(statement: list[TaggedToken], *, is_hedge: bool) -> bool:
    """Whether the first word is one of size or course, or a hedge of its own."""
    first = first_beyond(statement, ("place", "other")) or statement[-1]
    begins = _BEGINS_BEHIND_HEDGE if is_hedge else STATEMENT_BEGINS
    is_described = first.kind in ("word", "abnormal") and first.code in begins
    # "No effusion, calcified granulomas": what is hardly ever denied.
    is_stated = not is_hedge and first.form in WORDS["stated"]
    # "No fracture, findings compatible with emphysema"
    return is_described or is_stated or first.kind == "hedged"


def _has_or_ahead(units: list[TaggedToken], at: int) -> bool:
    """Whether the list goes on to an "or"."""
    stops = ("alternative", "break", "copula", "negated", "with", "hedged")
    return first_kind(units[at : at + _AHEAD], stops) == "alternative"


def _describes_anatomy(statement: list[TaggedToken]) -> bool:
    """Whether a part of the body is described: "... and the heart is large"."""
    is_anatomy_named = False
    is_abnormal = False
    for unit in statement:
        # "The heart is ...", "tortuous aorta"
        if unit.kind == "normal" or (is_anatomy_named and unit.kind == "copula"):
            return True
        if unit.kind in JOINTS or unit.kind in ("finding", "break", "copula"):
            return False
        is_anatomy_named = is_anatomy_named or unit.kind == "anatomy"
        is_abnormal = is_abnormal or unit.kind == "abnormal"
        if is_anatomy_named and is_abnormal:
            return True
    return False


def _list_before(
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
    is_plural = cue.form in WORDS["plural_verbs"] or form_at(units, at - 1) == "are"
    is_list = is_plural or (is_or and cue.form == "or")
    reaches_one = cue.reaches_next and not is_or and not is_plural
    is_joined = True
    members: list[TaggedToken] = []
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if not members and _stands_between(units, position, at):
            continue
        if unit.kind in _ENDS_BEFORE or cue.stops_at(unit):
            break
        has_member = bool(members)
        if is_or and _ends_alternatives(unit, has_member=has_member):
            break
        if _parts_list(units, position, is_hedge and not is_plural, has_member):
            break
        if unit.kind == "finding" and not is_joined:
            break
        if unit.kind == "finding":
            members.append(unit)
            is_joined = False
        elif unit.kind == "comma":
            is_joined = is_joined or (is_list and has_member)
        elif unit.kind in JOINTS:
            is_joined = is_list = True
        if members and reaches_one:
            break
    return members


def _parts_list(
    units: list[TaggedToken], at: int, is_of_last: bool, has_member: bool
) -> bool:
    """Whether a unit parts the list behind it from what stands before.

    Args:
        units: of the sentence.
        at: position of the unit.
        is_of_last: "A, and B cannot be excluded" is of B.
        has_member: whether the list has a member already.
    """
    unit = units[at]
    if unit.kind in ("copula", "link", "seen"):
        # "The effusion is small, edema is absent": a verb ends the list.
        return has_member
    if unit.kind not in ("and", "alternative"):
        return False
    # "Scarring, either atelectasis or pneumonia": the list begins here.
    is_parted = is_of_last and kind_at(units, at - 1) == "comma"
    return is_parted or unit.form == "either"


def _ends_alternatives(unit: TaggedToken, *, has_member: bool) -> bool:
    """Whether the alternatives of an "or" end at a unit before it."""
    if unit.kind == "finding":
        # "Opacity, atelectasis or pneumonia": the sign is there.
        return has_member and unit.name in WORDS["signs"]
    if unit.kind not in ("and", "alternative") or unit.form == "/":
        return False
    # "Effusion and edema or pneumonia": the effusion is there. What stands before
    # another "or" is that one's.
    return unit.kind == "and" or has_member


def _stands_between(units: list[TaggedToken], position: int, at: int) -> bool:
    """Whether a word stands between a cue and what it is said of before it.

    "Is probably not seen", "the edema that has cleared".
    """
    unit = units[position]
    if unit.kind == "hedged" and position >= at - _NEAR:
        return not has_kind(units[position + 1 : at], "comma", "finding", "preposition")
    if unit.kind != "break" or unit.form not in ("which", "that"):
        return False
    if units[at].kind not in ("ended", "negated before"):
        return False
    # "Which is not evident on the lateral view": on the other view it is.
    if any(word.form in WORDS["one_view"] for word in units[at + 1 : at + 3]):
        return False
    return first_beyond(units[position + 1 : at], ("copula", "other", "seen")) is None


# --- hedges and alternatives


def _hedges(units: list[TaggedToken], at: int) -> Iterator[Claim]:
    """Yield what a hedge leaves open, and what it forbids to deny."""
    hedge = units[at]
    if hedge.cue is not None and hedge.cue.reach == "clause":
        clause = _clause_of(units, at)
        yield from _claimed("undecided", hedge, clause)
        if not clause:
            # "The cause is unclear" leaves open no finding.
            hedge.has_spoken = True
            return
    yield from _claimed("hedged", hedge, _hedged(units, at))


def _hedged(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Find what a hedge leaves open: the list behind it, or what it is said of."""
    hedge = units[at]
    if hedge.kind == "hedged before":
        return _hedged_before(units, at)
    if _is_of_attribute(units, at):
        hedge.has_spoken = True
        return []
    is_glued = hedge.form == "?" and at > 0 and units[at - 1].end == hedge.begin
    behind = [] if is_glued else _list_behind(units, at, "hedged")
    if behind or hedge.cue is None or hedge.cue.direction != "both":
        hedge.has_spoken = hedge.has_spoken or bool(behind)
        return [unit for unit in behind if not _is_known(units, unit)]
    if not is_glued and not _is_predicate(units, at):
        return []
    reached = _list_before(units, at, is_hedge=True)
    # "Edema, pneumonia?": the sign asks about the nearest one.
    return reached[:1] if hedge.form == "?" else reached


def _hedged_before(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Find what a hedge leaves open that looks before it: "cannot be excluded"."""
    hedge = units[at]
    elsewhere = units[:at] + units[at + 1 :] if hedge.is_of("setting") else []
    if has_kind(elsewhere, "hedged", "hedged before"):
        # "Possible pneumonia in the right setting": another hedge stands already.
        hedge.has_spoken = True
        return []
    if hedge.is_cue("hedged.by_technique"):
        return _due_to_technique(units, at)
    if hedge.is_cue("hedged.not_well_seen") and _is_of_dim_place(units, at):
        hedge.become(LIMITATION)
        return []
    # "Atelectasis, scarring, or both".
    is_or = hedge.form == "or"
    reached = _list_before(units, at, is_hedge=True, is_or=is_or)
    return reached or _finding_behind(units, at)


def _is_of_dim_place(units: list[TaggedToken], at: int) -> bool:
    """Whether "the left base is not well seen" leaves no finding open.

    A tube that is not well seen is there.
    """
    subject: list[TaggedToken] = []
    for unit in reversed(units[:at]):
        if unit.kind in ("break", "comma", "and"):
            break
        subject.append(unit)
    return all(unit.kind != "finding" or unit.code == DEVICE for unit in subject)


def _finding_behind(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """ "Minimal, if any, edema", "another possibility is edema"."""
    behind = first_beyond(units[at + 1 :], {*OWN_WORDS, "comma", "copula"})
    is_finding = behind is not None and behind.kind == "finding"
    return [behind] if behind is not None and is_finding else []


def _is_known(units: list[TaggedToken], finding: TaggedToken) -> bool:
    """Whether a finding is there whatever hedges it: "consistent with known edema"."""
    before = reversed(units[: units.index(finding)])
    own_words = takewhile(lambda unit: unit.kind in OWN_WORDS, before)
    return any(word.form == "known" for word in own_words)


def _is_predicate(units: list[TaggedToken], at: int) -> bool:
    """Whether a hedge is said of what stands before it: "edema is possible"."""
    following = units[at + 1] if at + 1 < len(units) else None
    if following is None or following.kind in _ASIDES:
        return True
    if following.kind in ("break", "comma", "seen", "preposition", "and"):
        return True
    # "Is probably not seen", "is more likely than edema".
    if following.kind == "negated before" or following.doubts:
        return True
    # "Edema may well be there", "edema is questionable on this view".
    hedge = units[at]
    is_behind_verb = kind_at(units, at - 1) == "copula"
    is_stated = is_behind_verb and hedge.form in WORDS["predicates"]
    return is_stated or hedge.form in WORDS["modals"]


def _is_of_attribute(units: list[TaggedToken], at: int) -> bool:
    """Whether only a place or a course is left open, and the finding is there.

    "Opacity, possibly in the lingula", "the effusion is likely unchanged".
    """
    hedge = units[at]
    is_named = has_kind(units[begin_of_clause(units, at) : at], "finding")
    if not is_named:
        return False
    is_adverb = hedge.form.endswith("ly") or hedge.form in WORDS["of_the_place"]
    following = units[at + 1 : at + 4]
    if kind_at(units, at + 1) == "preposition":
        # "Pneumonia is likely in the left base" leaves open the pneumonia.
        is_predicate = hedge.form == "likely" and kind_at(units, at - 1) == "copula"
        is_of_place = kind_at(units, at + 2) in ("place", "anatomy")
        return is_adverb and is_of_place and not is_predicate
    told = first_beyond(following, ("copula", "other"))
    if told is None or told.kind != "word" or hedge.form in WORDS["modals"]:
        return False
    behind = kind_beyond(units[units.index(told) + 1 :], ("word", "other"))
    return behind in ("", "break", "comma", "preposition")


def _clause_of(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what "it is unclear whether" governs, or "whether ... is unclear"."""
    cue = units[at].cue
    if cue is not None and cue.direction == "behind":
        return rest_of_clause(units, at)
    whether = next((i for i in range(at) if units[i].form == "whether"), at)
    if whether < at:
        units[whether].become(UNKNOWN)
        units[whether].has_spoken = True
    return units[whether + 1 : at]


def _alternatives(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List "A or B" of a joint, and "A versus" something unknown."""
    joint = units[at]
    if joint.form == "either":
        return _members_of_either(units, at)
    before = finding_beside(units, at, -1)
    behind = finding_beside(units, at, 1)
    if before is not None and behind is not None:
        return [*_list_before(units, at, is_or=True), behind]
    finding = before or behind
    if finding is not None and joint.form in ("versus", "vs"):
        # "Edema versus overlap": what is in no word list may be it, too.
        return [finding]
    # "Normal or mildly enlarged"
    states = [
        first_beyond(reversed(units[:at]), ("word", "other")),
        first_beyond(units[at + 1 :], ("word", "other")),
    ]
    judging = [state for state in states if state is not None]
    is_range = {state.kind for state in judging} == {"normal", "abnormal"}
    return judging if is_range else []


def _members_of_either(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    members: list[TaggedToken] = []
    is_last = False
    for unit in units[at + 1 :]:
        if unit.kind in ("break", "copula", "negated", "hedged"):
            break
        if unit.kind == "finding":
            members.append(unit)
            if is_last:
                break
        is_last = is_last or unit.kind == "alternative"
    return members


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


# --- what is not said of the patient now


def _set_aside(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what advice, an aim, a condition or a relative is about, itself first."""
    cue = units[at]
    if cue.cue is None:
        return []
    spared = CATEGORIES[cue.cue.category].spares
    opens_sentence = cue.kind == "condition" and kind_at(units, at - 1) in ("", "break")
    reached = [cue]
    for unit in units[at + 1 :]:
        if cue.stops_at(unit):
            break
        # "It is recommended that a CT be done" goes on at "that".
        if unit.kind == "break" and unit.form != "that" and cue.cue.reach == "clause":
            break
        # "If fever persists, there is still an effusion" ends at its comma.
        if opens_sentence and unit.kind == "comma" and cue.cue.reach == "clause":
            break
        reached.append(unit)
    return [
        unit for unit in reached if unit.kind != "finding" or unit.code not in spared
    ]


def _not_assessed(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List the findings that cannot be assessed; what is known to be there is not.

    "The extent of the effusion cannot be assessed" knows of the effusion.
    """
    if units[at].kind == "limitation before":
        clause = units[begin_of_clause(units, at) : at]
        reached = _list_before(units, at, is_hedge=True)
        # "A right effusion, and the left base cannot be assessed" is of the base.
        nearest = first_kind(reversed(clause), ("finding", "comma", "anatomy"))
        if nearest == "comma" or (
            nearest == "anatomy" and not has_kind(clause, "preposition")
        ):
            reached = []
    else:
        clause = rest_of_clause(units, at)
        reached = _list_behind(units, at, "aside")
    units[at].has_spoken = True
    if any(unit.form in WORDS["properties"] for unit in clause):
        return []
    return [unit for unit in reached if not _is_definite(units, unit)]


def _is_definite(units: list[TaggedToken], finding: TaggedToken) -> bool:
    """Whether a finding is spoken of as known: "evaluation of the left effusion"."""
    before = reversed(units[: units.index(finding)])
    own_words = takewhile(lambda unit: unit.kind in OWN_WORDS, before)
    return finding.is_definite or any(
        word.is_definite or word.form == "known" for word in own_words
    )


def _denied_around(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what a reservation is about: what was denied last, else what follows."""
    reached: list[TaggedToken] = []
    for unit in reversed(units[:at]):
        if unit.kind == "finding":
            reached.append(unit)
        elif unit.kind == "negated" and reached:
            break
    return reached or [unit for unit in units[at:] if unit.kind == "finding"][:3]


def _seen_then(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what an earlier examination showed: "was seen on the prior film"."""
    examination = units[at]
    examination.has_spoken = True
    begin = begin_of_clause(units, at)
    clause = [*units[begin:at], examination, *rest_of_clause(units, at)]
    is_there_was = begin > 0 and units[begin - 1].code == "there was"
    verb = _verb_of_examination(units, at)
    if verb is not None and verb not in clause:
        clause = rest_of_clause(units, units.index(verb))
    is_told = is_there_was or verb is not None
    if not is_told and not any(_is_then(unit) for unit in clause):
        return []
    tells_time = is_told or examination.is_cue("examination.then")
    if not tells_time and has_kind(clause, "negated", "negated before"):
        # "Was not seen on the prior film" is about now: it is new.
        return []
    behind = takewhile(
        lambda unit: unit.begin <= examination.begin or not examination.stops_at(unit),
        clause,
    )
    return [unit for unit in behind if unit.kind in ("finding", "anatomy")]


def _verb_of_examination(units: list[TaggedToken], at: int) -> TaggedToken | None:
    """Find "showed" of "the CT of May showed", "the prior film, which showed"."""
    for unit in units[at + 1 : at + 2 * _NEAR]:
        # "The prior film did not show an effusion"
        if unit.form in WORDS["told"] or unit.form == "did":
            return unit
        if unit.kind in ("finding", "negated"):
            return None
    return None


def _is_then(unit: TaggedToken) -> bool:
    return unit.kind == "copula" and unit.form in WORDS["then"]


def _is_past(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    return _list_behind(units, at, "past")


_REACH_BY_CATEGORY: Mapping[
    Category, Callable[[list[TaggedToken], int], list[TaggedToken]]
] = {
    "aim": _set_aside,
    "recommendation": _set_aside,
    "repositioning": _set_aside,
    "condition": _set_aside,
    "relative": _set_aside,
    "limitation": _not_assessed,
    "examination": _seen_then,
    "past": _is_past,
    "alternative": _alternatives,
    "reservation": _denied_around,
}
"""How far a cue reaches, by its category; denials, ends and hedges say more."""
