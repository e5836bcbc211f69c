"""What every cue of a sentence says, and what wins (docs/method/assertion.md).

Which words are cues, where they look, how far they reach and where they end is data
(`resources/assertion/`); what a category does is the table of `categories.py`. How far
lists go is found in `lists.py`. What no cue answers for is no matter of this module
(`unanswered.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import Literal, NamedTuple

from lunguage_assets.assertion.categories import Category, Meant
from lunguage_assets.assertion.lists import (
    finding_beside,
    list_before,
    list_behind,
)
from lunguage_assets.assertion.units import (
    LIMITATION,
    OWN_WORDS,
    TaggedToken,
    clause_before,
    first_beyond,
    has_kind,
    is_adjective,
    kind_at,
    kind_beyond,
    own_words,
    rest_of_clause,
)
from lunguage_assets.assertion.vocabulary import UNDECIDED, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

Says = Meant | Literal["reserved", ""]
"""What a cue makes of what it reaches; `reserved`: what is denied is doubted."""
_ORDER: Mapping[Says, int] = {
    "aside": 1,
    "negated": 2,
    "doubted": 2,
    "ended": 2,
    "reserved": 3,
    "hedged": 4,
    "past": 5,
}
"""Nothing is denied in what is set aside. A hedge inside a denial changes nothing, and
what an earlier film left open was open then.
"""
_ENDS_ATTRIBUTE = ("", "break", "comma", "preposition")


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
    claims = [claim for at in range(len(units)) for claim in _claims(units, at)]
    # Between a denial before and one behind, the one before decides.
    claims.sort(
        key=lambda claim: (_ORDER[claim.says], claim.cue.begin > claim.target.begin)
    )
    for claim in claims:
        _mark(claim)
    for unit in units:
        # The words that say what cannot be seen are in the row that they limit.
        if unit.is_of("limitation"):
            unit.become(LIMITATION._replace(cue=unit.cue))


def _is_plain_copula(units: list[TaggedToken], at: int) -> bool:
    """Whether a verb only joins what is said to its subject: "the lungs appear clear".

    "There appears to be an effusion" hedges.
    """
    judgement = first_beyond(units[at + 1 :], ("word", "place", "other", "copula"))
    if judgement is None or judgement.kind == "normal":
        return True
    subject = kind_beyond(reversed(units[:at]), ("word", "other"))
    is_abnormal = judgement.kind == "abnormal" or is_adjective(judgement)
    return is_abnormal and subject in ("anatomy", "place")


def _claims(units: list[TaggedToken], at: int) -> Iterator[Claim]:
    """Yield what a cue says of what it reaches."""
    unit = units[at]
    if unit.name == UNDECIDED:
        # "Borderline" itself, and "borderline cardiomegaly".
        behind = first_beyond(units[at + 1 :], OWN_WORDS - {"anatomy"})
        yield from (Claim("hedged", unit, near) for near in (unit, behind) if near)
    elif unit.code == "other_source":
        # "A nodule was seen on the prior CT"
        for target in _seen_then(units, at):
            yield Claim("past", unit, target)
    if unit.cue.category in _REACHES:
        # "Though a small one could be missed" doubts what is denied elsewhere.
        says: Says = "reserved" if unit.is_of("reservation") else unit.cue.makes
        for target in _REACHES[unit.cue.category](units, at):
            yield Claim(says, unit, target)


def _mark(claim: Claim) -> None:
    says, cue, target = claim
    if says == "reserved":
        target.doubt_denial(cue)
    elif says == "hedged":
        # "Edema or effusion is not seen" denies both.
        if not (target.negation and cue.is_of("alternative")):
            target.leave_open(cue)
    elif says in ("negated", "doubted", "ended"):
        target.negate(cue, with_doubt=says == "doubted")
    elif says == "aside":
        target.aside = cue.cue.rule.reason
        target.note(cue)
    if says == "past" or (says == "ended" and target.kind == "finding"):
        target.past = cue
        target.note(cue)


def _denied(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what a denial, a doubt or a likeness is said of."""
    cue = units[at]
    if _is_of_device_end(units, at):
        # "The tip of the tube is not seen": the tube is there.
        cue.has_spoken = True
        cue.become(LIMITATION)
        return []
    if cue.kind in ("negated before", "mimic before") or _is_answer(units, at):
        return list_before(units, at)
    return list_behind(units, at)


def _is_of_device_end(units: list[TaggedToken], at: int) -> bool:
    """Whether only the end of a device is not seen: "tip not seen"."""
    clause = clause_before(units, at)
    if units[at].kind == "negated":
        clause = units[at + 1 : at + 2]
    return any(unit.is_of("device_part") for unit in clause)


def _is_answer(units: list[TaggedToken], at: int) -> bool:
    """Whether a denial is the whole answer: "Effusion: no", "pneumonia less likely"."""
    following = units[at + 1 : at + 2]
    # "Effusion (no), edema (mild)"
    is_last = all(unit.kind == "break" or unit.form == ")" for unit in following)
    # "Effusion: no, edema: mild": a colon is read as a verb, a dash as a comma.
    is_behind_dash = units[max(at - 1, 0)].form in ("-", "–", "—")
    is_told = is_behind_dash or kind_at(units, at - 1) in ("finding", "copula")
    is_whole = is_last or (is_told and kind_at(units, at + 1) == "comma")
    return units[at].cue.direction == "both" and is_whole


