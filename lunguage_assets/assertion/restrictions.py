"""Which words stand between a denial and the finding that it denies.

"No large effusion" denies less than "no effusion". What belongs here: where such a word
has to stand. Which words restrict a denial, and of which findings, say those who ask.
"""

from __future__ import annotations

from typing import NamedTuple

from lunguage_assets.assertion.categories import CATEGORIES
from lunguage_assets.assertion.governing import tag_named
from lunguage_assets.assertion.reader import mark_assertions
from lunguage_assets.assertion.tokens import MASK, Token
from lunguage_assets.assertion.units import JOINTS, Edge, TaggedToken
from lunguage_assets.assertion.vocabulary import NAMED, Vocabulary, bundled_vocabulary

_DENYING = frozenset({"negated", "doubted"})
"""What the category of a denial makes of a mention; what has gone, has gone whole."""
_BEFORE_DESCRIPTION = frozenset(
    {"break", "copula", "negated", "negated before", "ended"}
)
"""Before what describes a finding that no cue before it denies."""
_BEFORE_OWN_WORDS = _BEFORE_DESCRIPTION | JOINTS | {"finding", "preposition", "with"}
"""Before what is said of a member of a list alone: "mass or new effusion"."""


class DescribingWord(NamedTuple):
    """A word before a finding.

    Attributes:
        word: as written, in lower case.
        is_of_list: whether it stands between the denial and the first finding of its
            list, and so may be said of all: "no new nodule or effusion".
        is_own: whether it stands behind the denial, with nothing but other words of the
            finding behind it: "no nodule or new effusion".
    """

    word: str
    is_of_list: bool
    is_own: bool


class NamedDenial(NamedTuple):
    """How a mention of the named finding is denied.

    Attributes:
        cue: id of the cue that denies it; empty where none does.
        words: those of the cue before it, those between, and its own, the nearest
            first.
    """

    cue: str
    words: tuple[DescribingWord, ...]


def denials_of(
    sentence: str, finding: str = MASK, vocabulary: Vocabulary | None = None
) -> tuple[NamedDenial, ...]:
    """Find the denials of a finding in a sentence, with the words that describe it.

    Args:
        sentence: any text.
        finding: the finding's own words as they stand there, or the mask.
        vocabulary: with a home's own cues; None: the bundled one.

    Returns:
        One for each mention that is denied, in the order of the sentence; one for each
        mention where none is. Whoever asks knows from elsewhere that it is.
    """
    vocabulary = vocabulary or bundled_vocabulary()
    units = tag_named(sentence, finding, vocabulary)
    mark_assertions(units, sentence, vocabulary)
    mentions = [at for at, unit in enumerate(units) if unit.sense == NAMED]
    denied = [at for at in mentions if units[at].negation]
    tokens = vocabulary.tokens(sentence)
    return tuple(
        _denial_of_mention(sentence, tokens, units, at) for at in denied or mentions
    )


def _denial_of_mention(
    sentence: str, tokens: list[Token], units: list[TaggedToken], at: int
) -> NamedDenial:
    mention = units[at]
    edge = _denying_edge(mention)
    if edge is not None and edge.begin < mention.begin:
        begin = edge.begin
        begin_of_list = _begin_of_list(units, edge, mention)
        begin_of_own = _end_of_last(units[:at], _BEFORE_OWN_WORDS)
    else:
        # "Clear lungs", "large effusion: none": nothing stands behind a denial.
        begin = begin_of_list = _end_of_last(units[:at], _BEFORE_DESCRIPTION)
        begin_of_own = mention.end
    words = [
        DescribingWord(
            sentence[token.begin : token.end].lower(),
            is_of_list=token.begin < begin_of_list,
            is_own=token.begin >= begin_of_own,
        )
        for token in tokens
        if begin <= token.begin and token.end <= mention.end
    ]
    cue = "" if edge is None else edge.cue
    return NamedDenial(cue, tuple(reversed(words)))


def _denying_edge(mention: TaggedToken) -> Edge | None:
    """Find the cue that denied it first; none where nothing does."""
    if not mention.negation:
        return None
    denying = (
        edge for edge in mention.edges if CATEGORIES[edge.category].makes in _DENYING
    )
    return next(denying, None)


def _begin_of_list(units: list[TaggedToken], denial: Edge, mention: TaggedToken) -> int:
    """Find the first character of the first finding that is denied."""
    findings = (
        unit.begin
        for unit in units
        if unit.kind == "finding" and unit.begin >= denial.end
    )
    return min(findings, default=mention.begin)


def _end_of_last(units: list[TaggedToken], kinds: frozenset[str]) -> int:
    """Find the character behind the last unit of some kinds; 0: there is none."""
    return next((unit.end for unit in reversed(units) if unit.kind in kinds), 0)
