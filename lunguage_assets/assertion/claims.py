"""What every cue of a sentence says, and what wins (docs/method/assertion.md).

Which words are cues, where they look, how far they reach and where they end is data
(`resources/assertion/`); what a category does is the table of `categories.py`. How far
lists go is found in `lists.py`. What no cue answers for is no matter of this module
(`unanswered.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile
from typing import NamedTuple

from lunguage_assets.assertion.categories import Category, Meant
from lunguage_assets.assertion.lists import (
    list_before,
    list_behind,
)
from lunguage_assets.assertion.units import (
    LIMITATION,
    OWN_WORDS,
    TaggedToken,
    Units,
    clause_before,
    first_beyond,
    has_kind,
    kind_at,
    kind_beyond,
    own_words,
    rest_of_clause,
)
from lunguage_assets.assertion.vocabulary import UNDECIDED, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_ORDER: Mapping[Meant, int] = {
    "aside": 1,
    "negated": 2,
    "doubted": 2,
    "ended": 2,
    "hedged": 4,
    "past": 5,
}
"""Nothing is denied in what is set aside. A hedge inside a denial changes nothing, and
what an earlier film left open was open then.
"""
_ENDS_ATTRIBUTE = ("", "break", "comma", "preposition")


class Claim(NamedTuple):
    """What a cue says of a unit."""

    says: Meant
    cue: TaggedToken
    target: TaggedToken


def mark_claims(units: Units) -> None:
    """Mark what every cue says of the units that it reaches.

    Args:
        units: of the sentence; changed in place.
    """
    for at, unit in enumerate(units):
        if unit.form in WORDS["appearances"] and _is_plain_copula(units, at):
            unit.become(LexiconEntry("copula"))
    claims = [claim for at in range(len(units)) for claim in _claims(units, at)]
    claims.sort(key=lambda claim: _ORDER[claim.says])
    for claim in claims:
        says, cue, target = claim
        if says not in ("hedged", "doubted") or not target.is_denied:
            target.mark(says, cue)
        elif _doubts_denial(claim):
            target.mark("doubted", cue)


def _is_plain_copula(units: Units, at: int) -> bool:
    """Whether a verb only joins what is said to its subject: "the lungs appear clear".

    "There appears to be an effusion" hedges.
    """
    judgement = kind_beyond(units[at + 1 :], ("word", "place", "other", "copula"))
    subject = kind_beyond(reversed(units[:at]), ("word", "other"))
    is_of_part = subject in ("anatomy", "place") and judgement == "abnormal"
    return is_of_part or judgement in ("", "normal")


def _claims(units: Units, at: int) -> Iterator[Claim]:
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
    if unit.cue.makes:
        for target in _REACHES[unit.cue.category](units, at):
            yield Claim(unit.cue.makes, unit, target)


def _doubts_denial(claim: Claim) -> bool:
    """Whether a hedge or doubt is said of the denial: "likely no effusion"."""
    says, cue, target = claim
    denial = target.edges[0]
    is_hedge = says == "hedged"
    # "Edema or effusion is not seen" denies both; "edema, as opposed to infection, is
    # suspected" is said of the edema.
    is_of_other = cue.is_of("alternative") or denial.cue == "doubted.rather_than"
    if is_hedge and is_of_other:
        return False
    is_behind = cue.begin > target.begin
    is_before_denial = cue.end <= denial.begin
    if "ended" in target.meanings:
        # "Has probably resolved"; "the possible effusion has resolved" has gone.
        doubts = is_behind and (is_before_denial or not is_hedge)
        cue.has_spoken |= doubts or (is_hedge and cue.cue.reach == "next")
    else:
        # "Likely no effusion"; inside a denial a hedge changes nothing: "no possible
        # effusion".
        doubts = is_behind or is_before_denial or not is_hedge
        cue.has_spoken = True
    return doubts and "doubted" not in target.meanings


def _denied(units: Units, at: int) -> Units:
    """List what a denial, a doubt or a likeness is said of."""
    cue = units[at]
    if _is_of_device_end(units, at):
        # "The tip of the tube is not seen": the tube is there.
        cue.has_spoken = True
        cue.become(LIMITATION)
        return []
    return _reached(units, at)


def _reached(units: Units, at: int) -> Units:
    """List what a cue is said of, by the direction of its entry."""
    cue = units[at].cue
    if cue.direction == "before" or units[at].kind == "negated before":
        return list_before(units, at)
    behind = list_behind(units, at)
    if cue.direction == "behind":
        return behind
    # "The effusion has resolved", "lung cancer, now resolved pneumonia"
    is_predicate = kind_beyond(units[at + 1 :], OWN_WORDS) != "finding"
    if _is_answer(units, at) or (cue.makes == "ended" and is_predicate):
        return list_before(units, at) or behind
    # "No" and "unlikely" deny what stands before them as an answer only.
    return behind if cue.denies else behind or list_before(units, at)


def _is_of_device_end(units: Units, at: int) -> bool:
    """Whether only the end of a device is not seen: "tip not seen"."""
    clause = clause_before(units, at)
    if units[at].kind == "negated":
        clause = units[at + 1 : at + 2]
    return any(unit.is_of("device_part") for unit in clause)


def _is_answer(units: Units, at: int) -> bool:
    """Whether a cue is said of what stands before it: "Effusion: no", "edema?"."""
    if units[at].form == "?" and units[at - 1].end == units[at].begin:
        return True
    following = kind_at(units, at + 1)
    # "Effusion: no, edema: mild": a colon is read as a verb, a dash as a comma.
    before = units[at - 1]
    is_told = before.kind in ("finding", "copula", "comma") and before.form != ","
    return following in ("", "break") or (is_told and following == "comma")


def _hedged(units: Units, at: int) -> Units:
    """List what a hedge leaves open: the list behind it, or what it is said of."""
    if _is_of_attribute(units, at):
        units[at].has_spoken = True
        return []
    return _reached(units, at)


def _is_of_attribute(units: Units, at: int) -> bool:
    """Whether only a place, a course or a cause is left open, and the finding is there.

    "Opacity, possibly in the lingula", "the effusion is likely unchanged".
    """
    is_said_before = units[at].cue.direction == "before"
    if is_said_before or not has_kind(clause_before(units, at), "finding"):
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
    is_end = kind_at(units, at + 1 + len(words)) in _ENDS_ATTRIBUTE
    return is_end and has_kind(words, "word")


def _alternatives(units: Units, at: int) -> Units:
    """List "A or B" of a joint, and "A or" something unknown."""
    if units[at].form == "either":
        return list_behind(units, at)
    before = list_before(units, at)
    behind = [it for it in rest_of_clause(units, at) if it.kind == "finding"]
    if not behind:
        # "Edema versus overlap": what is in no word list may be it, too.
        return before[:1]
    return [*before, behind[0]]


def _set_aside(units: Units, at: int) -> Units:
    """List what advice, an aim, a condition or a relative is about, itself first."""
    cue = units[at]
    reached = [cue]
    for unit in units[at + 1 :]:
        # "It is recommended that a CT be done", "if this were pneumonia" go on.
        goes_on = cue.is_of("condition") or unit.form == "that"
        is_end = unit.kind == "break" and not goes_on
        # "If fever persists, there is still an effusion" ends at its comma.
        is_begun_with = at == 0 and unit.kind == "comma"
        if is_end or is_begun_with or unit.form in cue.cue.ends_at:
            break
        if unit.code not in cue.cue.rule.spares:
            reached.append(unit)
    names_none = not has_kind(reached, "finding")
    if cue.is_of("condition") and names_none and has_kind(units[:at], "finding"):
        # "Aspiration if the history fits": it is left open.
        return []
    return reached


def _not_assessed(units: Units, at: int) -> Units:
    """List the findings that cannot be assessed; what is known to be there is not.

    "The extent of the effusion cannot be assessed" knows of the effusion.
    """
    units[at].has_spoken = True
    reached: Units = []
    for finding in _reached(units, at):
        # "Evaluation of the effusion is limited"
        if not any(word.is_definite for word in own_words(units, finding)):
            reached.append(finding)
    return reached


def _seen_then(units: Units, at: int) -> Units:
    """List what an earlier examination showed: "was seen on the prior film"."""
    before = clause_before(units, at)
    behind = rest_of_clause(units, at)
    clause = [*before, *behind]
    # "There was an effusion on the prior film": the break before it counts, too.
    begins = units[: at - len(before)][-1:]
    is_past = any(unit.code == "then" for unit in begins + clause)
    if is_past or any(unit.form in WORDS["told"] for unit in behind):
        return clause
    return []


_REACHES: Mapping[Category, Callable[[Units, int], Units]] = {
    "negated": _denied,
    "doubted": _denied,
    "mimic": _denied,
    "ended": _reached,
    "hedged": _hedged,
    "setting": _hedged,
    "alternative": _alternatives,
    # What is denied before it
    "reservation": lambda units, at: units[:at],
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
