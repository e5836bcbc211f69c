"""What is left open: by a hedge, as one of several, and as borderline."""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.assertion.lists import (
    finding_beside,
    list_before,
    list_behind,
)
from lunguage_assets.assertion.units import (
    DEVICE,
    LIMITATION,
    OWN_WORDS,
    UNKNOWN,
    TaggedToken,
    begin_of_clause,
    first_beyond,
    forms_of_own_words,
    has_kind,
    kind_at,
    kind_beyond,
    rest_of_clause,
)

_NO_ALTERNATIVES = ("break", "copula", "negated", "hedged")


def hedged(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what a hedge leaves open: the list behind it, or what it is said of.

    Args:
        units: of the sentence.
        at: position of the hedge.
    """
    hedge = units[at]
    if hedge.reach == "clause":
        return _undecided(units, at)
    if hedge.kind == "hedged before":
        return _hedged_before(units, at)
    if _is_of_attribute(units, at):
        hedge.has_spoken = True
        return []
    behind = [] if _is_glued(units, at) else list_behind(units, at)
    if not behind and hedge.direction == "both":
        return list_before(units, at, is_hedge=True)
    hedge.has_spoken = hedge.has_spoken or bool(behind)
    # "Consistent with known edema": it is there, whatever hedges it.
    return [unit for unit in behind if "known" not in forms_of_own_words(units, unit)]


def _is_glued(units: list[TaggedToken], at: int) -> bool:
    """Whether a sign belongs to what stands before it: "edema?"."""
    is_question = at > 0 and units[at].form == "?"
    return is_question and units[at - 1].end == units[at].begin


def _hedged_before(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    hedge = units[at]
    if hedge.is_cue("hedged.not_well_seen") and _is_of_dim_place(units, at):
        hedge.become(LIMITATION)
        return []
    # "Atelectasis, scarring, or both".
    return list_before(units, at, is_hedge=True, is_or=hedge.form == "or")


def borderline(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List a word between normal and abnormal, and the finding right behind it.

    Args:
        units: of the sentence.
        at: position of the word.
    """
    finding = first_beyond(units[at + 1 :], OWN_WORDS - {"anatomy"})
    reached = [units[at]]
    if finding is not None and finding.kind == "finding":
        reached.append(finding)
    return reached


def _undecided(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what "it is unclear whether" governs, or "whether ... is unclear"."""
    if units[at].direction == "behind":
        clause = rest_of_clause(units, at)
    else:
        whether = next((i for i in range(at) if units[i].form == "whether"), at)
        clause = units[whether + 1 : at]
        if clause:
            units[whether].become(UNKNOWN)
            units[whether].has_spoken = True
    # "The cause is unclear" leaves open no finding.
    units[at].has_spoken = True
    return [unit for unit in clause if unit.kind in ("finding", "abnormal", "normal")]


def _is_of_dim_place(units: list[TaggedToken], at: int) -> bool:
    """Whether "the left base is not well seen" leaves no finding open.

    A tube that is not well seen is there.
    """
    subject = takewhile(
        lambda unit: unit.kind not in ("break", "comma", "and"), reversed(units[:at])
    )
    return all(unit.kind != "finding" or unit.code == DEVICE for unit in subject)


def _is_of_attribute(units: list[TaggedToken], at: int) -> bool:
    """Whether only a place or a course is left open, and the finding is there.

    "Opacity, possibly in the lingula", "the effusion is likely unchanged".
    """
    hedge = units[at]
    if not has_kind(units[begin_of_clause(units, at) : at], "finding"):
        return False
    if kind_at(units, at + 1) == "preposition":
        # "Pneumonia is likely in the left base" leaves open the pneumonia.
        is_predicate = hedge.form == "likely" and kind_at(units, at - 1) == "copula"
        is_of_place = kind_at(units, at + 2) in ("place", "anatomy")
        return is_of_place and not is_predicate
    word = first_beyond(units[at + 1 : at + 4], ("copula", "other"))
    if word is None or word.kind != "word":
        return False
    behind = kind_beyond(units[units.index(word) + 1 :], ("word", "other"))
    return behind in ("", "break", "comma", "preposition")


def alternatives(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List "A or B" of a joint, and "A versus" something unknown.

    Args:
        units: of the sentence.
        at: position of the joint.
    """
    joint = units[at]
    if joint.form == "either":
        return _members_of_either(units, at)
    before = finding_beside(units, at, -1)
    behind = finding_beside(units, at, 1)
    if before is not None and behind is not None:
        return [*list_before(units, at, is_or=True), behind]
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
    """List what stands up to the "or", and the finding behind that."""
    clause = takewhile(lambda unit: unit.kind not in _NO_ALTERNATIVES, units[at + 1 :])
    members: list[TaggedToken] = []
    is_last = False
    for unit in clause:
        if unit.kind == "finding":
            members.append(unit)
            if is_last:
                break
        is_last = is_last or unit.kind == "alternative"
    return members
