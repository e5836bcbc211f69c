"""What only looks like a finding, and what it really is."""

from __future__ import annotations

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.units import (
    LIMITATION,
    Unit,
    first_beyond,
)
from lunguage_assets.assertion.vocabulary import Kind, Sense, sense_of
from lunguage_assets.assertion.word_files import WORDS

_SUBJECT_WORDS: frozenset[Kind] = frozenset(
    {"other", "word", "place", "anatomy", "preposition", "abnormal", "examined"}
)
_VERBS: frozenset[Kind] = frozenset({"copula", "link", "hedged"})
"""What may call a finding harmless: "the nodule is, represents, may be a nipple"."""
_BEFORE_TECHNIQUE: frozenset[Kind] = frozenset(
    {
        "other", "word", "place", "anatomy", "preposition", "copula", "seen", "hedged",
        "comma",
    }
)  # fmt: skip
"""What stands between a finding and "is due to the projection"."""


def mark_mimics(units: list[Unit]) -> None:
    """Doubt what only looks like a finding; what a verb of likeness denies is a list.

    Args:
        units: of the sentence; changed in place.
    """
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.form in WORDS["likeness"] and _is_harmless_before(units, at):
            unit.become(sense_of(cue_named("mimic.looks_like")))
        if unit.kind == "negated" and unit.is_mimicry:
            at = _name_mimic(units, at)
        elif unit.kind == "mimic before":
            for target in _technical_targets(units, at):
                target.negate(unit, "predicate before")
            # The technique is named in the row that it explains.
            unit.become(Sense(LIMITATION.kind, code=LIMITATION.code, cue=unit.cue))
        elif _is_hedge_by_technique(unit):
            for target in _technical_targets(units, at):
                target.leave_open(unit, "predicate before")
        elif unit.kind in _VERBS and _is_harmless_behind(units, at):
            _doubt_what_is_harmless(units, at)
        at += 1


def _is_hedge_by_technique(unit: Unit) -> bool:
    return unit.cue is not None and unit.cue.id == "hedged.by_technique"


def _is_harmless_before(units: list[Unit], at: int) -> bool:
    """ "A skin fold that looks like a pneumothorax", but "a nodule that looks like"."""
    if units[at].kind != "hedged":
        return False
    for unit in reversed(units[:at]):
        if unit.kind == "finding":
            return unit.name in WORDS["harmless"]
        if unit.form in WORDS["harmless"] or unit.name in WORDS["harmless"]:
            return True
        if unit.kind == "break" and unit.form not in ("that", "which"):
            return False
    return False


def _name_mimic(units: list[Unit], at: int) -> int:
    """Make "breast tissue" of "breast tissue mimics" what limits the examination.

    A finding that mimics another stays one: "a skin fold simulates a pneumothorax".

    Returns:
        The new position of the cue.
    """
    begin = at
    while (
        begin and units[begin - 1].kind in _SUBJECT_WORDS and not units[begin - 1].aside
    ):
        begin -= 1
    if begin and units[begin - 1].kind == "finding":
        return at
    if not any(
        unit.kind != "other" or unit.form in WORDS["harmless"]
        for unit in units[begin:at]
    ):
        return at
    first = units[begin]
    units[begin:at] = [Unit(LIMITATION, first.form, first.begin, units[at - 1].end)]
    return begin + 1


def _technical_targets(units: list[Unit], at: int) -> list[Unit]:
    """Find what "is due to the projection" is said of: the nearest finding or state."""
    for unit in reversed(units[:at]):
        if unit.aside:
            return []
        if unit.kind in ("finding", "abnormal"):
            return [] if unit.name in WORDS["of_technique"] else [unit]
        is_of_subject = unit.kind == "break" and unit.form in WORDS["goes_back"]
        if unit.kind not in _BEFORE_TECHNIQUE and not is_of_subject:
            return []
    return []


def _is_harmless_behind(units: list[Unit], at: int) -> bool:
    between = ("word", "place", "other", "anatomy", "hedged")
    behind = first_beyond(units[at + 1 :], between)
    is_finding = behind is not None and behind.kind == "finding"
    return is_finding and behind is not None and behind.name in WORDS["harmless"]


def _doubt_what_is_harmless(units: list[Unit], at: int) -> None:
    """ "The apparent nodule is a nipple shadow": there is none.

    "The nodule is probably a nipple shadow" leaves it open. A sign is what is seen,
    whatever explains it: "the opacity is due to a skin fold".
    """
    verb = units[at]
    is_left_open = any(unit.kind == "hedged" for unit in units[at : at + 2])
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if unit.kind == "finding":
            words_before = units[max(0, position - 3) : position]
            is_apparent = any(word.form in WORDS["apparent"] for word in words_before)
            if is_apparent or unit.name not in WORDS["seen_signs"]:
                cue = sense_of(cue_named("mimic.is_harmless"))
                by = Unit(cue, verb.form, verb.begin, verb.end)
                if is_left_open:
                    unit.leave_open(by, "subject")
                else:
                    unit.negate(by, "subject")
            return
        if unit.kind not in _SUBJECT_WORDS and unit.kind != "copula":
            return
