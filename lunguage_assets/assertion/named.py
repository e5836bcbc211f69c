"""How a sentence means a finding that somebody names: judges and rules of labels ask.

What belongs here: the questions of those who know the finding already. What it is that
a cue reaches, the other modules of this folder say.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from lunguage_assets.assertion.lists import finding_beside
from lunguage_assets.assertion.reader import mark_assertions
from lunguage_assets.assertion.tagging import tag_tokens
from lunguage_assets.assertion.tokens import MASK, Token
from lunguage_assets.assertion.units import JOINTS, Edge, TaggedToken, kind_beyond
from lunguage_assets.assertion.vocabulary import bundled_vocabulary

PREFERRED = "preferred"
"""What the cue of "A rather than B" makes of A."""

_CONTRASTS = frozenset({"doubted.rather_than", "doubted.than", "doubted.favored_over"})
"""Cues that set one finding against another."""
_DENYING = ("negated", "doubted", "mimic", "reservation")
_LONGEST_CHAIN = 3
_NEAR = 30
"""Units that are looked through for what belongs to a mention."""
_END_OF_PLACES = ("break", "comma", "copula", "preposition", "seen", "negated before")
_BEFORE_DESCRIPTION = ("break", "copula", "negated", "negated before", "ended")
"""Before what describes a finding that no cue before it denies."""
_BEFORE_OWN_WORDS = (*_BEFORE_DESCRIPTION, *JOINTS, "finding", "preposition", "with")
"""Before what is said of a member of a list alone: "mass or new effusion"."""


class GoverningCue(NamedTuple):
    """A cue that governs the named finding.

    Attributes:
        cue: id.
        begin, end: characters of the cue in the sentence.
        category: of the cue; `PREFERRED` where it dismisses another finding for it.
        distance: units between it and the nearest mention.
    """

    cue: str
    begin: int
    end: int
    category: str
    distance: int


class NamedFinding(NamedTuple):
    """How a sentence means the finding that was named.

    Attributes:
        cues: hedges, denials and alternatives that govern it, the nearest first.
        mentions: characters (begin, end) of every mention.
        clauses: characters (begin, end) of the clauses in which it is mentioned.
    """

    cues: tuple[GoverningCue, ...]
    mentions: tuple[tuple[int, int], ...]
    clauses: tuple[tuple[int, int], ...]


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


class _Reading(NamedTuple):
    """A sentence that was read for a finding, and where that stands."""

    tokens: list[Token]
    units: list[TaggedToken]
    mentions: list[int]


def _read(sentence: str, finding: str) -> _Reading:
    vocabulary = bundled_vocabulary()
    tokens = vocabulary.tokens(sentence)
    named = [token.form for token in vocabulary.tokens(finding)]
    # As one token, "possible scar" holds no hedge.
    masked: list[Token] = []
    at = 0
    while at < len(tokens):
        words = tokens[at : at + len(named)]
        if words and [token.form for token in words] == named:
            masked.append(Token(MASK, words[0].begin, words[-1].end))
            at += len(words)
        else:
            masked.append(tokens[at])
            at += 1
    units = tag_tokens(masked, vocabulary, "find")
    mark_assertions(units, sentence, vocabulary)
    mentions = [at for at, unit in enumerate(units) if unit.name == MASK]
    return _Reading(tokens, units, mentions)


def governing_cues(sentence: str) -> NamedFinding:
    """Find the cues that govern the masked finding of a sentence."""
    _, units, mentions = _read(sentence, MASK)
    begins = [unit.begin for unit in units]
    # Of two edges from the same words the first counts.
    cue_by_span: dict[tuple[int, int], GoverningCue] = {}
    for edge in _edges(units, mentions):
        position = bisect_left(begins, edge.begin)
        behind = bisect_left(mentions, position)
        neighbours = mentions[max(behind - 1, 0) : behind + 1]
        distance = min(abs(position - mention) for mention in neighbours)
        chain = [edge]
        if edge.category == "hedged":
            chain += _hedges_before(units, position)
        for link in chain:
            category = PREFERRED if link.cue == "hedged.than" else link.category
            cue = GoverningCue(link.cue, link.begin, link.end, category, distance)
            cue_by_span.setdefault((link.begin, link.end), cue)
    nearest_first = sorted(
        cue_by_span.values(), key=lambda cue: (cue.distance, cue.begin)
    )
    spans = tuple((units[at].begin, units[at].end) for at in mentions)
    return NamedFinding(tuple(nearest_first), spans, tuple(_clauses(units)))


def hedges_in(sentence: str) -> tuple[tuple[int, int], ...]:
    """Find the characters (begin, end) of all hedges of a sentence, of whatever."""
    vocabulary = bundled_vocabulary()
    units = tag_tokens(vocabulary.tokens(sentence), vocabulary, "find")
    hedging = ("hedged", "hedged before", "alternative")
    return tuple(
        (unit.begin, unit.end) for unit in units if unit.kind in hedging or unit.doubts
    )


def _edges(units: list[TaggedToken], mentions: list[int]) -> Iterator[Edge]:
    """Yield what reaches the mentions, and what prefers them to something else."""
    for at in mentions:
        yield from units[at].edges
        if not units[at].negation:
            yield from _preferring(units, at)
    for at, unit in enumerate(units):
        if unit.kind == "alternative" and _joins_named(units, at):
            # "Crowded vessels or <finding>": what else it may be is in no word list.
            yield unit.edge_as("alternative")


def _hedges_before(units: list[TaggedToken], at: int) -> Iterator[Edge]:
    """Yield what is said of a hedge: the first of "possibly consistent with"."""
    for unit in reversed(units[max(0, at - _LONGEST_CHAIN) : at]):
        if unit.kind != "hedged" or unit.negation:
            return
        yield unit.edge_as("hedged")


def _preferring(units: list[TaggedToken], at: int) -> Iterator[Edge]:
    """Yield the dismissal of another: "reflects <finding> rather than edema"."""
    for unit in units[at + 1 : at + _NEAR]:
        if unit.kind in ("finding", "break"):
            return
        if unit.cue is not None and unit.cue.id in _CONTRASTS:
            yield unit.edge_as(PREFERRED)
            return


def _joins_named(units: list[TaggedToken], at: int) -> bool:
    """Whether a joint of alternatives stands beside a mention that is not denied."""
    # "<finding> at the left apex or base": the joint is one of places.
    if kind_beyond(units[at + 1 : at + _NEAR], ("place",)) in ("", *_END_OF_PLACES):
        return False
    findings = (finding_beside(units, at, -1), finding_beside(units, at, 1))
    return any(
        finding is not None and not finding.negation and finding.name == MASK
        for finding in findings
    )


def _clauses(units: list[TaggedToken]) -> Iterator[tuple[int, int]]:
    """Yield the characters of each clause in which the named finding stands."""
    begin = end = 0
    is_mentioned = False
    for unit in units:
        if unit.kind == "break":
            if is_mentioned:
                yield begin, end
            begin = unit.end
            is_mentioned = False
        is_mentioned = is_mentioned or unit.name == MASK
        end = unit.end
    if is_mentioned:
        yield begin, end


def denials_of(sentence: str, finding: str) -> tuple[NamedDenial, ...]:
    """Find the denials of a finding in a sentence, with the words that describe it.

    "No large effusion" denies less than "no effusion". Which words restrict a denial,
    and of which findings, say those who ask.

    Args:
        sentence: any text.
        finding: the finding's own words as they stand there.

    Returns:
        One for each mention that is denied, in the order of the sentence; one for each
        mention where none is. Whoever asks knows from elsewhere that it is.
    """
    reading = _read(sentence, finding)
    denied = [at for at in reading.mentions if reading.units[at].negation]
    return tuple(_denial(sentence, reading, at) for at in denied or reading.mentions)


def _denial(sentence: str, reading: _Reading, at: int) -> NamedDenial:
    """Take the words that describe a mention, from its denial on.

    Args:
        sentence: its text.
        reading: of the sentence.
        at: position of the mention.
    """
    mention = reading.units[at]
    before = reading.units[:at]
    denials = [edge for edge in mention.edges if edge.category in _DENYING]
    if not mention.negation:
        denials = []
    # What has gone, has gone whole.
    cue = denials[0].cue if denials else ""
    begin_of_own = _end_of_last(before, _BEFORE_OWN_WORDS)
    if cue and denials[0].begin < mention.begin:
        begin = denials[0].begin
        # What the sentence left out stands out of order, as a copy: the first finding
        # is the one that is written first.
        begin_of_list = min(
            unit.begin
            for unit in reading.units
            if unit.kind == "finding" and unit.begin >= denials[0].end
        )
    else:
        # "Large effusion: none": no word stands behind the denial, so that none is of
        # its list, and none is the finding's own.
        begin = begin_of_list = _end_of_last(before, _BEFORE_DESCRIPTION)
        begin_of_own = mention.end
    words = [
        DescribingWord(
            word=sentence[token.begin : token.end].lower(),
            is_of_list=token.begin < begin_of_list,
            is_own=token.begin >= begin_of_own,
        )
        for token in reversed(reading.tokens)
        if begin <= token.begin < mention.end
    ]
    return NamedDenial(cue, tuple(words))


def _end_of_last(units: list[TaggedToken], kinds: tuple[str, ...]) -> int:
    """Find the character behind the last unit of some kinds; 0: there is none."""
    return next((unit.end for unit in reversed(units) if unit.kind in kinds), 0)
