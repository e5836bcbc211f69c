"""Which words of a phrase are denied: "chronic, without tension" states no tension.

What belongs here: phrases without a finding, such as the cells of a row. In them every
word counts that is no cue, and what a spelling as a whole means does not.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from lunguage_assets.assertion.claims import mark_claims
from lunguage_assets.assertion.tagging import tag
from lunguage_assets.assertion.units import TaggedToken, Units
from lunguage_assets.assertion.vocabulary import LexiconEntry, vocabulary_of_cues
from lunguage_assets.assertion.word_files import WORDS


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
        In the order of the phrase: "large" is stated, "loculated" is denied.
    """
    units = tag(phrase, vocabulary_of_cues(), "find")
    if not any(unit.cue.denies or unit.kind == "ended" for unit in units):
        return (Segment(phrase, is_denied=False),)
    read: Units = []
    for unit in units:
        if unit.kind == "other":
            unit.become(LexiconEntry("finding", unit.form))
        read.append(unit)
        if len(read) > 1 and read[-2].form in WORDS["denying_prefixes"]:
            # "Non-loculated collection": a prefix denies its own word.
            read.append(TaggedToken(LexiconEntry("break"), "", unit.end, unit.end))
    mark_claims(read)
    words = [unit for unit in read if unit.kind == "finding"]
    segments: list[Segment] = []
    for is_denied, neighbours in groupby(words, lambda word: word.is_denied):
        segment = list(neighbours)
        text = phrase[segment[0].begin : segment[-1].end]
        segments.append(Segment(text, is_denied))
    return tuple(segments)
