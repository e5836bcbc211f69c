"""Scorers: masked sentences in, scores out; a judge compares two of them.

The rule-based judges are scorers themselves, and so is a model that was distilled from
a panel (`explicit/distilled/`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.randomness import Floats

_MOST_REMEMBERED = 1 << 16
"""Sentences whose scores are kept: a fit asks of all of a batch in every round."""


@runtime_checkable
class Scorer(Protocol):
    """Says how certain a masked sentence is of its finding."""

    @property
    def identity(self) -> str:
        """Names everything that changes a score."""

    def scores(self, masked_sentences: Sequence[str]) -> Floats:
        """Score sentences, each without regard to the others; NaN: it cannot say."""


class ScorerJudge:
    """A judge that compares scores, each of which is computed once.

    It extracts no phrases: such an answer is invalid.

    Args:
        key: of the judge.
        identity: of what scores.
        compute: scores sentences as a `Scorer` does.
        method: whose scores they are: coins of different methods fall independently.
    """

    def __init__(
        self,
        key: str,
        identity: str,
        compute: Callable[[Sequence[str]], Floats],
        method: str = "",
    ) -> None:
        self.key = key
        self.identity = identity
        self._compute = compute
        self._method = method or identity
        self._score_by_sentence: dict[str, float] = {}

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Answer every question as invalid."""
        return [ExtractionAnswer((), valid=False) for _ in questions]

    def scores(self, masked_sentences: Sequence[str]) -> Floats:
        """Score sentences as any `Scorer` does."""
        unknown = sorted(set(masked_sentences) - self._score_by_sentence.keys())
        if len(self._score_by_sentence) + len(unknown) > _MOST_REMEMBERED:
            self._score_by_sentence.clear()
            unknown = sorted(set(masked_sentences))
        if unknown:
            scores = self._compute(unknown).tolist()
            self._score_by_sentence |= dict(zip(unknown, scores, strict=True))
        scores = [self._score_by_sentence[sentence] for sentence in masked_sentences]
        return np.array(scores, dtype=np.float64)

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """Choose the sentence with the higher score (explicit.md section 6).

        Without a score the answer is invalid. Equal scores are decided by a coin hashed
        from the two sentences and the method, the same coin whichever is shown first.
        Between identical sentences it falls on the position, anew for every replicate.
        """
        mu_1 = self.scores([question.sentence_1 for question in questions])
        mu_2 = self.scores([question.sentence_2 for question in questions])
        choices: list[Choice] = []
        for question, difference in zip(questions, (mu_1 - mu_2).tolist(), strict=True):
            is_first = difference > 0
            if difference == 0:
                is_first = self._coin_says_first(question)
            if np.isnan(difference):
                choices.append("invalid")
            else:
                choices.append("sentence_1" if is_first else "sentence_2")
        return choices

    def _coin_says_first(self, question: ComparisonQuestion) -> bool:
        sentences = (question.sentence_1, question.sentence_2)
        if sentences[0] == sentences[1]:
            return _coin(self._method, sentences[0], str(question.replicate))
        # Sorted: the coin speaks for one of the sentences, wherever it is shown.
        in_order = sorted(sentences)
        return _coin(self._method, *in_order) == (in_order[0] == sentences[0])


def _coin(*parts: str) -> bool:
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return bool(hashlib.blake2b(text, digest_size=1).digest()[0] & 1)
