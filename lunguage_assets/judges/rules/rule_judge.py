"""What the rule-based judges share: they compare two sentences by their scores."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from lunguage_assets.assertion.named import hedges_in
from lunguage_assets.judges.protocol import ExtractionAnswer, ExtractionQuestion
from lunguage_assets.judges.rules.phrases import PhraseTable, within, words_of
from lunguage_assets.judges.rules.reading import distinct_texts, hedge_phrases
from lunguage_assets.judges.scoring import ScorerJudge
from lunguage_assets.randomness import Floats


class RuleJudge(ScorerJudge, ABC):
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
        digest = hashlib.blake2b(repr(tuple(entries)).encode(), digest_size=6)
        identity = f"{method}/{version}/{digest.hexdigest()}"
        super().__init__(key, identity, self._score_all, method)
        self._table = table

    @abstractmethod
    def score(self, masked_sentence: str) -> float | None:
        """Score how certain the finding is; None: no hedge that the judge knows."""

    def _score_all(self, masked_sentences: Sequence[str]) -> Floats:
        # numpy reads None as NaN where it is told to make numbers.
        scores = [self.score(sentence) for sentence in masked_sentences]
        return np.array(scores, dtype=np.float64)

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Name the phrases of each question, in the questions' order.

        These are the nearest hedge, those that it is chained to, and what joins the
        finding to alternatives. Without a masked sentence nobody knows where the
        finding is, and every hedge of the sentence is given: such pairs are reviewed by
        a person.
        """
        answers: list[ExtractionAnswer] = []
        for question in questions:
            if question.masked_sentence is None:
                phrases = self._all_hedges(question.sentence)
            else:
                phrases = hedge_phrases(question.masked_sentence, self._table)
            answers.append(ExtractionAnswer(phrases))
        return answers

    def _all_hedges(self, sentence: str) -> tuple[str, ...]:
        """Name the phrases of all hedges of a sentence, of whichever finding."""
        phrases = self._table.find_in(words_of(sentence))
        return distinct_texts(
            phrase
            for begin, end in hedges_in(sentence)
            for phrase in within(phrases, begin, end)
        )
