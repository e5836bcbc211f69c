"""How a sentence means a finding that somebody names: judges and rules of labels ask.

What belongs here: the questions of those who know the finding already. What it is that
a cue reaches, the other modules of this folder say.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lunguage_assets.assertion.categories import CATEGORIES, Category
from lunguage_assets.assertion.reader import mark_assertions
from lunguage_assets.assertion.scope import finding_beside
from lunguage_assets.assertion.tagging import tag_tokens
from lunguage_assets.assertion.tokens import MASK, Token
from lunguage_assets.assertion.units import JOINTS, Edge, TaggedToken, first_beyond
from lunguage_assets.assertion.vocabulary import NAMED, Vocabulary, bundled_vocabulary

PREFERRED = "preferred"
"""What the cue of "A rather than B" makes of A."""

_MAKES: Mapping[str, str] = {name: rule.makes for name, rule in CATEGORIES.items()}
_CONTRASTS = frozenset({"doubted.rather_than", "doubted.than", "doubted.favored_over"})
"""Cues that set one finding against another."""
_LONGEST_CHAIN = 3
_NEAR = 30
"""Units that are looked through for what belongs to a mention."""
_END_OF_PLACES = ("break", "comma", "copula", "preposition", "seen", "negated before")
_BEFORE_DESCRIPTION = frozenset(
    {"break", "copula", "negated", "negated before", "ended"}
)
"""Before what describes a finding that no cue before it denies."""
_BEFORE_OWN_WORDS = _BEFORE_DESCRIPTION | JOINTS | {"finding", "preposition", "with"}
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
    category: Category | str
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


class _Read(NamedTuple):
    """A sentence that was read for a finding: its units, and where that stands."""

    units: list[TaggedToken]
    mentions: list[int]


def _read(sentence: str, finding: str, vocabulary: Vocabulary) -> _Read:
    tokens = vocabulary.tokens(sentence)
    named = [token.form for token in vocabulary.tokens(finding)]
    if named and named != [MASK]:
        tokens = _masked(tokens, named)
    units = tag_tokens(tokens, vocabulary, "find")
    mark_assertions(units, sentence, vocabulary)
    return _Read(units, [at for at, unit in enumerate(units) if unit.sense == NAMED])


def _masked(tokens: list[Token], named: list[str]) -> list[Token]:
    """Make the finding one token, in which "possible scar" holds no hedge."""
    masked: list[Token] = []
    at = 0
    while at < len(tokens):
        words = tokens[at : at + len(named)]
        if [token.form for token in words] == named:
            masked.append(Token(MASK, words[0].begin, words[-1].end))
            at += len(named)
        else:
            masked.append(tokens[at])
            at += 1
    return masked


def governing_cues(
    sentence: str, finding: str = MASK, vocabulary: Vocabulary | None = None
) -> NamedFinding:
    """Find the cues that govern a finding in a sentence.

    Args:
        sentence: any text.
        finding: the finding's own words as they stand there, or the mask.
        vocabulary: with a home's own cues; None: the bundled one.
    """
    units, mentions = _read(sentence, finding, vocabulary or bundled_vocabulary())
    spans = tuple((units[at].begin, units[at].end) for at in mentions)
    begins = [unit.begin for unit in units]
    # Of two edges from the same words the first counts.
    cue_by_span: dict[tuple[int, int], GoverningCue] = {}
    for edge in _edges(units, mentions):
        chain = [edge]
        if edge.category == "hedged":
            at = bisect_left(begins, edge.begin)
            chain += _hedges_before(units, at)
        distance = _distance(bisect_left(begins, edge.begin), mentions)
        for link in chain:
            category = PREFERRED if link.cue == "hedged.than" else link.category
            cue = GoverningCue(link.cue, link.begin, link.end, category, distance)
            cue_by_span.setdefault((link.begin, link.end), cue)
    nearest_first = sorted(
        cue_by_span.values(), key=lambda cue: (cue.distance, cue.begin)
    )
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
            yield _edge(unit, "alternative")


def _edge(unit: TaggedToken, category: Category | str) -> Edge:
    """Make the edge of a unit that reaches the named finding as this category."""
    cue = "" if unit.cue is None else unit.cue.id
    return Edge(cue, unit.begin, unit.end, category)


def _hedges_before(units: list[TaggedToken], at: int) -> Iterator[Edge]:
    """Yield what is said of a hedge: the first of "possibly consistent with"."""
    for unit in reversed(units[max(0, at - _LONGEST_CHAIN) : at]):
        if unit.kind != "hedged" or unit.negation:
            return
        yield _edge(unit, "hedged")


def _preferring(units: list[TaggedToken], at: int) -> Iterator[Edge]:
    """Yield the dismissal of another: "reflects <finding> rather than edema"."""
    for unit in units[at + 1 : at + _NEAR]:
        if unit.kind in ("finding", "break"):
            return
        if unit.cue is not None and unit.cue.id in _CONTRASTS:
            yield _edge(unit, PREFERRED)
            return


def _joins_named(units: list[TaggedToken], at: int) -> bool:
    """Whether a joint of alternatives stands beside a mention that is not denied."""
    behind = first_beyond(units[at + 1 : at + _NEAR], ("place",))
    # "<finding> at the left apex or base": the joint is one of places.
    if behind is None or behind.kind in _END_OF_PLACES:
        return False
    findings = (finding_beside(units, at, -1), finding_beside(units, at, 1))
    return any(
        finding is not None and not finding.negation and finding.sense == NAMED
        for finding in findings
    )


def _distance(position: int, mentions: list[int]) -> int:
    """Count the units between a position and the nearest mention."""
    behind = bisect_left(mentions, position)
    neighbours = mentions[max(behind - 1, 0) : behind + 1]
    return min(abs(position - mention) for mention in neighbours)


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
        is_mentioned = is_mentioned or unit.sense == NAMED
        end = unit.end
    if is_mentioned:
        yield begin, end


# --- what describes a denied finding


def denials_of(
    sentence: str, finding: str = MASK, vocabulary: Vocabulary | None = None
) -> tuple[NamedDenial, ...]:
    """Find the denials of a finding in a sentence, with the words that describe it.

    "No large effusion" denies less than "no effusion". Which words restrict a denial,
    and of which findings, say those who ask.

    Args:
        sentence: any text.
        finding: the finding's own words as they stand there, or the mask.
        vocabulary: with a home's own cues; None: the bundled one.

    Returns:
        One for each mention that is denied, in the order of the sentence; one for each
        mention where none is. Whoever asks knows from elsewhere that it is.
    """
    vocabulary = vocabulary or bundled_vocabulary()
    units, mentions = _read(sentence, finding, vocabulary)
    denied = [at for at in mentions if units[at].negation]
    tokens = vocabulary.tokens(sentence)
    return tuple(_denial(sentence, tokens, units, at) for at in denied or mentions)


def _denial(
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
    denial = _denying_edge(mention)
    begin_of_own = _end_of_last(units[:at], _BEFORE_OWN_WORDS)
    if denial is not None and denial.begin < mention.begin:
        begin = denial.begin
        # What the sentence left out stands out of order, as a copy: the first finding
        # is the one that is written first.
        begin_of_list = min(
            unit.begin
            for unit in units
            if unit.kind == "finding" and unit.begin >= denial.end
        )
    else:
        # "Large effusion: none": no word stands behind the denial, so that none is of
        # its list, and none is the finding's own.
        begin = begin_of_list = _end_of_last(units[:at], _BEFORE_DESCRIPTION)
        begin_of_own = mention.end
    words = [
        DescribingWord(
            word=sentence[token.begin : token.end].lower(),
            is_of_list=token.begin < begin_of_list,
            is_own=token.begin >= begin_of_own,
        )
        for token in reversed(tokens)
        if begin <= token.begin and token.end <= mention.end
    ]
    return NamedDenial("" if denial is None else denial.cue, tuple(words))


def _denying_edge(mention: TaggedToken) -> Edge | None:
    """Find the cue that denied it first; what has gone, has gone whole."""
    if not mention.negation:
        return None
    for edge in mention.edges:
        if _MAKES.get(edge.category) in ("negated", "doubted"):
            return edge
    return None


def _end_of_last(units: list[TaggedToken], kinds: frozenset[str]) -> int:
    """Find the character behind the last unit of some kinds; 0: there is none."""
    return next((unit.end for unit in reversed(units) if unit.kind in kinds), 0)
