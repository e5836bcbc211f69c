"""Cues that change each other: "has not resolved" is there."""

from __future__ import annotations

from collections.abc import Mapping

from lunguage_assets.assertion.categories import Category, Kind
from lunguage_assets.assertion.units import (
    UNKNOWN,
    TaggedToken,
    begin_of_clause,
    first_beyond,
)
from lunguage_assets.assertion.vocabulary import LexiconEntry, entry_of
from lunguage_assets.assertion.word_files import WORDS

_IMPROVED = LexiconEntry("word", code="improved")
_END_WITH: Mapping[Category, LexiconEntry] = {
    # "Has nearly resolved"
    "partial": _IMPROVED,
    # "Has not resolved"
    "negated": LexiconEntry("word", code="no_change"),
}
"""What an end is together with the cue in front of it; a row quotes both as a whole."""
_END_WITH_BEHIND: Mapping[Kind, LexiconEntry] = {
    # "Resolution of the edema is incomplete", "... cannot be confirmed"
    "partial before": _IMPROVED,
    "hedged before": UNKNOWN,
}
"""The same with the cue behind it."""
_NEAR = 4


def compose(units: list[TaggedToken]) -> None:
    """Read cues together with the cue beside them that undoes or weakens them.

    Args:
        units: of the sentence; changed in place.
    """
    for at, unit in enumerate(units):
        if unit.kind == "ended" or unit.code == _IMPROVED.code:
            near = reversed(units[max(0, at - _NEAR) : at])
            _change_end(unit, first_beyond(near, ("copula", "other")))
        elif unit.kind in _END_WITH_BEHIND:
            _change_end_before(units, at)
        elif unit.kind == "hedged" and unit.form in WORDS["beliefs"] and at > 0:
            _doubt_belief(unit, units[at - 1])


def _change_end(end: TaggedToken, modifier: TaggedToken | None) -> None:
    """Make one unit of an end and the denial or "nearly" that is said of it."""
    if modifier is None or modifier.cue is None:
        return
    if modifier.kind == "negated" and modifier.doubts:
        # "Not definitely resolved": what the doubt is about is open.
        end.become(UNKNOWN)
    elif modifier.cue.category in _END_WITH:
        end.become(_END_WITH[modifier.cue.category])
        end.begin = modifier.begin
        end.form = modifier.form
        modifier.become(UNKNOWN)
        modifier.has_spoken = True


def _change_end_before(units: list[TaggedToken], at: int) -> None:
    """ "Resolution of the edema is incomplete", "whether it has cleared is unclear"."""
    modifier = units[at]
    for unit in units[begin_of_clause(units, at) : at]:
        is_end = unit.kind == "ended" and unit.direction == "behind"
        if is_end or unit.form == "whether":
            unit.become(_END_WITH_BEHIND[modifier.kind])
            unit.has_spoken = modifier.has_spoken = True


def _doubt_belief(belief: TaggedToken, denial: TaggedToken) -> None:
    """ "Not suspicious for cancer" leaves a doubt, "not consistent with" none."""
    if denial.cue is not None and denial.kind == "negated" and denial.reaches_next:
        doubt = denial.cue.model_copy(update={"category": "doubted"})
        denial.become(entry_of(doubt))
        belief.has_spoken = True
