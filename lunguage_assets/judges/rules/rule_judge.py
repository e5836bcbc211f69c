"""What the rule-based judges share: the identity of what they say, and comparing by scores."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache

from lunguage_assets.judges.protocol import (
    ComparisonAnswer,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)

_ANSWERS = {
    True: ComparisonAnswer("sentence_1"),
    False: ComparisonAnswer("sentence_2"),
    None: ComparisonAnswer("invalid"),
}


class RuleJudge(ABC):
    """Deterministic and free: of two sentences the one with the higher score is the more certain.

    Args:
        key: the slot's name.
        method: name of the rules; coins of different methods fall independently.
        version: of the rules: raised with every change that changes an answer.
        entries: all words with what they say: other words are another judge.
    """

    def __init__(self, key: str, method: str, version: str, *entries: object) -> None:
        self.key, self._method = key, method
        digest = hashlib.blake2b(repr(entries).encode(), digest_size=6).hexdigest()
        self.identity = f"{method}/{version}/{digest}"
        self._known_score = lru_cache(maxsize=1 << 17)(self.score)

    @abstractmethod
    def score(self, masked_sentence: str) -> float | None:
        """How certain the finding is; None without a hedge that the judge knows."""

    @abstractmethod
    def phrases(self, question: ExtractionQuestion) -> tuple[str, ...]:
        """The hedges of the finding, as the judge names them."""

    def extract(self, questions: Sequence[ExtractionQuestion]) -> list[ExtractionAnswer]:
        """Phrases per question, in the questions' order."""
        return [ExtractionAnswer(self.phrases(question)) for question in questions]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[ComparisonAnswer]:
        """The higher score wins.

        A sentence without a score has no hedge that the judge knows. Whatever it is compared with, the answer
        is invalid: comparisons are about tentative findings, and an unknown hedge is no certainty
        (explicit.md section 6).

        Equal scores are decided by a coin hashed from the two sentences and the method, the same coin
        whichever sentence is shown first. Two identical sentences cannot be told apart by content: there the
        coin falls on the position, and anew for every replicate.
        """
        return [_ANSWERS[self._first_wins(question)] for question in questions]

    def _first_wins(self, question: ComparisonQuestion) -> bool | None:
        one, two = question.sentence_1, question.sentence_2
        score_one, score_two = self._known_score(one), self._known_score(two)
        if score_one is None or score_two is None:
            return None
        if score_one != score_two:
            return score_one > score_two
        if one == two:
            return _coin(self._method, one, str(question.replicate))
        return _coin(self._method, *sorted((one, two))) == (one < two)


def _coin(*parts: str) -> bool:
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return bool(hashlib.blake2b(text, digest_size=1).digest()[0] & 1)
