"""What is weighed against something else, and how likely it is called."""

from __future__ import annotations

from typing import NamedTuple

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.units import (
    UNKNOWN,
    TaggedToken,
    first_beyond,
    first_kind,
    is_adjective,
    rest_of_clause,
)
from lunguage_assets.assertion.vocabulary import SETTING, LexiconEntry, sense_of
from lunguage_assets.assertion.word_files import WORDS

_TIMES = frozenset({"onset", "no_change", "improved", "worsened"})
"""Columns of words that say since when, or in which course."""
_NEAREST_BREAKS = ("break", "comma", "copula", "with", "and", "finding")


def is_less_favored(units: list[TaggedToken], at: int) -> bool:
    """ "Favors edema over pneumonia": what follows is less likely.

    "Edema over the left base" is a place.
    """
    is_preferred = at > 0 and units[at - 1].form == "preferred"
    is_over = units[at].form == "over" or (units[at].form == "to" and is_preferred)
    if not is_over:
        return False
    favors = any(
        unit.kind == "hedged" and unit.form in WORDS["favored"] for unit in units[:at]
    )
    return favors and first_kind(units[at + 1 :], _NEAREST_BREAKS) == "finding"


def is_compared_in_likelihood(units: list[TaggedToken], at: int) -> bool:
    """ "Edema is suspected more than infection", "likelier than infiltrate".

    "An effusion larger than the other" compares sizes.
    """
    if units[at].form != "than" or not at or units[at - 1].form not in WORDS["more"]:
        return False
    is_left_open = any(unit.kind == "hedged" for unit in units[:at])
    return is_left_open and first_kind(units[at + 1 :], _NEAREST_BREAKS) == "finding"


def is_low_likelihood(units: list[TaggedToken], at: int) -> bool:
    """ "The likelihood of a fracture is low": the predicate tells how likely."""
    is_likelihood = units[at].form in WORDS["likelihoods"]
    return is_likelihood and _low_degree(units, at) is not None


def forget_low_degree(units: list[TaggedToken], at: int) -> None:
    """ "Is considered low" hedges and describes nothing else any more."""
    predicate = _low_degree(units, at)
    if predicate is not None:
        predicate.verb.become(LexiconEntry("copula"))
        predicate.degree.become(UNKNOWN)


class _Predicate(NamedTuple):
    """A verb, and the degree that it ascribes."""

    verb: TaggedToken
    degree: TaggedToken


def _low_degree(units: list[TaggedToken], at: int) -> _Predicate | None:
    """Find "is low" or "is considered very low" behind a likelihood."""
    for position in range(at + 1, len(units) - 1):
        verb = units[position]
        if verb.kind == "break":
            return None
        if verb.kind in ("copula", "hedged before"):
            degree = first_beyond(units[position + 1 :], ("other",))
            is_low = degree is not None and degree.form in WORDS["low_degrees"]
            return _Predicate(verb, degree) if degree is not None and is_low else None
    return None


def is_course_unclear(units: list[TaggedToken], at: int) -> bool:
    """ "It is unclear whether the mass is new": the mass is there."""
    is_unclear = units[at].is_cue("hedged.unclear_whether_there_is")
    return is_unclear and bool(_courses_of_predicate(units, at))


def forget_course(units: list[TaggedToken], at: int) -> None:
    """What is unclear of a course is no course."""
    for unit in _courses_of_predicate(units, at):
        unit.become(UNKNOWN)


def _courses_of_predicate(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Find "new" behind "... whether the mass is": words of time behind the verb."""
    clause = rest_of_clause(units, at)
    verbs = (number for number, unit in enumerate(clause) if unit.kind == "copula")
    verb = next(verbs, None)
    if verb is None or not any(unit.kind == "finding" for unit in clause[:verb]):
        return []
    return [unit for unit in clause[verb + 1 :] if unit.code in _TIMES]


def is_for_of_worry(units: list[TaggedToken], at: int) -> bool:
    """ "Concerning findings for pneumonia" is as open as "concerning for pneumonia"."""
    if units[at].form != "for":
        return False
    for unit in reversed(units[:at]):
        if unit.form in WORDS["worries"] and unit.kind in ("word", "other", "hedged"):
            return True
        if unit.kind not in ("finding", "word", "other", "place", "anatomy"):
            return False
    return False


def is_setting_of_a_hedge(units: list[TaggedToken], at: int) -> bool:
    """ "In the right clinical setting" adds nothing where a hedge stands already."""
    if units[at].name != SETTING:
        return False
    return any(
        unit.kind in ("hedged", "hedged before")
        for unit in units
        if unit is not units[at]
    )


def is_plain_copula(units: list[TaggedToken], at: int) -> bool:
    """ "The lungs appear clear": the verb only joins an adjective to its subject."""
    if units[at].form not in WORDS["appearances"]:
        return False
    predicate = first_beyond(units[at + 1 :], ("word", "place", "other"))
    if predicate is None:
        return False
    if predicate.kind == "normal":
        return True
    is_described = predicate.kind == "abnormal" or is_adjective(predicate)
    subject = first_beyond(reversed(units[:at]), ("word", "other"))
    return is_described and subject is not None and subject.kind in ("anatomy", "place")


def is_range_of_states(units: list[TaggedToken], at: int) -> bool:
    """ "Normal to mildly enlarged": one of the two."""
    if units[at].form != "to" or not at or units[at - 1].kind != "normal":
        return False
    behind = first_beyond(units[at + 1 :], ("word",))
    return behind is not None and behind.kind == "abnormal"


def settle_hedge(units: list[TaggedToken], at: int) -> None:
    """Read a hedge together with the words that belong to it."""
    if at and units[at - 1].form in WORDS["degrees"]:
        units[at - 1].become(UNKNOWN)  # "mildly concerning for": no mild finding
    if units[at].form == "differential":
        _settle_differential(units, at)


def settle_whether(units: list[TaggedToken], at: int) -> None:
    """ "Whether it has cleared is unclear"; "the cause is unclear" opens nothing."""
    for unit in reversed(units[:at]):
        if unit.form == "whether":
            unit.become(UNKNOWN)
            return
    units[at].become(UNKNOWN)


def _settle_differential(units: list[TaggedToken], at: int) -> None:
    """ "The differential for the opacity includes edema": the opacity is there."""
    for position in range(at + 1, len(units)):
        verb = units[position]
        # "The differential for these nodules includes edema"
        if verb.kind == "break" and verb.form not in WORDS["pronouns"]:
            return
        if verb.form in WORDS["include"]:
            if any(unit.kind == "finding" for unit in units[at:position]):
                verb.become(sense_of(cue_named("hedged.differential_includes")))
                verb.begin = units[at].begin
                units[at].become(UNKNOWN)
            return
