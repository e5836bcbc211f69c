"""What the rule-based judges share: the hedges of a masked finding, and what they give.

Which cues govern the finding, the engine of `assertion/` says; a judge brings phrases
of its own, from which it knows how sure a cue is, and scores.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from lunguage_assets.assertion.named import (
    PREFERRED,
    GoverningCue,
    NamedFinding,
    governing_cues,
    hedges_in,
)
from lunguage_assets.caches import remembered
from lunguage_assets.judges.protocol import ExtractionAnswer, ExtractionQuestion
from lunguage_assets.judges.rules.phrases import (
    Phrase,
    PhraseTable,
    within,
    words_of,
)
from lunguage_assets.judges.scoring import Scorer
from lunguage_assets.randomness import Floats

VERSION = "6"
"""Part of a judge's identity: raise it with every change that changes an answer."""

DOUBTING = ("doubted", "mimic", "reservation")
"""Categories of cues that speak against a finding without excluding it: "a small one
may be missed".
"""
_ROLES = {
    **dict.fromkeys(("hedged", "question", "setting", *DOUBTING), "hedge"),
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
        span: its characters, as one phrase.
        words: its words.
        phrases: those of the judge in it.
    """

    cue: str
    category: str
    span: Phrase
    words: Sequence[str]
    phrases: Sequence[Phrase]

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
    hedges = cues_by_role["hedge"]
    joints = cues_by_role["joint"]
    negated = cues_by_role["negated"]
    is_preferred = bool(cues_by_role["preferred"])
    if not (hedges or joints or is_preferred or negated):
        # Whoever asks knows that it is doubted: "<finding> appears improved".
        hedges = [
            Hedging("", "hedged", phrase, phrase.text.split(), [phrase])
            for clause in finding.clauses
            for phrase in within(phrases, *clause)
        ]
    if hedges:
        # "The possibility of <finding> should be considered": the nearest, and those on
        # its side ("could possibly represent").
        mention = finding.mentions[0][0]
        is_before = hedges[0].span.begin < mention
        hedges = [it for it in hedges if (it.span.begin < mention) == is_before]
        hedges.sort(key=lambda hedge: hedge.span.begin)
    context = _context([*hedges, *joints], finding, words)
    denials = negated + cues_by_role["ended"]
    return Scope(hedges, joints, denials, is_preferred, context)


def _hedging(
    cue: GoverningCue, phrases: Sequence[Phrase], words: Sequence[Phrase]
) -> Hedging:
    """Take the words of a cue, and the phrases that a judge knows in it."""
    texts = [word.text for word in within(words, cue.begin, cue.end)]
    phrases_in_cue = within(phrases, cue.begin, cue.end)
    if cue.category in DOUBTING:
        # Of "felt to be less likely" the last phrase is the doubt.
        phrases_in_cue = phrases_in_cue[-1:]
    span = Phrase(" ".join(texts), cue.begin, cue.end)
    return Hedging(cue.cue, cue.category, span, texts, phrases_in_cue)


def _context(
    hedges: Sequence[Hedging], finding: NamedFinding, words: Sequence[Phrase]
) -> list[str]:
    """List the words of the finding's clauses that belong to no hedge."""
    inside: set[Phrase] = set()
    for hedge in hedges:
        inside.update(within(words, hedge.span.begin, hedge.span.end))
    return [
        word.text
        for clause in finding.clauses
        for word in within(words, *clause)
        if word not in inside
    ]


class RuleJudge(Scorer, ABC):
    """A judge without chance or cost: the sentence with the higher score is surer.

    Args:
        key: of the judge.
        method: name of the rules; coins of different methods fall independently.
        entries: all words with what they say: other words are another judge.
        phrases: those that the judge knows.
    """

    def __init__(
        self,
        key: str,
        method: str,
        entries: Sequence[object],
        phrases: Iterable[str],
    ) -> None:
        digest = hashlib.blake2b(repr(tuple(entries)).encode(), digest_size=6)
        identity = f"{method}/{VERSION}/{digest.hexdigest()}"
        super().__init__(key, identity, self._score_all, method)
        self._table = PhraseTable(phrases)

    def score(self, masked_sentence: str) -> float | None:
        """Score how certain the finding is; None: no hedge that the judge knows."""
        return self.score_of(scope_of(masked_sentence, self._table))

    @abstractmethod
    def score_of(self, scope: Scope) -> float | None:
        """Score how certain a finding is; None: no hedge that the judge knows."""

    def _score_all(self, masked_sentences: Sequence[str]) -> Floats:
        # numpy reads None as NaN where it is told to make numbers.
        return np.array(list(map(self.score, masked_sentences)), dtype=np.float64)

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Name the phrases of each question, in the questions' order.

        These are the nearest hedge, those that it is chained to, and what joins the
        finding to alternatives; where no phrase of the judge is among them, the words
        of the cues themselves. Without a masked sentence nobody knows where the finding
        is, and every hedge of the sentence is given: such pairs are reviewed by a
        person.
        """
        return [ExtractionAnswer(self._phrases_of(question)) for question in questions]

    def _phrases_of(self, question: ExtractionQuestion) -> tuple[str, ...]:
        if question.masked_sentence is None:
            of_sentence = self._table.find_in(words_of(question.sentence))
            spans = hedges_in(question.sentence)
            phrases = [it for span in spans for it in within(of_sentence, *span)]
        else:
            scope = scope_of(question.masked_sentence, self._table)
            hedges = (*scope.hedges, *scope.joints)
            phrases = [phrase for hedge in hedges for phrase in hedge.phrases]
            phrases = phrases or [hedge.span for hedge in hedges]
        phrases.sort(key=lambda phrase: phrase.begin)
        return tuple(dict.fromkeys(phrase.text for phrase in phrases))
