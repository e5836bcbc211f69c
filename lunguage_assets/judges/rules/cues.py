"""The `cues` judge adds up the evidence of single words of the cues that govern the finding.

Which cues govern it, the engine of `assertion/` says; the words are in resources/cues.yaml. It knows
neither places of phrases nor the published ranking. Each word speaks for or against presence with a weight
of the author's choosing, in logits; a score is the sum over all cues. It averages where the `lexicon` judge
picks. A sentence without a cue word that governs the finding is answered as invalid.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Self

from pydantic import BaseModel

from lunguage_assets.assertion.hedges import bundled_lexicon
from lunguage_assets.assertion.tokens import alternatives
from lunguage_assets.judges.protocol import ExtractionQuestion
from lunguage_assets.judges.rules.reading import (
    DOUBTING,
    Hedging,
    PhraseTable,
    RuleJudge,
    Scope,
    all_hedges,
    scope_of,
    texts_of,
    words_of,
)
from lunguage_assets.packaged_data import read_as, resource

VERSION = "4"
"""Part of the judge's identity: raise it with every change of rules that changes an answer."""

_PREFERRED, _DISMISSED = 0.8, -4.0
"""Of the two findings of a contrast ("X rather than Y")."""
_DOUBTED = -2.0
"""The most that a doubt leaves, whatever its words: "a small likelihood of"."""
_OF_FARTHER = 0.6
_OF_JOINTS = 0.6
"""What the words of cues other than the nearest hedge count."""


class Words(BaseModel, extra="forbid"):
    """The content of resources/cues.yaml.

    Word -> evidence for presence in logits: of words of belief, of negations, and of words about size, change
    and the picture. `phrases` are words that stand together as one phrase ("may be due to").
    """

    cues: dict[str, float]
    negations: dict[str, float]
    context: dict[str, float]
    phrases: list[str]


@cache
def bundled_words() -> Words:
    """The words of resources/cues.yaml, those of belief in every inflection.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    remedy = 'Give every word a weight in logits, and quote words such as "no" and "?".'
    words = read_as(resource("cues.yaml"), Words, remedy)
    forms = bundled_lexicon().inflections
    inflected = {
        form: weight
        for word, weight in words.cues.items()
        for form in forms.get(word, (word,))
    }
    return words.model_copy(update={"cues": inflected})


class CuesJudge(RuleJudge):
    """Answers from the sum of cues."""

    def __init__(self, key: str, words: Words) -> None:
        self._words = words
        tables = [
            sorted(table.items())
            for table in (words.cues, words.negations, words.context)
        ]
        super().__init__(key, "cues", VERSION, *tables, sorted(words.phrases))
        self._table = PhraseTable(
            wording for phrase in words.phrases for wording in alternatives(phrase)
        )

    @classmethod
    def bundled(cls, key: str) -> Self:
        return cls(key, bundled_words())

    def phrases(self, question: ExtractionQuestion) -> tuple[str, ...]:
        """Cue words that govern the finding, with the small words that belong to them ("may be due to").

        Those of the nearest cue, of what touches it, and what joins alternatives. Without a masked sentence
        all are given.
        """
        sentence = question.masked_sentence
        if sentence is None:
            found = all_hedges(question.sentence, self._table)
            return tuple(dict.fromkeys(phrase.text for phrase in found))
        scope = scope_of(sentence, self._table)
        return texts_of((*scope.chain, *scope.joints), sentence)

    def score(self, masked_sentence: str) -> float | None:
        """None without a word of belief that governs the finding, and outside a contrast of findings."""
        scope = scope_of(masked_sentence, self._table)
        if not (
            scope.is_preferred
            or any(self._is_known(hedge, masked_sentence) for hedge in scope.all)
        ):
            return None
        chain = self._weaker(scope.chain, masked_sentence)
        evidence = [self._belief(hedge, masked_sentence) for hedge in chain]
        evidence += [
            _OF_FARTHER * self._belief(hedge, masked_sentence)
            for hedge in scope.farther
        ]
        evidence += [
            _OF_JOINTS * self._belief(hedge, masked_sentence) for hedge in scope.joints
        ]
        if scope.denials:
            evidence = [-abs(weight) for weight in evidence]
            spans = [(cue.begin, cue.end) for cue in scope.denials]
            evidence += [
                self._sum(self._words.negations, masked_sentence, *span)
                for span in spans
            ]
        if scope.is_preferred:
            evidence.append(_PREFERRED)
        evidence.append(self._context(masked_sentence, scope))
        return round(sum(evidence), 9)

    def _is_known(self, hedge: Hedging, sentence: str) -> bool:
        words = words_of(sentence, hedge.begin, hedge.end)
        return hedge.cue.category in DOUBTING or any(
            word.text in self._words.cues for word in words
        )

    def _weaker(self, chain: Sequence[Hedging], sentence: str) -> list[Hedging]:
        """Leave out the stronger of two hedges beside each other: "could be consistent with"."""
        dropped: list[Hedging] = []
        for pair in pairwise(chain):
            dropped.append(max(pair, key=lambda hedge: self._belief(hedge, sentence)))
        return [hedge for hedge in chain if hedge not in dropped]

    def _belief(self, hedge: Hedging, sentence: str) -> float:
        """The evidence of a hedge's words; a doubt never speaks for presence."""
        belief = self._sum(self._words.cues, sentence, hedge.begin, hedge.end)
        if hedge.cue.category not in DOUBTING:
            return belief
        negation = self._sum(self._words.negations, sentence, hedge.begin, hedge.end)
        return (
            min(negation - abs(belief), _DOUBTED) if negation or belief else _DISMISSED
        )

    def _context(self, sentence: str, scope: Scope) -> float:
        """The evidence of the other words of the finding's clauses."""
        inside = {
            word.begin
            for hedge in scope.all
            for word in words_of(sentence, hedge.begin, hedge.end)
        }
        words = [
            word for clause in scope.clauses for word in words_of(sentence, *clause)
        ]
        return sum(
            self._words.context.get(word.text, 0.0)
            for word in words
            if word.begin not in inside
        )

    def _sum(
        self, weights: dict[str, float], sentence: str, begin: int, end: int
    ) -> float:
        return sum(
            weights.get(word.text, 0.0) for word in words_of(sentence, begin, end)
        )
