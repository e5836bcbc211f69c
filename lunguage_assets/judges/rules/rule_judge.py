"""What the rule-based judges share: they compare two sentences by their scores."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence

from lunguage_assets.caches import remembered
from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.judges.rules.phrases import PhraseTable
from lunguage_assets.judges.rules.reading import all_hedges, hedge_phrases
from lunguage_assets.judges.scoring import choose_sentence, unknown_deviation
from lunguage_assets.randomness import Floats

_REMEMBERED_SCORES = 1 << 16
"""A fit asks of every sentence of a batch in every round: all of them must fit in."""


class RuleJudge(ABC):
    """A judge without chance or cost: the sentence with the higher score is surer.

    Args:
        key: of the judge.
        method: name of the rules; coins of different methods fall independently.
        version: of the rules: raised with every change that changes an answer.
        entries: all words with what they say: other words are another judge.
        table: the judge's phrases.
    """

    def __init__(
        self,
        key: str,
        method: str,
        version: str,
        entries: Sequence[object],
        table: PhraseTable,
    ) -> None:
        self.key = key
        digest = hashlib.blake2b(repr(tuple(entries)).encode(), digest_size=6)
        self.identity = f"{method}/{version}/{digest.hexdigest()}"
        self._method = method
        self._table = table
        self._known_score = remembered(self.score, entries=_REMEMBERED_SCORES)

    @abstractmethod
    def score(self, masked_sentence: str) -> float | None:
        """Score how certain the finding is; None: no hedge that the judge knows."""

    def phrases(self, question: ExtractionQuestion) -> tuple[str, ...]:
        """Name the hedges of the finding, as the judge knows them.

        These are the nearest one, those that it is chained to, and what joins the
        finding to alternatives.

        Without a masked sentence nobody knows where the finding is, and every hedge of
        the sentence is given: such pairs are reviewed by a person.
        """
        sentence = question.masked_sentence
        if sentence is None:
            return all_hedges(question.sentence, self._table)
        return hedge_phrases(sentence, self._table)

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Name the phrases of each question, in the questions' order."""
        return [ExtractionAnswer(self.phrases(question)) for question in questions]

    def scores(self, masked_sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """Score sentences in the judge's own units; how far it errs is not known."""
        return unknown_deviation([self._known_score(text) for text in masked_sentences])

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """Choose the surer sentence of each question; see `choose_sentence`."""
        return [
            choose_sentence(
                self._method,
                question,
                self._known_score(question.sentence_1),
                self._known_score(question.sentence_2),
            )
            for question in questions
        ]
