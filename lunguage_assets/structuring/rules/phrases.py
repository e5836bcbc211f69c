"""Phrases: words of a sentence that name or describe, and what leads to them.

"Small effusion in the left base" has two: "small effusion", and "left base", which "in"
leads to. What a phrase is said of is decided in `phrase_reader.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lunguage_assets.assertion.units import JOINTS, TaggedToken, has_kind
from lunguage_assets.assertion.vocabulary import Kind

_CONTENT: frozenset[Kind] = frozenset(
    {"finding", "anatomy", "place", "word", "abnormal", "normal"}
)


class Phrase(NamedTuple):
    """Words that name or describe something, and what leads to them.

    Attributes:
        lead_in: verbs, joints, prepositions and cues behind the phrase before.
        tokens: its own words.
    """

    lead_in: list[TaggedToken]
    tokens: list[TaggedToken]

    @property
    def lead_kinds(self) -> set[Kind]:
        """The kinds of words that lead to it."""
        return {token.kind for token in self.lead_in}

    @property
    def is_joined(self) -> bool:
        """Whether nothing but "and", "or" or a comma leads to it."""
        return bool(self.lead_kinds) and self.lead_kinds <= JOINTS


END_OF_SENTENCE = Phrase([], [])
"""What follows the last phrase."""


def phrases_of(tokens: list[TaggedToken]) -> Iterator[Phrase]:
    """Cut a sentence into phrases; the last one may have no words."""
    lead_in: list[TaggedToken] = []
    words: list[TaggedToken] = []
    for token in tokens:
        if token.kind in _CONTENT and not token.aside:
            words.append(token)
            continue
        # "Basilar xyz opacity": an unknown word before the finding ends no phrase.
        if token.kind == "other" and not has_kind(words, "finding"):
            continue
        if words:
            yield Phrase(lead_in, words)
            lead_in = []
            words = []
        lead_in.append(token)
    yield Phrase(lead_in, words)
