"""What is weighed against something else, and how likely it is called.

The table in `settle.py` says which kinds of units each rule of this module is asked of.
"""

from __future__ import annotations

from typing import NamedTuple

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.units import (
    UNKNOWN,
    TaggedToken,
    first_beyond,
    first_kind,
    form_at,
    has_kind,
    is_adjective,
    kind_at,
    kind_beyond,
    rest_of_clause,
)
from lunguage_assets.assertion.vocabulary import SETTING, LexiconEntry, sense_of
from lunguage_assets.assertion.word_files import WORDS

_TIMES = frozenset({"onset", "no_change", "improved", "worsened"})
"""Columns of words that say since when, or in which course."""
_NEAREST_BREAKS = ("break", "comma", "copula", "with", "and", "finding")


def is_less_favored(units: list[TaggedToken], at: int) -> bool:
    """Whether what follows is less likely: "favors edema over pneumonia".

    "Favors edema over the left base" tells a place: no finding follows.
    """
    if units[at].form == "to":
        # "Edema is preferred to pneumonia"
        if form_at(units, at - 1) != "preferred":
            return False
    elif units[at].form != "over":
        return False
    hedges_before = [unit for unit in units[:at] if unit.kind == "hedged"]
    is_favored = any(hedge.form in WORDS["favored"] for hedge in hedges_before)
    following = first_kind(units[at + 1 :], _NEAREST_BREAKS)
    return is_favored and following == "finding"


def is_compared_in_likelihood(units: list[TaggedToken], at: int) -> bool:
    """Whether "than" is said of likelihood: "edema is suspected more than infection".

    "An effusion larger than the other" compares sizes.
    """
    if units[at].form != "than":
        return False
    if form_at(units, at - 1) not in WORDS["more"]:
        return False
    is_left_open = has_kind(units[:at], "hedged")
    following = first_kind(units[at + 1 :], _NEAREST_BREAKS)
    return is_left_open and following == "finding"


def is_low_likelihood(units: list[TaggedToken], at: int) -> bool:
    """Whether a predicate tells how likely: "the likelihood of a fracture is low"."""
    is_likelihood = units[at].form in WORDS["likelihoods"]
    return is_likelihood and _low_degree(units, at) is not None


def forget_low_degree(units: list[TaggedToken], at: int) -> None:
    """Let "is considered low", which has been read, hedge and describe nothing else."""
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
        if verb.kind not in ("copula", "hedged before"):
            continue
        degree = first_beyond(units[position + 1 :], ("other",))
        if degree is None or degree.form not in WORDS["low_degrees"]:
            return None
        return _Predicate(verb, degree)
    return None


def is_course_unclear(units: list[TaggedToken], at: int) -> bool:
    """Whether only a course is open: "unclear whether the mass is new" has a mass."""
    is_unclear = units[at].is_cue("hedged.unclear_whether_there_is")
    return is_unclear and bool(_courses_of_predicate(units, at))


def forget_course(units: list[TaggedToken], at: int) -> None:
    """Let a course that is unclear be none."""
    for unit in _courses_of_predicate(units, at):
        unit.become(UNKNOWN)


def _courses_of_predicate(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Find "new" behind "... whether the mass is": words of time behind the verb."""
    is_finding_named = False
    clause = rest_of_clause(units, at)
    for position, unit in enumerate(clause):
        if unit.kind == "finding":
            is_finding_named = True
        elif unit.kind == "copula":
            predicate = clause[position + 1 :] if is_finding_named else []
            return [word for word in predicate if word.code in _TIMES]
    return []


def is_for_of_worry(units: list[TaggedToken], at: int) -> bool:
    """Whether a "for" goes back to a worry: "concerning findings for pneumonia".

    That is as open as "concerning for pneumonia".
    """
    if units[at].form != "for":
        return False
    for unit in reversed(units[:at]):
        if unit.form in WORDS["worries"] and unit.kind in ("word", "other", "hedged"):
            return True
        if unit.kind not in ("finding", "word", "other", "place", "anatomy"):
            return False
    return False


def is_setting_of_a_hedge(units: list[TaggedToken], at: int) -> bool:
    """Whether a setting adds nothing, because a hedge stands already.

    "Possible pneumonia in the right clinical setting".
    """
    if units[at].name != SETTING:
        return False
    elsewhere = units[:at] + units[at + 1 :]
    return has_kind(elsewhere, "hedged", "hedged before")


def is_plain_copula(units: list[TaggedToken], at: int) -> bool:
    """Whether a verb only joins an adjective to its subject: "the lungs appear clear".

    "There appears to be an effusion" hedges.
    """
    if units[at].form not in WORDS["appearances"]:
        return False
    predicate = first_beyond(units[at + 1 :], ("word", "place", "other"))
    if predicate is None:
        return False
    if predicate.kind == "normal":
        return True
    if predicate.kind != "abnormal" and not is_adjective(predicate):
        return False
    subject = kind_beyond(reversed(units[:at]), ("word", "other"))
    return subject in ("anatomy", "place")


def is_range_of_states(units: list[TaggedToken], at: int) -> bool:
    """Whether a "to" leaves open which of two states it is.

    "Normal to mildly enlarged".
    """
    if units[at].form != "to" or kind_at(units, at - 1) != "normal":
        return False
    return kind_beyond(units[at + 1 :], ("word",)) == "abnormal"


def settle_hedge(units: list[TaggedToken], at: int) -> None:
    """Read a hedge together with the words that belong to it."""
    if form_at(units, at - 1) in WORDS["degrees"]:
        # "Mildly concerning for pneumonia": no mild pneumonia.
        units[at - 1].become(UNKNOWN)
    if units[at].form == "differential":
        _settle_differential(units, at)


def settle_whether(units: list[TaggedToken], at: int) -> None:
    """Let "is unclear" open what "whether" leads to, and nothing without it.

    "Whether it has cleared is unclear"; "the cause is unclear" leaves open no finding.
    """
    for unit in reversed(units[:at]):
        if unit.form == "whether":
            unit.become(UNKNOWN)
            return
    units[at].become(UNKNOWN)


def _settle_differential(units: list[TaggedToken], at: int) -> None:
    """Leave open what a differential includes, and not what it is of.

    "The differential for the opacity includes edema": the opacity is there.
    """
    for position in range(at + 1, len(units)):
        verb = units[position]
        # "The differential for these nodules includes edema": "these" begins no clause.
        if verb.kind == "break" and verb.form not in WORDS["pronouns"]:
            return
        if verb.form not in WORDS["include"]:
            continue
        is_of_finding = has_kind(units[at:position], "finding")
        if is_of_finding:
            verb.become(sense_of(cue_named("hedged.differential_includes")))
            verb.begin = units[at].begin
            units[at].become(UNKNOWN)
        return
