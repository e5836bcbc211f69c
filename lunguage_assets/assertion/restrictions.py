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
    denied_mentions = [at for at in mentions if units[at].negation]
    tokens = vocabulary.tokens(sentence)
    return tuple(
        _denial_of_mention(sentence, tokens, units, at)
        for at in denied_mentions or mentions
    )


def _denial_of_mention(
    sentence: str, tokens: list[Token], units: list[TaggedToken], at: int
) -> NamedDenial:
    """Take the words that describe a mention, from its denial on.

    Args:
        sentence: its text.
        tokens: of the sentence.
        units: of the sentence.
        at: position of the mention.
    """
    mention = units[at]
    before = units[:at]
    denial = _denying_edge(mention)
    if denial is not None and denial.begin < mention.begin:
        begin = denial.begin
        begin_of_list = _begin_of_list(units, denial, mention)
        begin_of_own = _end_of_last(before, _BEFORE_OWN_WORDS)
    else:
        # "Large effusion: none": no word stands behind the denial, so that none is of
        # its list, and none is the finding's own.
        begin = _end_of_last(before, _BEFORE_DESCRIPTION)
        begin_of_list = begin
        begin_of_own = mention.end
    words: list[DescribingWord] = []
    for token in tokens:
        if token.begin < begin or token.end > mention.end:
            continue
        word = DescribingWord(
            word=sentence[token.begin : token.end].lower(),
            is_of_list=token.begin < begin_of_list,
            is_own=token.begin >= begin_of_own,
        )
        words.append(word)
    words.reverse()
    cue = "" if denial is None else denial.cue
    return NamedDenial(cue, tuple(words))


def _denying_edge(mention: TaggedToken) -> Edge | None:
    """Find the cue that denied it first; none where nothing does."""
    if not mention.negation:
        return None
    for edge in mention.edges:
        if CATEGORIES[edge.category].makes in _DENYING:
            return edge
    return None


def _begin_of_list(units: list[TaggedToken], denial: Edge, mention: TaggedToken) -> int:
    """Find the first character of the first finding that is denied."""
    begins = [unit.begin for unit in units if unit.kind == "finding"]
    begins_behind = [begin for begin in begins if begin >= denial.end]
    # What the sentence left out is put back as a copy, which stands out of order: the
    # first finding is the one that is written first.
    return min(begins_behind, default=mention.begin)


def _end_of_last(units: list[TaggedToken], kinds: frozenset[str]) -> int:
    """Find the character behind the last unit of some kinds; 0: there is none."""
    for unit in reversed(units):
        if unit.kind in kinds:
            return unit.end
    return 0
