"""Which words of a phrase are denied: "chronic, without tension" states no tension.

What belongs here: phrases without a finding, such as the cells of a row. In them every
word counts that is no cue, and what a spelling as a whole means does not.
"""

from __future__ import annotations

from typing import NamedTuple

from lunguage_assets.assertion.scope import unite_with_ends
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
    unite_with_ends(units)
    splitter = _Splitter(phrase)
    for at, unit in enumerate(units):
        if unit.kind not in _DENIALS:
            splitter.pass_over(unit)
        elif _looks_back(units, at):
            splitter.deny_before(unit)
        else:
            splitter.deny_behind(unit)
    return splitter.finished()


def _looks_back(units: list[TaggedToken], at: int) -> bool:
    """Whether a cue denies what stands before it: "tension not seen"."""
    if units[at].kind == "negated before":
        return True
    # "Loculation: none": nothing stands behind the cue.
    is_last = kind_at(units, at + 1) in ("", "break")
    cue = units[at].cue
    return at > 0 and is_last and cue is not None and cue.direction == "both"


class _Splitter:
    """The segments of a phrase so far, and whether the words to come are denied."""

    def __init__(self, phrase: str) -> None:
        self._phrase = phrase
        self._segments: list[Segment] = []
        self._begin = 0
        self._denial: TaggedToken | None = None

    def pass_over(self, unit: TaggedToken) -> None:
        """Go on behind a word that is no denial, and may end one."""
        if self._denial is None:
            return
        if self._denial.form in WORDS["denying_prefixes"]:
            # "Non-loculated collection": a prefix denies its own word.
            self._close(unit.end)
            return
        # "Not acute but chronic", "not loculated, now loculated"
        turns_back = unit.kind == "break" or unit.form in WORDS["turns_back"]
        # "Not acute and chronic"
        is_joint_behind_next = unit.kind == "and" and self._denial.reaches_next
        if turns_back or is_joint_behind_next:
            self._close(unit.begin)

    def deny_behind(self, cue: TaggedToken) -> None:
        """Deny the words behind a cue."""
        self._close(cue.begin)
        self._begin = cue.end
        self._denial = cue

    def deny_before(self, cue: TaggedToken) -> None:
        """Deny the words between the denial or break before a cue and the cue."""
        self._denial = cue
        self._close(cue.begin)
        self._begin = cue.end

    def finished(self) -> tuple[Segment, ...]:
        """Give all segments that have words."""
        self._close(len(self._phrase))
        return tuple(self._segments)

    def _close(self, end: int) -> None:
        text = self._phrase[self._begin : end].strip()
        if text:
            self._segments.append(Segment(text, self._denial is not None))
        self._begin = end
        self._denial = None
