"""Which cues govern a finding that somebody names: judges ask this of a sentence.

What belongs here: the question of those who know the finding already. What it is that
a cue reaches, and why, the other modules of this folder say.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lunguage_assets.assertion.categories import Category
from lunguage_assets.assertion.reach import LONGEST_CHAIN, finding_beside
from lunguage_assets.assertion.reader import mark_assertions
from lunguage_assets.assertion.tagging import tag_tokens
from lunguage_assets.assertion.tokens import MASK, Token
from lunguage_assets.assertion.units import Edge, TaggedToken, first_beyond
from lunguage_assets.assertion.vocabulary import (
    NAMED,
    Vocabulary,
    bundled_vocabulary,
)

PREFERRED = "preferred"
"""Reason of a cue that dismisses the other one of two: "A rather than B" prefers A."""

_CONTRASTS = frozenset({"doubted.rather_than", "doubted.than", "doubted.favored_over"})
"""Cues that set one finding against another."""
_END_OF_PLACES = ("break", "comma", "copula", "preposition", "seen", "negated before")


class GoverningCue(NamedTuple):
    """A cue that governs the named finding.

    Attributes:
        cue: id.
        begin, end: characters of the cue in the sentence.
        reason: why it reaches the finding.
        category: of the cue; `hedged` where it prefers the finding to another.
        distance: units between it and the nearest mention.
    """

    cue: str
    begin: int
    end: int
    reason: str
    category: Category
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


def governing_cues(
    sentence: str, finding: str = MASK, vocabulary: Vocabulary | None = None
) -> NamedFinding:
    """Find the cues that govern a finding in a sentence.

    The time that it takes grows with the length of the sentence, however often the
    finding is mentioned.

    Args:
        sentence: any text.
        finding: the finding's own words as they stand there, or the mask.
        vocabulary: with a home's own cues; None: the bundled one.
    """
    vocabulary = vocabulary or bundled_vocabulary()
    units = tag_named(sentence, finding, vocabulary)
    mark_assertions(units, sentence, vocabulary)
    mentions = [at for at, unit in enumerate(units) if unit.sense == NAMED]
    begins = [unit.begin for unit in units]
    # Of two edges from the same words the first counts.
    cue_by_span: dict[tuple[int, int], GoverningCue] = {}
    for edge in _edges(units, mentions):
        # A cue may mean nothing by itself: "small" of "a small one could be missed".
        behind_cue = bisect_left(begins, edge.begin)
        position = min(behind_cue, len(units) - 1)
        distance = _distance(position, mentions)
        chain = [edge]
        if edge.category == "hedged":
            for hedge in _hedges_before(units, position):
                chain.append(_edge(hedge, "chain", "hedged"))
        for link in chain:
            cue = GoverningCue(*link, distance)
            cue_by_span.setdefault((link.begin, link.end), cue)
    nearest_first = sorted(
        cue_by_span.values(), key=lambda cue: (cue.distance, cue.begin)
    )
    return NamedFinding(
        cues=tuple(nearest_first),
        mentions=tuple((units[at].begin, units[at].end) for at in mentions),
        clauses=tuple(_clauses_of_mentions(units)),
    )


def hedges_in(sentence: str) -> tuple[tuple[int, int], ...]:
    """Find the characters (begin, end) of all hedges of a sentence, of whatever."""
    vocabulary = bundled_vocabulary()
    tokens = vocabulary.tokens(sentence)
    units = tag_tokens(tokens, vocabulary, "find")
    hedging = ("hedged", "hedged before", "alternative")
    return tuple(
        (unit.begin, unit.end) for unit in units if unit.kind in hedging or unit.doubts
    )


def tag_named(sentence: str, finding: str, vocabulary: Vocabulary) -> list[TaggedToken]:
    """Tag a sentence in which the named finding is one token, wherever it stands.

    Args:
        sentence: any text.
        finding: the finding's own words as they stand there, or the mask.
        vocabulary: the spellings that are known.
    """
    tokens = vocabulary.tokens(sentence)
    named = [token.form for token in vocabulary.tokens(finding)]
    if not named or named == [MASK]:
        return tag_tokens(tokens, vocabulary, "find")
    # Under a mask the words of the finding mean nothing else: "possible scar" would
    # hold a hedge.
    masked: list[Token] = []
    at = 0
    while at < len(tokens):
        words = tokens[at : at + len(named)]
        forms = [token.form for token in words]
        if forms == named:
            masked.append(Token(MASK, words[0].begin, words[-1].end))
            at += len(named)
        else:
            masked.append(tokens[at])
            at += 1
    return tag_tokens(masked, vocabulary, "find")


def _edges(units: list[TaggedToken], mentions: list[int]) -> Iterator[Edge]:
    """Yield what reaches the mentions, and what prefers them to something else."""
    for at in mentions:
        mention = units[at]
        for edge in mention.edges:
            if edge.cue == "hedged.than":
                # "Edema is less likely than <finding>": the finding is preferred.
                yield edge._replace(reason=PREFERRED)
            else:
                yield edge
        if not mention.negation:
            yield from _preferring(units, at)
    for at, unit in enumerate(units):
        if unit.kind == "alternative" and _joins_named(units, at):
            # "Crowded vessels or <finding>": what else it may be is in no word list.
            yield _edge(unit, "beside", "alternative")


def _hedges_before(units: list[TaggedToken], at: int) -> Iterator[TaggedToken]:
    """Yield what is said of a hedge: the first of "possibly consistent with"."""
    begin = max(0, at - LONGEST_CHAIN)
    for unit in reversed(units[begin:at]):
        if unit.kind != "hedged" or unit.negation:
            return
        yield unit


def _edge(unit: TaggedToken, reason: str, category: Category) -> Edge:
    """Make the edge of a unit that reaches the named finding as this category."""
    cue = "" if unit.cue is None else unit.cue.id
    return Edge(cue, unit.begin, unit.end, reason, category)


def _preferring(units: list[TaggedToken], at: int) -> Iterator[Edge]:
    """Yield the dismissal of another: "reflects <finding> rather than edema"."""
    for unit in units[at + 1 :]:
        if unit.kind in ("finding", "break"):
            return
        if unit.cue is not None and unit.cue.id in _CONTRASTS:
            yield _edge(unit, PREFERRED, "hedged")
            return


def _joins_named(units: list[TaggedToken], at: int) -> bool:
    """Whether a joint of alternatives stands beside a mention that is not denied."""
    behind = first_beyond(units[at + 1 :], ("place",))
    # "<finding> at the left apex or base": the joint is one of places.
    if behind is None or behind.kind in _END_OF_PLACES:
        return False
    findings = (finding_beside(units, at, -1), finding_beside(units, at, 1))
    for finding in findings:
        if finding is None or finding.negation:
            continue
        if finding.sense == NAMED:
            return True
    return False


def _distance(position: int, mentions: Sequence[int]) -> int:
    """Count the units between a position and the nearest mention."""
    behind = bisect_left(mentions, position)
    # Mentions are in order: the nearest one is right before, or right behind.
    neighbours = mentions[max(behind - 1, 0) : behind + 1]
    return min(abs(position - mention) for mention in neighbours)


def _clauses_of_mentions(units: list[TaggedToken]) -> Iterator[tuple[int, int]]:
    """Yield the characters of each clause in which the named finding stands."""
    begin = end = 0
    is_mentioned = False
    for unit in units:
        if unit.kind == "break":
            if is_mentioned:
                yield begin, end
            begin = unit.end
            is_mentioned = False
        if unit.sense == NAMED:
            is_mentioned = True
        end = unit.end
    if is_mentioned:
        yield begin, end
