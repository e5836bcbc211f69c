"""Nouns that belong to words beside them: shared, blacked out, or naming an axis."""

from __future__ import annotations

import re

from lunguage_assets.assertion.axes import axes_of, names_axis
from lunguage_assets.assertion.lists import NEAR
from lunguage_assets.assertion.units import (
    DEVICE,
    JOINTS,
    LIMITATION,
    TaggedToken,
    first_beyond,
    kind_at,
    kind_beyond,
)
from lunguage_assets.assertion.vocabulary import LexiconEntry, Vocabulary
from lunguage_assets.assertion.word_files import WORDS

_GAP = re.compile("x{3,}|_+")
"""What de-identification leaves of a word."""


def read_noun_phrases(
    units: list[TaggedToken], text: str, vocabulary: Vocabulary
) -> None:
    """Give units the meaning that the nouns beside them give.

    Args:
        units: of the sentence; changed in place.
        text: of the sentence.
        vocabulary: to ask whether two words together are a spelling.
    """
    is_device_named = False
    for at, unit in enumerate(units):
        is_device_named = is_device_named or unit.code == DEVICE
        if unit.kind in JOINTS and at > 0:
            _share_noun(units, at, text, vocabulary)
        elif unit.form == "calcified" and _is_gap_behind(units, at):
            unit.become(LexiconEntry("finding", "calcification", "PF"))
        elif unit.kind in ("normal", "abnormal"):
            _join_axis(units, at, text)
        elif unit.code == LIMITATION.code and _is_cause(units, at):
            unit.become(LexiconEntry("finding", "artifact", "PF"))
        elif is_device_named and _leads_to_place(units, at):
            unit.become(LexiconEntry("preposition"))


def _is_cause(units: list[TaggedToken], at: int) -> bool:
    """Whether what lies over it is the cause: "due to overlying soft tissues"."""
    is_overlap = units[at].form in WORDS["overlap"]
    return is_overlap and kind_beyond(reversed(units[:at]), ("other",)) == "link"


def _leads_to_place(units: list[TaggedToken], at: int) -> bool:
    """Whether the end of a device leads to its place as "in" would: "tip mid SVC"."""
    is_place_next = kind_at(units, at + 1) == "place"
    return is_place_next and units[at].is_of("device_part")


def _share_noun(
    units: list[TaggedToken], at: int, text: str, vocabulary: Vocabulary
) -> None:
    """Read the first of two places as a finding, where it is one with the noun.

    "Pleural or pericardial effusion" names two findings, "hilar or mediastinal
    adenopathy" one, at two places.

    Args:
        units: of the sentence; changed in place.
        at: position of the joint.
        text: of the sentence.
        vocabulary: to ask whether the place and the noun are a spelling.
    """
    before = units[at - 1]
    named = first_beyond(units[at + 1 : at + NEAR], {*JOINTS, "place"})
    # A break may have no words.
    if named is None or named.kind == "break":
        return
    if before.kind not in ("place", "anatomy"):
        return
    noun = text[named.begin : named.end].split()[-1]
    tokens = vocabulary.tokens(f"{text[before.begin : before.end]} {noun}")
    sense, end = vocabulary.match(tokens, 0)
    # "Left effusion" is no spelling: the place stays one.
    if sense is None or end < len(tokens) or sense.kind != named.kind:
        return
    if sense.name != named.name and sense.kind != before.kind:
        before.become(sense)


def _join_axis(units: list[TaggedToken], at: int, text: str) -> None:
    """Make the nouns of an axis a part of a judgement: "normal in size and contour"."""
    judgement = units[at]
    last = at
    for position in range(at + 1, min(len(units), at + NEAR)):
        unit = units[position]
        # "Normal density" is no finding, "increased density" may be one.
        is_told = unit.kind == "other" or judgement.kind == "normal"
        if names_axis(unit.form) and is_told:
            last = position
        elif unit.kind not in ("preposition", "and"):
            break
    if last == at:
        return
    judgement.end = units[last].end
    del units[at + 1 : last + 1]
    if "size" not in axes_of(text[judgement.begin : judgement.end]):
        judgement.code = "morphology"


def _is_gap_behind(units: list[TaggedToken], at: int) -> bool:
    """Whether the noun of "calcified hilar ___" is blacked out."""
    behind = units[at + 1 :]
    noun = first_beyond(behind, ("place", "and"))
    if noun is None or not _GAP.fullmatch(noun.form):
        return False
    # "Calcified ___ nodule": the noun can be read.
    following = kind_at(behind, behind.index(noun) + 1)
    return following not in ("finding", "anatomy")
