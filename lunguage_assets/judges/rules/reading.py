"""The hedges of a masked finding, as the rule-based judges read them.

Which cues govern the finding, the engine of `assertion/` says; a judge brings phrases
of its own, from which it knows how sure a cue is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from lunguage_assets.assertion.named import (
    PREFERRED,
    GoverningCue,
    NamedFinding,
    governing_cues,
    hedges_in,
)
from lunguage_assets.caches import remembered
from lunguage_assets.judges.protocol import MASK
from lunguage_assets.judges.rules.phrases import Phrase, PhraseTable, words_of

DOUBTING = frozenset({"doubted", "mimic", "reservation"})
"""Categories of cues that speak against a finding without excluding it: "a small one
may be missed".
"""
_HEDGING = frozenset({"hedged", "setting", "question"}) | DOUBTING
_DENYING = ("negated", "ended")
_MAX_WORDS_BESIDE = 3
"""Words between a mention and a phrase that no cue of the engine explains."""
_governing_cues = remembered(governing_cues)
"""Both judges ask for the cues of a sentence, one soon after the other."""
_CHAIN_BREAKS = frozenset({MASK, ".", ",", ";", ":", "and", "or", "but"})


class Hedging(NamedTuple):
    """A cue that hedges the finding, and the judge's phrases in it."""

    cue: GoverningCue
    phrases: tuple[Phrase, ...]

    @property
    def begin(self) -> int:
        """First character of the cue, or of a phrase that begins before it.

        "Low" of "low suspicion for" does.
        """
        return min([self.cue.begin, *(phrase.begin for phrase in self.phrases)])

    @property
    def end(self) -> int:
        """Character behind the cue, or behind a phrase that ends later."""
        return max([self.cue.end, *(phrase.end for phrase in self.phrases)])


class Scope(NamedTuple):
    """How a sentence hedges its masked finding.

    Attributes:
        chain: the nearest hedge, and those next to it ("could possibly represent"), in
            the order of the text.
        farther: other hedges of the finding.
        joints: what joins it to alternatives.
        denials: what denies it.
        is_preferred: whether another finding is dismissed for it ("<finding> rather
            than edema").
        clauses: characters (begin, end) of the clauses in which it stands.
    """

    chain: tuple[Hedging, ...]
    farther: tuple[Hedging, ...]
    joints: tuple[Hedging, ...]
    denials: tuple[GoverningCue, ...]
    is_preferred: bool
    clauses: tuple[tuple[int, int], ...]

    @property
    def all(self) -> tuple[Hedging, ...]:
        """Hedges and joints."""
        return (*self.chain, *self.farther, *self.joints)


def scope_of(masked_sentence: str, table: PhraseTable) -> Scope:
    """Find what hedges the masked finding of a sentence."""
    finding = _governing_cues(masked_sentence)
    phrases = table.find_in(masked_sentence)
    is_preferred = any(cue.category == PREFERRED for cue in finding.cues)
    denials = tuple(cue for cue in finding.cues if cue.category in _DENYING)
    joints = [
        _with_phrases(cue, phrases)
        for cue in finding.cues
        if cue.category == "alternative"
    ]
    hedges = _hedges_of(finding, phrases)
    is_negated = any(cue.category == "negated" for cue in denials)
    if not any((hedges, joints, is_preferred, is_negated)):
        hedges = _hedges_beside(finding, phrases, masked_sentence)
    chain = _chain(masked_sentence, hedges)
    farther = tuple(hedge for hedge in hedges if hedge not in chain)
    return Scope(chain, farther, tuple(joints), denials, is_preferred, finding.clauses)


def _hedges_of(finding: NamedFinding, phrases: Sequence[Phrase]) -> list[Hedging]:
    """Take the cues that hedge a finding, the nearest first, and denials behind them.

    "Not suggestive of" is a denial for the engine, and a phrase of a judge.
    """
    hedges: list[Hedging] = []
    hedging_denials: list[Hedging] = []
    for cue in finding.cues:
        hedge = _with_phrases(cue, phrases)
        if cue.category in _DENYING and hedge.phrases:
            hedging_denials.append(hedge)
        elif cue.category in _HEDGING:
            hedges.append(hedge)
    return hedges + hedging_denials