def _ended(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what has gone: what stands before, else what follows ("resolved edema")."""
    direction = units[at].cue.direction
    # "Lung cancer, now resolved pneumonia"
    is_adjective = kind_beyond(units[at + 1 :], OWN_WORDS) == "finding"
    if direction == "behind" or (direction == "both" and is_adjective):
        return list_behind(units, at)
    return list_before(units, at) or list_behind(units, at)


def _hedged(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what a hedge leaves open: the list behind it, or what it is said of."""
    hedge = units[at]
    if hedge.kind == "hedged before":
        # "Atelectasis, scarring, or both".
        return list_before(units, at)
    if _is_of_attribute(units, at):
        hedge.has_spoken = True
        return []
    # A sign belongs to what stands before it: "edema?".
    is_glued = hedge.form == "?" and units[at - 1].end == hedge.begin
    behind = list_behind(units, at)
    if is_glued or not behind:
        return list_before(units, at)
    # "Consistent with known edema": it is there, whatever hedges it.
    open_ = [unit for unit in behind if not _is_known(units, unit)]
    hedge.has_spoken = open_ != behind
    return open_


def _is_known(units: list[TaggedToken], finding: TaggedToken) -> bool:
    return any(word.form == "known" for word in own_words(units, finding))


def _is_of_attribute(units: list[TaggedToken], at: int) -> bool:
    """Whether only a place, a course or a cause is left open, and the finding is there.

    "Opacity, possibly in the lingula", "the effusion is likely unchanged", "effusion,
    likely malignant".
    """
    if not has_kind(clause_before(units, at), "finding"):
        return False
    if kind_at(units, at + 1) == "preposition":
        # "Pneumonia is likely in the left base" leaves open the pneumonia.
        is_predicate = kind_at(units, at - 1) == "copula"
        is_of_place = kind_at(units, at + 2) in ("place", "anatomy")
        return is_of_place and not is_predicate
    words = list(
        takewhile(
            lambda unit: unit.kind in ("word", "copula", "other"), units[at + 1 :]
        )
    )
    is_described = any(
        word.kind == "word" or word.form in WORDS["of_cause"] for word in words
    )
    return is_described and kind_at(units, at + 1 + len(words)) in _ENDS_ATTRIBUTE


def _alternatives(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List "A or B" of a joint, and "A versus" something unknown."""
    if units[at].form == "either":
        return list_behind(units, at)
    before = finding_beside(units, at, -1)
    behind = finding_beside(units, at, 1)
    if before is not None and behind is not None:
        return [*list_before(units, at), behind]
    finding = before or behind
    if finding is not None and units[at].form in ("versus", "vs"):
        # "Edema versus overlap": what is in no word list may be it, too.
        return [finding]
    return []


def _set_aside(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what advice, an aim, a condition or a relative is about, itself first."""
    cue = units[at]
    reached = [cue]
    for unit in units[at + 1 :]:
        # "It is recommended that a CT be done", "if this were pneumonia" go on.
        goes_on = unit.form == "that" or (
            cue.is_of("condition") and unit.form == "this"
        )
        is_end = unit.kind == "break" and not goes_on
        # "If fever persists, there is still an effusion" ends at its comma.
        is_end = is_end or (at == 0 and unit.kind == "comma")
        if is_end or unit.form in cue.cue.ends_at:
            break
        if unit.code not in cue.cue.rule.spares:
            reached.append(unit)
    names_none = not has_kind(reached, "finding")
    if cue.is_of("condition") and names_none and has_kind(units[:at], "finding"):
        # "Aspiration if the history fits": it is left open.
        return []
    return reached


def _not_assessed(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List the findings that cannot be assessed; what is known to be there is not.

    "The extent of the effusion cannot be assessed" knows of the effusion.
    """
    units[at].has_spoken = True
    if units[at].kind == "limitation before":
        reached = list_before(units, at)
        clause = clause_before(units, at)
        near = [unit.kind for unit in clause if unit.kind in ("finding", "comma")]
        if near[:1] == ["comma"]:
            # "A right effusion, and the left base cannot be assessed" is of the base.
            reached = []
    else:
        reached = list_behind(units, at)
    # "Evaluation of the effusion is limited"
    return [
        unit
        for unit in reached
        if not _is_known(units, unit)
        and not any(word.is_definite for word in own_words(units, unit))
    ]


def _reserved(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what a reservation is about: what is denied before it."""
    return units[:at]


def _seen_then(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what an earlier examination showed: "was seen on the prior film"."""
    before = clause_before(units, at)
    behind = rest_of_clause(units, at)
    clause = [*before, *behind]
    begin = at - len(before)
    is_told = (
        (begin > 0 and units[begin - 1].code == "there was")
        or any(unit.form in WORDS["told"] for unit in behind)
        or any(unit.kind == "copula" and unit.form in WORDS["then"] for unit in clause)
    )
    if is_told:
        return [unit for unit in clause if unit.kind in ("finding", "anatomy")]
    return []


_REACHES: Mapping[Category, Callable[[list[TaggedToken], int], list[TaggedToken]]] = {
    "negated": _denied,
    "doubted": _denied,
    "mimic": _denied,
    "ended": _ended,
    "hedged": _hedged,
    "setting": _hedged,
    "alternative": _alternatives,
    "reservation": _reserved,
    "past": list_behind,
    "examination": _seen_then,
    "aim": _set_aside,
    "recommendation": _set_aside,
    "repositioning": _set_aside,
    "condition": _set_aside,
    "relative": _set_aside,
    "limitation": _not_assessed,
}
"""What cues of a category reach, by the units of a sentence and the cue's position."""
