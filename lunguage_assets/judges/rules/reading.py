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
    **dict.fromkeys(("hedged", "question", *DOUBTING), "hedge"),
    "setting": "setting",
    "alternative": "joint",
    "negated": "negated",
    "ended": "ended",
    PREFERRED: "preferred",
}
"""Category of a cue -> what it does to the finding; others do nothing."""
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
        hedges: of the finding ("could possibly represent"), in the order of the text.
        joints: what joins it to alternatives.
        denials: what denies it.
        is_preferred: whether another finding is dismissed for it ("<finding> rather
            than edema").
        context: words of its clauses, outside of its hedges.
    """

    hedges: Sequence[Hedging]
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
    # "Maybe edema in the right setting": the setting hedges what nothing else does.
    hedges = cues_by_role["hedge"] or cues_by_role["setting"]
    joints = cues_by_role["joint"]
    denials = cues_by_role["negated"] + cues_by_role["ended"]
    is_preferred = bool(cues_by_role["preferred"])
    if not (hedges or joints or is_preferred or cues_by_role["negated"]):
        hedges = [
            # Whoever asks knows that it is doubted: "<finding> appears improved".
            _hedging(GoverningCue("", *phrase[1:], "hedged", 1), [phrase], words)
            for clause in finding.clauses
            for phrase in within(phrases, *clause)
        ]
    if hedges:
        # "The possibility of <finding> should be considered": the nearest, and those on
        # its side ("could possibly represent").
        mention = finding.mentions[0][0]
        is_before = hedges[0].begin < mention
        hedges = [hedge for hedge in hedges if (hedge.begin < mention) == is_before]
        hedges.sort(key=lambda hedge: hedge.begin)
    context = _words_outside([*hedges, *joints], finding.clauses, words)
    return Scope(hedges, joints, denials, is_preferred, context)


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
    """Name the hedges of the masked finding, and what joins it to alternatives.

    Where no phrase of the judge is among them, the words of the cues themselves.
    """
    scope = scope_of(masked_sentence, table)
    hedges = (*scope.hedges, *scope.joints)
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
