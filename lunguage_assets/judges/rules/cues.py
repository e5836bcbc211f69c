"""The `cues` judge: the evidence of the words of all cues of a finding, added up.

Which cues govern it, the engine of `assertion/` says; the words are in
`resources/cues.yaml`. Each word speaks for or against presence with a weight of the
author's choosing, in logits; a score is the sum over all cues. The judge knows neither
the scores of phrases nor the published ranking: it averages where the `lexicon` judge
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
from lunguage_assets.judges.rules.phrases import PhraseTable, words_of
from lunguage_assets.judges.rules.reading import DOUBTING, Hedging, Scope, scope_of
from lunguage_assets.judges.rules.rule_judge import RuleJudge
from lunguage_assets.packaged_data import read_as, resource

VERSION = "5"
"""Part of the judge's identity: raise it with every change that changes an answer."""

_PREFERRED = 0.8
_DISMISSED = -4.0
"""Of the two findings of a contrast ("X rather than Y")."""
_MOST_OF_DOUBT = -2.0
"""The most that a doubt leaves, whatever its words: "a small likelihood of"."""
_SHARE_OF_FARTHER = 0.6
_SHARE_OF_JOINTS = 0.6
"""What the words of cues other than the nearest hedge count."""


class WordWeights(BaseModel, extra="forbid"):
    """The content of `resources/cues.yaml`: word -> evidence for presence in logits.

    Attributes:
        cues: words of belief.
        negations: words that deny.
        context: words about size, change and the picture.
        phrases: words that stand together as one phrase ("may be due to").
    """

    cues: dict[str, float]
    negations: dict[str, float]
    context: dict[str, float]
    phrases: list[str]


@cache
def bundled_weights() -> WordWeights:
    """Read `resources/cues.yaml`, with words of belief in every inflection.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    remedy = 'Give every word a weight in logits, and quote words such as "no" and "?".'
    weights = read_as(resource("cues.yaml"), WordWeights, remedy)
    inflections = bundled_lexicon().inflections
    inflected: dict[str, float] = {}
    for word, weight in weights.cues.items():
        # "Suggested" says as much of the finding as "suggests".
        forms = inflections.get(word, (word,))
        inflected |= dict.fromkeys(forms, weight)
    return weights.model_copy(update={"cues": inflected})


class CuesJudge(RuleJudge):
    """Answers from the sum of cues.

    Args:
        key: of the judge.
        weights: of its words.
    """

    def __init__(self, key: str, weights: WordWeights) -> None:
        self._weights = weights
        super().__init__(
            key,
            method="cues",
            version=VERSION,
            entries=[
                sorted(weights.cues.items()),
                sorted(weights.negations.items()),
                sorted(weights.context.items()),
                sorted(weights.phrases),
            ],
            table=PhraseTable(
                wording
                for phrase in weights.phrases
                for wording in alternatives(phrase)
            ),
        )

    @classmethod
    def bundled(cls, key: str) -> Self:
        """Make the judge of the bundled words."""
        return cls(key, bundled_weights())

    def score(self, masked_sentence: str) -> float | None:
        """Score how certain the finding is.

        Returns:
            None: no word of belief governs it, and no other finding is dismissed for
            it.
        """
        scope = scope_of(masked_sentence, self._table)
        is_known = any(self._is_known(hedge, masked_sentence) for hedge in scope.all)
        if not scope.is_preferred and not is_known:
            return None
        evidence = self._evidence_of_hedges(scope, masked_sentence)
        if scope.denials:
            # "No longer suspicious for <finding>": words that speak for a finding speak
            # against it when they are denied.
            evidence = [-abs(weight) for weight in evidence]
            for cue in scope.denials:
                denial = self._sum(
                    self._weights.negations, masked_sentence, cue.begin, cue.end
                )
                evidence.append(denial)
        if scope.is_preferred:
            evidence.append(_PREFERRED)
        evidence.append(self._context(masked_sentence, scope))
        # Equal sums tie, in whatever order their words are added up.
        return round(sum(evidence), 9)

    def _is_known(self, hedge: Hedging, sentence: str) -> bool:
        if hedge.cue.category in DOUBTING:
            return True
        words = words_of(sentence, hedge.begin, hedge.end)
        return any(word.text in self._weights.cues for word in words)

    def _evidence_of_hedges(self, scope: Scope, sentence: str) -> list[float]:
        """Weigh the hedges of a finding: those that are farther count less."""
        chain = self._without_stronger(scope.chain, sentence)
        nearest = [self._belief(hedge, sentence) for hedge in chain]
        farther = [self._belief(hedge, sentence) for hedge in scope.farther]
        joints = [self._belief(hedge, sentence) for hedge in scope.joints]
        return [
            *nearest,
            *(_SHARE_OF_FARTHER * belief for belief in farther),
            *(_SHARE_OF_JOINTS * belief for belief in joints),
        ]

    def _without_stronger(
        self, chain: Sequence[Hedging], sentence: str
    ) -> list[Hedging]:
        """Leave out the stronger of two hedges beside each other.

        "Could be consistent with" is no surer than "could be".
        """
        stronger = [
            max(pair, key=lambda hedge: self._belief(hedge, sentence))
            for pair in pairwise(chain)
        ]
        return [hedge for hedge in chain if hedge not in stronger]

    def _belief(self, hedge: Hedging, sentence: str) -> float:
        """Weigh a hedge's words; a doubt never speaks for presence."""
        begin = hedge.begin
        end = hedge.end
        belief = self._sum(self._weights.cues, sentence, begin, end)
        if hedge.cue.category not in DOUBTING:
            return belief
        negation = self._sum(self._weights.negations, sentence, begin, end)
        # "Edema rather than <finding>" dismisses the finding without a word of belief.
        if not negation and not belief:
            return _DISMISSED
        return min(negation - abs(belief), _MOST_OF_DOUBT)

    def _context(self, sentence: str, scope: Scope) -> float:
        """Weigh the other words of the finding's clauses."""
        # A word of a hedge is weighed as belief, and not again.
        words_of_hedges: set[int] = set()
        for hedge in scope.all:
            words = words_of(sentence, hedge.begin, hedge.end)
            words_of_hedges.update(word.begin for word in words)
        weights: list[float] = []
        for clause in scope.clauses:
            weights += [
                self._weights.context.get(word.text, 0.0)
                for word in words_of(sentence, *clause)
                if word.begin not in words_of_hedges
            ]
        return sum(weights)

    def _sum(
        self, weights: dict[str, float], sentence: str, begin: int, end: int
    ) -> float:
        """Sum up the weights of the words between two characters."""
        return sum(
            weights.get(word.text, 0.0) for word in words_of(sentence, begin, end)
        )
