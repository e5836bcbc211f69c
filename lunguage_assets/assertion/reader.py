"""The steps from a sentence to its assertions, in the order in which they are taken."""

from __future__ import annotations

from collections.abc import Iterator

from lunguage_assets.assertion.claims import mark_claims
from lunguage_assets.assertion.noun_phrases import read_noun_phrases
from lunguage_assets.assertion.run_ons import divide_run_ons
from lunguage_assets.assertion.sides import restore_sides
from lunguage_assets.assertion.tagging import tag
from lunguage_assets.assertion.unanswered import mark_unanswered
from lunguage_assets.assertion.units import TaggedToken, Units
from lunguage_assets.assertion.vocabulary import Kind, Vocabulary

_MENTIONS: frozenset[Kind] = frozenset(
    {"finding", "anatomy", "place", "word", "abnormal", "normal"}
)


def mark_assertions(units: Units, text: str, vocabulary: Vocabulary) -> None:
    """Mark how every unit of a sentence is meant.

    Args:
        units: of the sentence (`tagging.tag`); changed in place.
        text: of the sentence.
        vocabulary: with which it was tagged.
    """
    divide_run_ons(units)
    read_noun_phrases(units, text, vocabulary)
    restore_sides(units)
    mark_claims(units)


def read_assertions(
    text: str, section: str, vocabulary: Vocabulary
) -> Iterator[TaggedToken]:
    """Read how the mentions of a sentence are meant.

    Args:
        text: of the sentence.
        section: code of its section.
        vocabulary: the spellings that are known.

    Yields:
        Each mention, in the order of the text. A finding that the sentence names once
        and speaks of twice ("the left has gone, the right has not") is two.
    """
    units = tag(text, vocabulary, section)
    mark_assertions(units, text, vocabulary)
    mark_unanswered(units, text)
    for unit in units:
        if unit.kind in _MENTIONS and unit.begin < unit.end:
            yield unit
