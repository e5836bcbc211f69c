"""What is not said of the patient now: advice, aims, conditions, other times."""

from __future__ import annotations

from lunguage_assets.assertion.lists import NEAR, list_before, list_behind
from lunguage_assets.assertion.units import (
    DEFINITE,
    TaggedToken,
    begin_of_clause,
    first_kind,
    forms_of_own_words,
    has_kind,
    kind_at,
    rest_of_clause,
)
from lunguage_assets.assertion.word_files import WORDS


def is_set_aside(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what advice, an aim, a condition or a relative is about, itself first.

    Args:
        units: of the sentence.
        at: position of the cue.
    """
    cue = units[at]
    is_clause = cue.reach == "clause"
    opens_sentence = cue.kind == "condition" and kind_at(units, at - 1) in ("", "break")
    reached = [cue]
    for unit in units[at + 1 :]:
        # "It is recommended that a CT be done" goes on at "that".
        is_end = unit.kind == "break" and unit.form != "that"
        # "If fever persists, there is still an effusion" ends at its comma.
        is_end = is_end or (opens_sentence and unit.kind == "comma")
        if cue.stops_at(unit) or (is_clause and is_end):
            break
        if unit.kind != "finding" or unit.code not in cue.rule.spares:
            reached.append(unit)
    return reached


def is_not_assessed(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List the findings that cannot be assessed; what is known to be there is not.

    "The extent of the effusion cannot be assessed" knows of the effusion.

    Args:
        units: of the sentence.
        at: position of the cue.
    """
    units[at].has_spoken = True
    if units[at].kind == "limitation before":
        clause = units[begin_of_clause(units, at) : at]
        reached = list_before(units, at, is_hedge=True)
        # "A right effusion, and the left base cannot be assessed" is of the base.
        nearest = first_kind(reversed(clause), ("finding", "comma", "anatomy"))
        if nearest == "comma" or (
            nearest == "anatomy" and not has_kind(clause, "preposition")
        ):
            reached = []
    else:
        reached = list_behind(units, at)
    # "Evaluation of the left effusion" knows of it, too.
    return [
        unit
        for unit in reached
        if forms_of_own_words(units, unit).isdisjoint({DEFINITE, "known"})
    ]


def reserved(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what a reservation is about: what is denied before it.

    Args:
        units: of the sentence.
        at: position of the reservation.
    """
    return [unit for unit in units[:at] if unit.kind == "finding"]


def is_past(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what "history of" is said of.

    Args:
        units: of the sentence.
        at: position of the cue.
    """
    return list_behind(units, at)


def is_seen_then(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what an earlier examination showed: "was seen on the prior film".

    Args:
        units: of the sentence.
        at: position of the examination.
    """
    examination = units[at]
    examination.has_spoken = True
    begin = begin_of_clause(units, at)
    clause = [*units[begin:at], examination, *rest_of_clause(units, at)]
    is_told = begin > 0 and units[begin - 1].code == "there was"
    verb = _verb_of_examination(units, at)
    if verb is not None and verb not in clause:
        # "The prior film, which showed"
        clause = rest_of_clause(units, units.index(verb))
    is_told = is_told or verb is not None
    is_then = any(
        unit.kind == "copula" and unit.form in WORDS["then"] for unit in clause
    )
    if not is_told and not is_then:
        return []
    return [unit for unit in clause if unit.kind in ("finding", "anatomy")]


def _verb_of_examination(units: list[TaggedToken], at: int) -> TaggedToken | None:
    """Find "showed" of "the CT of May showed", "the prior film, which showed"."""
    for unit in units[at + 1 : at + 2 * NEAR]:
        # "The prior film did not show an effusion"
        if unit.form in WORDS["told"]:
            return unit
        if unit.kind in ("finding", "negated"):
            return None
    return None
