"""What an examination can't show, and what it may have missed.

What cannot be assessed is neither there nor absent (method.md section 7, point 8): "a
pneumothorax cannot be assessed" is no denial.
"""

from __future__ import annotations

from lunguage_assets.assertion.reach import (
    OWN_WORDS,
    list_before,
    list_behind,
    own_words_before,
)
from lunguage_assets.assertion.units import LIMITATION, TaggedToken, has_kind, kind_at
from lunguage_assets.assertion.vocabulary import Kind
from lunguage_assets.assertion.word_files import WORDS

NOT_ASSESSED = "not assessed"
"""Why a finding that can't be assessed is neither there nor absent."""
_BEFORE: frozenset[Kind] = OWN_WORDS | {"copula", "seen"}
"""What stands between a finding and "cannot be assessed"."""


def mark_limitations(units: list[TaggedToken]) -> None:
    """Set aside what can't be assessed; the words that say so limit the examination.

    Args:
        units: of the sentence; changed in place.
    """
    for at, unit in enumerate(units):
        if unit.kind == "limitation before":
            reached = _not_assessed_before(units, at)
        elif unit.kind == "limitation":
            behind = list_behind(units, at)
            reached = [target for target in behind if not _is_known(units, target)]
        else:
            continue
        for finding in reached:
            finding.set_aside(NOT_ASSESSED, unit)
        unit.become(LIMITATION._replace(cue=unit.cue))


def _not_assessed_before(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Find what "cannot be assessed" is said of, where that is a finding."""
    begin = at
    while begin > 0 and units[begin - 1].kind in _BEFORE:
        begin -= 1
    before = units[begin:at]
    # "Scarring, stability not assessable": the scarring is there.
    if any(unit.form in WORDS["properties"] for unit in before):
        return []
    # "A right effusion, and the left base cannot be assessed" is of the base.
    is_of_finding = kind_at(units, begin - 1) in ("preposition", "finding")
    has_place = has_kind(before, "place", "anatomy")
    if has_place and not is_of_finding:
        return []
    reached = list_before(units, at, of_hedge=True)
    if reached and _is_property_named(units, reached[-1]):
        return []
    return reached


def _is_property_named(units: list[TaggedToken], finding: TaggedToken) -> bool:
    """Whether only a property is spoken of: "the extent of the effusion".

    That it cannot be assessed says that the effusion is there.
    """
    at = units.index(finding)
    for unit in reversed(units[:at]):
        if unit.form in WORDS["properties"]:
            return True
        if unit.kind not in OWN_WORDS and unit.kind != "preposition":
            return False
    return False


def _is_known(units: list[TaggedToken], finding: TaggedToken) -> bool:
    """Whether a finding is spoken of as known: "evaluation of the left effusion"."""
    if finding.is_definite or _is_property_named(units, finding):
        return True
    own_words = own_words_before(units, finding)
    return any(unit.is_definite or unit.form == "known" for unit in own_words)


def mark_reservations(units: list[TaggedToken]) -> None:
    """Make a denial with a reservation doubtful: "a small one may be missed".

    Args:
        units: of the sentence; changed in place.
    """
    denied: list[TaggedToken] = []
    pending: TaggedToken | None = None
    for unit in units:
        if unit.kind == "reservation":
            for finding in denied:
                finding.doubt_denial(unit, "denial before")
            pending = None if denied else unit
        elif unit.kind == "negated":
            # "No effusion, no pneumothorax within the limits of ...": of the second.
            denied = []
        elif unit.kind == "finding" and unit.negation:
            if pending is not None:
                # "Within the limits of this film there is no pneumothorax"
                unit.doubt_denial(pending, "denial before")
            denied.append(unit)
        elif unit.kind == "finding" and not unit.aside:
            denied = []
