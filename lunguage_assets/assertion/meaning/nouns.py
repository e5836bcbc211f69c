"""Nouns that are shared, blacked out, or those of a device.

"Pleural or pericardial effusion" has one noun for two findings, "calcified hilar ___"
none that can be read.
"""

from __future__ import annotations

import re
from itertools import takewhile

from lunguage_assets.assertion.units import (
    DEVICE,
    JOINTS,
    LIMITATION,
    TaggedToken,
    first_beyond,
    form_at,
    kind_at,
    kind_beyond,
)
from lunguage_assets.assertion.vocabulary import (
    DEVICE_PART,
    Kind,
    LexiconEntry,
    Vocabulary,
)
from lunguage_assets.assertion.word_files import WORDS

_GAP = re.compile("x{3,}|_+")
"""What de-identification leaves of a word."""

_PARTS: frozenset[Kind] = frozenset({"break", "comma", "and"})
"""What parts two statements."""


def is_calcified_gap(units: list[TaggedToken], at: int) -> bool:
    """Whether a noun is blacked out, and its calcification is not.

    "Calcified hilar ___".
    """
    if units[at].form != "calcified":
        return False
    # "The aorta is calcified": the noun stands before.
    if kind_at(units, at - 1) in ("copula", "anatomy"):
        return False
    for position in range(at + 1, len(units)):
        unit = units[position]
        if _GAP.fullmatch(unit.form):
            # "Calcified ___ nodule": the noun can be read.
            following = kind_at(units, position + 1)
            return following not in ("finding", "anatomy", "other", "place", "word")
        if unit.kind not in ("place", "word", "and"):
            return False
    return False


def is_overlap_as_cause(units: list[TaggedToken], at: int) -> bool:
    """Whether what lies over the lung is a cause: "due to overlying soft tissues"."""
    unit = units[at]
    is_monitor = unit.is_cue("examined.monitor_leads")
    is_overlap = unit.code == LIMITATION.code and unit.form in WORDS["overlap"]
    if not is_overlap and not is_monitor:
        return False
    before = kind_beyond(reversed(units[:at]), ("other", "word"))
    return before in ("link", "hedged")


def is_of_a_device_end(units: list[TaggedToken], at: int) -> bool:
    """Whether only the end of a device is not seen: "the tip of the tube is not seen".

    The tube is there.
    """
    if units[at].kind == "negated":
        # "A catheter without a tip"
        nearest_first = units[at + 1 : at + 2]
    else:
        nearest_first = units[:at][::-1]
    for unit in nearest_first:
        if unit.name == DEVICE_PART:
            return True
        if unit.kind == "break" or (unit.kind == "finding" and unit.code != DEVICE):
            return False
    return False


def is_of_a_dim_place(units: list[TaggedToken], at: int) -> bool:
    """Whether "not well seen" limits a view, and leaves no finding open.

    "The left base is not well seen"; a tube that is not well seen is there.
    """
    if not units[at].is_cue("hedged.not_well_seen"):
        return False
    subject = list(
        takewhile(lambda unit: unit.kind not in _PARTS, reversed(units[:at]))
    )
    is_of_finding = any(
        unit.kind == "finding" and unit.code != DEVICE for unit in subject
    )
    # "Pneumonia is possible but not well seen" names nothing else.
    return bool(subject) and not is_of_finding


def is_end_at_a_place(units: list[TaggedToken], at: int) -> bool:
    """Whether the end of a device leads to its place, as a preposition would.

    "PICC tip mid SVC".
    """
    if units[at].name != DEVICE_PART:
        return False
    is_device_named = any(unit.code == DEVICE for unit in units[:at])
    return is_device_named and kind_at(units, at + 1) in ("place", "anatomy")


def unite_organs(units: list[TaggedToken], at: int) -> None:
    """Make one conclusion of a list: "acute cardiac, pulmonary or pleural disease".

    "Acute cardiac, pulmonary or bony abnormality" is two: of the chest, and of bones.

    Args:
        units: of the sentence; changed in place.
        at: position of the noun.
    """
    noun = units[at]
    listed = {*JOINTS, "place", "anatomy"}
    first = at
    while first > 0:
        unit = units[first - 1]
        if unit.form in WORDS["now"] or unit.kind not in listed:
            break
        first -= 1
    organs = [unit for unit in units[first:at] if unit.form in WORDS["of_the_chest"]]
    # Without "acute" before the list it is no conclusion.
    is_conclusion = form_at(units, first - 1) in WORDS["now"]
    if not organs or not is_conclusion:
        return
    conclusion = TaggedToken(
        LexiconEntry("finding", "acute cardiopulmonary abnormality", noun.code),
        form=noun.form,
        begin=organs[0].begin,
        end=organs[-1].end,
    )
    if noun.name == "osseous abnormality":
        behind_organs = units[units.index(organs[-1]) + 1 : at]
        units[first:at] = [conclusion, *behind_organs]
    else:
        conclusion.end = noun.end
        units[first : at + 1] = [conclusion]


def share_noun(
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
    if kind_at(units, at - 1) not in ("place", "anatomy"):
        return
    before = units[at - 1]
    behind = first_beyond(units[at + 1 :], {*JOINTS, "place"})
    if behind is None or behind.kind not in ("finding", "anatomy"):
        return
    place = text[before.begin : before.end]
    noun = text[behind.begin : behind.end].split()[-1]
    tokens = vocabulary.tokens(f"{place} {noun}")
    sense, end = vocabulary.match(tokens, 0)
    if sense is None or end < len(tokens):
        # "Left effusion" is no spelling: the place stays one.
        return
    if sense.kind != behind.kind:
        return
    if sense.name != behind.name and before.kind != sense.kind:
        before.become(sense)
