"""What only looks like a finding, and what it really is (method.md section 7, point 6).

"A skin fold simulates a pneumothorax" states a fold, and doubts the pneumothorax.
"""

from __future__ import annotations

from lunguage_assets.assertion.cues import cue_named
from lunguage_assets.assertion.units import (
    LIMITATION,
    TaggedToken,
    first_beyond,
    has_kind,
    kind_at,
)
from lunguage_assets.assertion.vocabulary import Kind, sense_of
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


def mark_mimics(units: list[TaggedToken]) -> None:
    """Doubt what only looks like a finding.

    A verb of likeness ("simulates") is a denial: `negation.py` denies the list behind
    it, and here its subject is named.

    Args:
        units: of the sentence; changed in place.
    """
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.form in WORDS["likeness"] and _is_harmless_before(units, at):
            # "A skin fold that looks like a pneumothorax"
            unit.become(sense_of(cue_named("mimic.looks_like")))
        if unit.kind == "negated" and unit.is_mimicry:
            at = _name_mimic(units, at)
        elif unit.kind == "mimic before":
            target = _technical_target(units, at)
            if target is not None:
                target.negate(unit, "predicate before")
            # The technique is named in the row that it explains.
            unit.become(LIMITATION._replace(cue=unit.cue))
        elif unit.is_cue("hedged.by_technique"):
            target = _technical_target(units, at)
            if target is not None:
                target.leave_open(unit, "predicate before")
        elif unit.kind in _VERBS and _is_harmless_behind(units, at):
            _doubt_what_is_harmless(units, at)
        at += 1


def _is_harmless_before(units: list[TaggedToken], at: int) -> bool:
    """Whether it is something harmless that looks like a finding.

    "A skin fold that looks like a pneumothorax"; but "a nodule that looks like a
    metastasis" is a sign of it.
    """
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


def _name_mimic(units: list[TaggedToken], at: int) -> int:
    """Make "breast tissue" of "breast tissue mimics" what limits the examination.

    A finding that mimics another stays one: "a skin fold simulates a pneumothorax".

    Returns:
        The new position of the cue.
    """
    begin = at
    while begin > 0 and _is_word_of_subject(units[begin - 1]):
        begin -= 1
    subject = units[begin:at]
    is_finding = kind_at(units, begin - 1) == "finding"
    # Of unknown words alone nobody knows what they name.
    is_known = any(
        unit.kind != "other" or unit.form in WORDS["harmless"] for unit in subject
    )
    if is_finding or not is_known:
        return at
    first = subject[0]
    last = subject[-1]
    units[begin:at] = [TaggedToken(LIMITATION, first.form, first.begin, last.end)]
    return begin + 1


def _is_word_of_subject(unit: TaggedToken) -> bool:
    return unit.kind in _SUBJECT_WORDS and not unit.aside


def _technical_target(units: list[TaggedToken], at: int) -> TaggedToken | None:
    """Find what "is due to the projection" is said of: the nearest finding or state."""
    for unit in reversed(units[:at]):
        if unit.aside:
            return None
        if unit.kind in ("finding", "abnormal"):
            # An artifact is there, and is the effect of the technique itself.
            return None if unit.name in WORDS["of_technique"] else unit
        is_of_subject = unit.kind == "break" and unit.form in WORDS["goes_back"]
        if unit.kind not in _BEFORE_TECHNIQUE and not is_of_subject:
            return None
    return None


def _is_harmless_behind(units: list[TaggedToken], at: int) -> bool:
    between = ("word", "place", "other", "anatomy", "hedged")
    behind = first_beyond(units[at + 1 :], between)
    if behind is None or behind.kind != "finding":
        return False
    return behind.name in WORDS["harmless"]


def _doubt_what_is_harmless(units: list[TaggedToken], at: int) -> None:
    """ "The apparent nodule is a nipple shadow": there is none.

    "The nodule is probably a nipple shadow" leaves it open.
    """
    subject = _doubtful_subject(units, at)
    if subject is None:
        return
    verb = units[at]
    sense = sense_of(cue_named("mimic.is_harmless"))
    cue = TaggedToken(sense, verb.form, verb.begin, verb.end)
    # "May be", "is probably"
    is_hedged = has_kind(units[at : at + 2], "hedged")
    if is_hedged:
        subject.leave_open(cue, "subject")
    else:
        subject.negate(cue, "subject")


def _doubtful_subject(units: list[TaggedToken], at: int) -> TaggedToken | None:
    """Find the finding before a verb, unless it is a sign.

    A sign is what is seen, whatever explains it ("the opacity is due to a skin fold"),
    but for an apparent one.
    """
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if unit.kind == "finding":
            if unit.name not in WORDS["seen_signs"]:
                return unit
            words_before = units[max(0, position - 3) : position]
            is_apparent = any(word.form in WORDS["apparent"] for word in words_before)
            return unit if is_apparent else None
        if unit.kind not in _SUBJECT_WORDS and unit.kind != "copula":
            return None
    return None
