"""Phrases: words of a sentence that name or describe, and what leads to them.

"Small effusion in the left base" has two: "small effusion", and "left base", which "in"
leads to. What a phrase is said of is decided in `phrase_reader.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from lunguage_assets.assertion.units import JOINTS, TaggedToken
from lunguage_assets.assertion.vocabulary import Kind
from lunguage_assets.assertion.word_files import WORDS

_CONTENT: frozenset[Kind] = frozenset(
    {"finding", "anatomy", "place", "word", "abnormal", "normal"}
)


class Phrase(NamedTuple):
    """Words that name or describe something, and what leads to them.

    Attributes:
        lead_in: verbs, joints, prepositions and cues behind the phrase before.
        lead_kinds: by which kinds of words it is led to, as its clause has it: of "the
            opacity is a granuloma" the verb is a link.
        tokens: its own words.
    """

    lead_in: list[TaggedToken]
    lead_kinds: AbstractSet[Kind]
    tokens: list[TaggedToken]

    def names(self, kind: Kind) -> bool:
        """Whether one of its words is of this kind."""
        return any(token.kind == kind for token in self.tokens)

    @property
    def is_joined(self) -> bool:
        """Whether nothing but "and", "or" or a comma leads to it."""
        return bool(self.lead_kinds) and self.lead_kinds <= JOINTS

    @property
    def is_behind_slash(self) -> bool:
        """Whether a slash joins it: "scarring/atelectasis" lie at one location."""
        return any(token.form == "/" for token in self.lead_in)

    @property
    def is_beside(self) -> bool:
        """Whether a preposition makes it what is near: "overlying the heart"."""
        return self.lead_in[-1].form in WORDS["beside"]

    @property
    def is_location_alone(self) -> bool:
        """Whether it is the location of the words before it.

        "moderate on the right and small on the left".
        """
        return any(token.kind == "preposition" for token in self.lead_in)


END_OF_SENTENCE = Phrase([], frozenset(), [])
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
        names_finding = any(word.kind == "finding" for word in words)
        if token.kind == "other" and not names_finding:
            continue
        if words:
            yield _phrase(lead_in, words)
            lead_in = []
            words = []
        lead_in.append(token)
    yield _phrase(lead_in, words)


def _phrase(lead_in: list[TaggedToken], words: list[TaggedToken]) -> Phrase:
    return Phrase(lead_in, {token.kind for token in lead_in}, words)
