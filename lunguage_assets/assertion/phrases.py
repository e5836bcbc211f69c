"""Which words of a phrase are denied: "chronic, without tension" states no tension.

What belongs here: phrases without a finding, such as the cells of a row. In them every
word counts that is no cue, and what a spelling as a whole means does not.
"""

from __future__ import annotations

from typing import NamedTuple

from lunguage_assets.assertion.compositions import compose
from lunguage_assets.assertion.tagging import tag
from lunguage_assets.assertion.units import TaggedToken, kind_at
from lunguage_assets.assertion.vocabulary import vocabulary_of_cues
from lunguage_assets.assertion.word_files import WORDS

_DENIALS = frozenset({"negated", "negated before", "ended"})


class Segment(NamedTuple):
    """Words of a phrase that are denied, or are not.

    Attributes:
        text: as written.
        is_denied: whether a cue denies them, or says that they are no more.
    """

    text: str
    is_denied: bool


def split_by_denial(phrase: str) -> tuple[Segment, ...]:
    """Split a phrase into what it states and what it denies, without the cues.

    Args:
        phrase: "large but not loculated".

    Returns:
        In the order of the phrase: "large but" is stated, "loculated" is denied.
    """
    units = tag(phrase, vocabulary_of_cues(), "find")
    if not any(unit.kind in _DENIALS for unit in units):
        return (Segment(phrase, is_denied=False),)
    compose(units)
    segments: list[Segment] = []
    begin = 0
    denial: TaggedToken | None = None
    for at, unit in enumerate(units):
        if unit.kind in _DENIALS:
            looks_back = _looks_back(units, at)
            is_denied = looks_back or denial is not None
            segments.append(Segment(phrase[begin : unit.begin].strip(), is_denied))
            begin = unit.end
            denial = None if looks_back else unit
        elif denial is not None and _ends_denial(unit, denial):
            # "Non-loculated collection": a prefix denies its own word.
            is_prefix = denial.form in WORDS["denying_prefixes"]
            end = unit.end if is_prefix else unit.begin
            segments.append(Segment(phrase[begin:end].strip(), is_denied=True))
            begin = end
            denial = None
    segments.append(Segment(phrase[begin:].strip(), denial is not None))
    return tuple(segment for segment in segments if segment.text)


def _looks_back(units: list[TaggedToken], at: int) -> bool:
    """Whether a cue denies what stands before it: "tension not seen"."""
    # "Loculation: none": nothing stands behind the cue.
    is_last = at > 0 and kind_at(units, at + 1) in ("", "break")
    is_both = units[at].direction == "both"
    return units[at].kind == "negated before" or (is_last and is_both)


def _ends_denial(unit: TaggedToken, denial: TaggedToken) -> bool:
    """Whether a denial ends at a word: "not acute but chronic", "not acute and ..."."""
    is_turn = unit.kind == "break" or unit.form in WORDS["turns_back"]
    is_joint = unit.kind == "and" and denial.reaches_next
    return is_turn or is_joint or denial.form in WORDS["denying_prefixes"]
