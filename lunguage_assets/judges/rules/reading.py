"""The hedges of a masked finding, as the rule-based judges read them.

Which cues govern the finding, the engine of `assertion/` says; a judge brings phrases
of its own, from which it knows how sure a cue is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lunguage_assets.assertion.named import PREFERRED, GoverningCue, governing_cues
from lunguage_assets.caches import remembered
from lunguage_assets.judges.protocol import MASK
from lunguage_assets.judges.rules.phrases import (
    Phrase,
    PhraseTable,
    within,
    words_of,
)

DOUBTING = ("doubted", "mimic", "reservation")
"""Categories of cues that speak against a finding without excluding it: "a small one
may be missed".
"""
_ROLES = {
    **dict.fromkeys(("hedged", "setting", "question", *DOUBTING), "hedge"),
    "alternative": "joint",
    "negated": "negated",
    "ended": "ended",
    PREFERRED: "preferred",
}
"""Category of a cue -> what it does to the finding; others do nothing."""
_MAX_WORDS_BESIDE = 3
"""Words between a mention and a phrase that no cue of the engine explains."""
_CHAIN_BREAKS = frozenset({MASK, ".", ",", ";", ":", "and", "or", "but"})

_governing_cues = remembered(governing_cues)
"""Both judges ask for the cues of a sentence, one soon after the other."""


class Hedging(NamedTuple):
    """A cue of the finding.

    Attributes:
        cue: id.
        category: of the cue.
        begin, end: its characters.
        words: its words.
        phrases: those of the judge in it.
    """

    cue: str
    category: str
    begin: int
    end: int
    words: tuple[str, ...]
    phrases: tuple[Phrase, ...]

    @property
    def is_doubt(self) -> bool:
        """Whether it speaks against the finding."""
        return self.category in DOUBTING


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
        context: words of its clauses, outside of its hedges.
    """

    chain: Sequence[Hedging]
    farther: Sequence[Hedging]
    joints: Sequence[Hedging]
    denials: Sequence[Hedging]
    is_preferred: bool
    context: Sequence[str]


def scope_of(masked_sentence: str, table: PhraseTable) -> Scope:
    """Find what hedges the masked finding of a sentence."""
    finding = _governing_cues(masked_sentence)
    words = words_of(masked_sentence)
    phrases = table.find_in(words)
    cues_by_role: dict[str, list[Hedging]] = defaultdict(list)
    for cue in finding.cues:
        role = _ROLES.get(cue.category, "")
        cues_by_role[role].append(_hedging(cue, phrases, words))
    hedges = cues_by_role["hedge"]
    joints = cues_by_role["joint"]
    denials = cues_by_role["negated"] + cues_by_role["ended"]
    is_preferred = bool(cues_by_role["preferred"])
    if not (hedges or joints or is_preferred or cues_by_role["negated"]):
        hedges = [
            _hedging(GoverningCue("", *phrase[1:], "hedged", 1), [phrase], words)
            for phrase in phrases
            if _is_beside(phrase, finding.mentions, words)
        ]
    chain = _chain(hedges, words)
    farther = [hedge for hedge in hedges if hedge not in chain]
    context = _words_outside([*hedges, *joints], finding.clauses, words)
    return Scope(chain, farther, joints, denials, is_preferred, context)


def _words_outside(
    hedges: Sequence[Hedging],
    clauses: Sequence[tuple[int, int]],
    words: Sequence[Phrase],
) -> list[str]:
    """List the words of clauses that belong to no hedge."""
    inside: set[Phrase] = set()
    for hedge in hedges:
        inside.update(within(words, hedge.begin, hedge.end))
    outside: list[str] = []
    for clause in clauses:
        in_clause = within(words, *clause)
        outside += [word.text for word in in_clause if word not in inside]
    return outside


def hedge_phrases(masked_sentence: str, table: PhraseTable) -> tuple[str, ...]:
    """Name the nearest hedges of the masked finding, and what joins it to alternatives.

    Where no phrase of the judge is among them, the words of the cues themselves.
    """
    scope = scope_of(masked_sentence, table)
    hedges = (*scope.chain, *scope.joints)
    phrases = [phrase for hedge in hedges for phrase in hedge.phrases]
    cues = [Phrase(" ".join(it.words), it.begin, it.end) for it in hedges]
    return distinct_texts(phrases or cues)


def distinct_texts(phrases: Iterable[Phrase]) -> tuple[str, ...]:
    """Give texts once, in the order in which they stand in the sentence."""
    in_order = sorted(phrases, key=lambda phrase: phrase.begin)
    return tuple(dict.fromkeys(phrase.text for phrase in in_order))


def _hedging(
    cue: GoverningCue, phrases: Sequence[Phrase], words: Sequence[Phrase]
) -> Hedging:
    words_of_cue = tuple(word.text for word in within(words, cue.begin, cue.end))
    inside = within(phrases, cue.begin, cue.end)
    if cue.category in DOUBTING:
        # Of "felt to be less likely" the last phrase is the doubt.
        inside = inside[-1:]
    return Hedging(
        cue.cue, cue.category, cue.begin, cue.end, words_of_cue, tuple(inside)
    )


def _chain(hedges: Sequence[Hedging], words: Sequence[Phrase]) -> Sequence[Hedging]:
    """Take the nearest hedge, which is the first, and those that touch it."""
    chains: list[list[Hedging]] = [[]]
    for hedge in sorted(hedges, key=lambda hedge: hedge.begin):
        if chains[-1] and not _touch(words, chains[-1][-1].end, hedge.begin, 1):
            chains.append([])
        chains[-1].append(hedge)
    return next((chain for chain in chains if hedges and hedges[0] in chain), [])


def _touch(words: Sequence[Phrase], begin: int, end: int, max_words: int) -> bool:
    """Whether few words stand between, and no joint, break or finding."""
    between = [word.text for word in within(words, begin, max(begin, end))]
    return len(between) <= max_words and _CHAIN_BREAKS.isdisjoint(between)


def _is_beside(
    phrase: Phrase, mentions: Sequence[tuple[int, int]], words: Sequence[Phrase]
) -> bool:
    """Whether a phrase stands beside a mention, where the engine finds no hedge.

    Whoever asks knows that the finding is doubted: "borderline <finding>", "<finding>
    appears improved".
    """
    # Of the two ends of a gap the first is the nearer end of whichever comes first.
    gaps = [(min(phrase.end, end), max(phrase.begin, begin)) for begin, end in mentions]
    return any(_touch(words, *gap, _MAX_WORDS_BESIDE) for gap in gaps)
