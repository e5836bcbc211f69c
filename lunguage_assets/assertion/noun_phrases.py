"""Nouns that belong to words beside them: shared, or blacked out."""

from __future__ import annotations

from itertools import dropwhile

from lunguage_assets.assertion.tokens import GAP, tokens_of
from lunguage_assets.assertion.units import (
    JOINTS,
    NEAR,
    Units,
    first_beyond,
    has_kind,
)
from lunguage_assets.assertion.vocabulary import LexiconEntry, Vocabulary

_CALCIFICATION = LexiconEntry("finding", "calcification", "PF")


def read_noun_phrases(units: Units, text: str, vocabulary: Vocabulary) -> None:
    """Give units the meaning that the nouns beside them give.

    Args:
        units: of the sentence; changed in place.
        text: of the sentence.
        vocabulary: to ask whether two words together are a spelling.
    """
    for at, unit in enumerate(units):
        if unit.kind in JOINTS:
            _share_noun(units, at, text, vocabulary)
        elif unit.form == "calcified":
            # "Calcified hilar ___" lacks its noun, "calcified ___ nodule" does not.
            near = units[at + 1 : at + NEAR]
            behind = list(dropwhile(lambda it: it.kind in ("place", "and"), near))
            forms = [it.form for it in behind[:1]]
            if forms == [GAP] and not has_kind(behind[1:2], "finding", "anatomy"):
                unit.become(_CALCIFICATION)


def _share_noun(units: Units, at: int, text: str, vocabulary: Vocabulary) -> None:
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
    tokens = tokens_of(f"{text[before.begin : before.end]} {noun}")
    sense, end = vocabulary.match(tokens, 0)
    # "Left effusion" is no spelling: the place stays one.
    if sense is None or end < len(tokens):
        return
    if sense.name != named.name and sense.kind != before.kind:
        before.become(sense)
