"""What is said of the mentions of one sentence, and which cues say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lunguage_assets.assertion.categories import Meant
from lunguage_assets.assertion.reader import mark_assertions
from lunguage_assets.assertion.tagging import tag
from lunguage_assets.assertion.units import Edge, TaggedToken
from lunguage_assets.assertion.vocabulary import Kind, Vocabulary

_MENTIONS: frozenset[Kind] = frozenset(
    {"finding", "anatomy", "place", "word", "abnormal", "normal"}
)


class Assertion(NamedTuple):
    """How a mention is meant: a known spelling that is no cue.

    Attributes:
        begin, end: its characters.
        meant: what its cues come to.
        edges: the cues that reached it, and why they reached so far.
    """

    begin: int
    end: int
    meant: Meant
    edges: tuple[Edge, ...]


def read_assertions(
    text: str, section: str, vocabulary: Vocabulary
) -> Iterator[Assertion]:
    """Read how the mentions of a sentence are meant.

    Args:
        text: of the sentence.
        section: code of its section.
        vocabulary: the spellings that are known.

    Yields:
        One for each mention, in the order of the text. A finding that the sentence
        names once and speaks of twice ("the left has gone, the right has not") is two.
    """
    units = tag(text, vocabulary, section)
    mark_assertions(units, text, vocabulary)
    for unit in units:
        if unit.kind in _MENTIONS and unit.begin < unit.end:
            yield Assertion(unit.begin, unit.end, meant(unit), tuple(unit.edges))


def meant(unit: TaggedToken) -> Meant:
    """Tell what the cues of a unit come to (`categories.PRECEDENCE`)."""
    if unit.aside:
        return "aside"
    if unit.past is not None:
        return "ended" if unit.past.kind == "ended" else "past"
    if unit.negation == "doubtful":
        return "doubted"
    if unit.negation and unit.is_hedged:
        # "Possible effusion is not seen": absent, but not for certain.
        return "doubted"
    if unit.negation:
        return "negated"
    return "hedged" if unit.is_hedged else "asserted"