def all_hedges(sentence: str, table: PhraseTable) -> tuple[str, ...]:
    """Name the phrases of all hedges of a sentence, of whichever finding."""
    phrases = table.find_in(sentence)
    hedging: set[Phrase] = set()
    for begin, end in hedges_in(sentence):
        hedging.update(_overlapping(phrases, begin, end))
    return _distinct_texts(hedging)


def hedge_phrases(masked_sentence: str, table: PhraseTable) -> tuple[str, ...]:
    """Name the nearest hedges of the masked finding, and what joins it to alternatives.

    Where no phrase of the judge is among them, the words of the cues themselves.
    """
    scope = scope_of(masked_sentence, table)
    hedges = (*scope.chain, *scope.joints)
    phrases = [phrase for hedge in hedges for phrase in hedge.phrases]
    if not phrases:
        phrases = [_words_of_cue(hedge.cue, masked_sentence) for hedge in hedges]
    return _distinct_texts(phrases)


def _words_of_cue(cue: GoverningCue, sentence: str) -> Phrase:
    words = words_of(sentence, cue.begin, cue.end)
    text = " ".join(word.text for word in words)
    return Phrase(text, cue.begin, cue.end)


def _distinct_texts(phrases: set[Phrase] | list[Phrase]) -> tuple[str, ...]:
    """Give texts once, in the order in which they stand in the sentence."""
    in_order = sorted(phrases, key=lambda phrase: phrase.begin)
    return tuple(dict.fromkeys(phrase.text for phrase in in_order))


def _with_phrases(cue: GoverningCue, phrases: Sequence[Phrase]) -> Hedging:
    inside = _overlapping(phrases, cue.begin, cue.end)
    if cue.category in DOUBTING:
        # Of "felt to be less likely" the last phrase is the doubt.
        inside = inside[-1:]
    return Hedging(cue, inside)


def _overlapping(phrases: Sequence[Phrase], begin: int, end: int) -> tuple[Phrase, ...]:
    """Take the phrases that share characters with a span; both in the text's order."""
    first = bisect_left(phrases, begin + 1, key=lambda phrase: phrase.end)
    last = bisect_left(phrases, end, key=lambda phrase: phrase.begin)
    return tuple(phrases[first:last])


def _chain(sentence: str, hedges: Sequence[Hedging]) -> tuple[Hedging, ...]:
    """Take the nearest hedge, which is the first, and those that touch it."""
    if not hedges:
        return ()
    ordered = sorted(hedges, key=lambda hedge: hedge.begin)
    first = ordered.index(hedges[0])
    last = first
    while first and _touch(sentence, ordered[first - 1].end, ordered[first].begin):
        first -= 1
    while last + 1 < len(ordered) and _touch(
        sentence, ordered[last].end, ordered[last + 1].begin
    ):
        last += 1
    return tuple(ordered[first : last + 1])


def _touch(sentence: str, begin: int, end: int, max_words: int = 1) -> bool:
    """Whether few words stand between, and no joint, break or finding."""
    between = [word.text for word in words_of(sentence, begin, max(begin, end))]
    return len(between) <= max_words and not _CHAIN_BREAKS.intersection(between)


def _hedges_beside(
    finding: NamedFinding, phrases: Sequence[Phrase], sentence: str
) -> list[Hedging]:
    """Take the phrases beside a mention where the engine finds no hedge.

    Whoever asks knows that the finding is doubted: "borderline <finding>", "<finding>
    appears improved".
    """
    # Mentions are in the order of the text: the one next to a phrase is bisected.
    begins = [begin for begin, _ in finding.mentions]
    hedges: list[Hedging] = []
    for phrase in phrases:
        behind = bisect_left(begins, phrase.end)
        is_before_mention = behind < len(begins) and _touch(
            sentence, phrase.end, begins[behind], _MAX_WORDS_BESIDE
        )
        is_behind_mention = behind > 0 and _touch(
            sentence, finding.mentions[behind - 1][1], phrase.begin, _MAX_WORDS_BESIDE
        )
        if is_before_mention or is_behind_mention:
            cue = GoverningCue("", phrase.begin, phrase.end, "hedged", 1)
            hedges.append(Hedging(cue, (phrase,)))
    return hedges
