"""What the phrases of a sentence are said of: findings, locations, parts (method.md 7).

A sentence is read from left to right. What has been named so far in a clause
(`clause.py`) decides what the next phrase is said of: behind a finding "in the left
base" is its location, behind "the heart" the word "large" describes the heart.

What is done with a phrase stands in the module of what it names: `findings.py`,
`locations.py`, `body_parts.py`, `descriptions.py`.
"""

from __future__ import annotations

from itertools import pairwise

from lunguage_assets.assertion.units import TaggedToken, has_kind
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.rules.clause import Clause
from lunguage_assets.structuring.rules.descriptions import take_description
from lunguage_assets.structuring.rules.drafts import MentionDraft
from lunguage_assets.structuring.rules.findings import (
    take_findings,
)
from lunguage_assets.structuring.rules.locations import (
    is_location,
    take_location,
)
from lunguage_assets.structuring.rules.phrases import (
    END_OF_SENTENCE,
    phrases_of,
)


def read_phrases(tokens: list[TaggedToken]) -> list[MentionDraft]:
    """Read the mentions of a sentence, in the order of its words.

    Args:
        tokens: of the sentence, marked by the reader of doubt (`assertion.reader`).
    """
    clause = Clause()
    phrases = [*phrases_of(tokens), END_OF_SENTENCE]
    for phrase, following in pairwise(phrases):
        for word in phrase.lead_in:
            if word.kind == "break":
                clause = clause.behind(word)
        if has_kind(phrase.tokens, "finding"):
            take_findings(clause, phrase)
        elif has_kind(phrase.tokens, "anatomy") or is_location(phrase):
            take_location(clause, phrase, following)
        else:
            take_description(clause, phrase, following)
    # A part of the body of which nothing is said is no mention: "the lungs" alone.
    mentioned = [
        draft for draft in clause.drafts if draft.is_finding or draft.is_judged
    ]
    _link_open_causes(mentioned)
    for draft in mentioned:
        draft.complete()
    return mentioned


def _link_open_causes(drafts: list[MentionDraft]) -> None:
    """Make what is left open explain the sign before it.

    "Basal opacity, pneumonia cannot be excluded".
    """
    sign: MentionDraft | None = None
    before: MentionDraft | None = None
    for draft in drafts:
        head = draft.head
        is_cause = "hedged" in head.meanings and head.name in WORDS["causes_of_signs"]
        if sign is not None and is_cause and not draft.all_locations:
            # "Consolidation or atelectasis": neither explains the other.
            if before is not sign or not _are_alternatives(sign.head, head):
                draft.signs = [sign]
        elif head.name in WORDS["explained_signs"]:
            # "Opacity representing consolidation, edema or pneumonia": the opacity is
            # explained still.
            sign = sign if draft.signs else draft
        elif head.code != "PATIENT INFO.":
            # Something else is spoken of; a complaint of the patient changes nothing.
            sign = None
        before = draft


def _are_alternatives(sign: TaggedToken, cause: TaggedToken) -> bool:
    """Whether an "or" between two findings leaves open both."""
    return any(
        edge.category == "alternative" and edge.begin < cause.begin
        for edge in sign.edges
        if edge in cause.edges
    )
