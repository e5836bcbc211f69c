"""Scorers: judges that score masked sentences, and compare two of them by the scores.

The rule-based judges are scorers, and so is a model that was distilled from a panel
(`explicit/distilled/`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

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


class Scorer:
    """A judge that says how certain a masked sentence is of its finding.

    It extracts no phrases: such an answer is invalid.

    Args:
        key: of the judge.
        identity: names everything that changes a score.
        compute: scores sentences, each without regard to the others; NaN or None: it
            cannot say.
        method: whose scores they are: coins of different methods fall independently.
    """

    def __init__(
        self,
        key: str,
        identity: str,
        compute: Callable[[Sequence[str]], Iterable[float | None]],
        method: str = "",
    ) -> None:
        self.key = key
        self.identity = identity
        self._compute = compute
        self._method = method or identity
        self._score_by_sentence: dict[str, float | None] = {}

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Answer every question as invalid."""
        return [ExtractionAnswer((), valid=False) for _ in questions]

    def scores(self, masked_sentences: Sequence[str]) -> Floats:
        """Score sentences, each of which is computed once; NaN: no score."""
        if len(self._score_by_sentence) > _MOST_REMEMBERED:
            self._score_by_sentence.clear()
        unknown = sorted(set(masked_sentences) - self._score_by_sentence.keys())
        if unknown:
            scores = self._compute(unknown)
            self._score_by_sentence |= dict(zip(unknown, scores, strict=True))
        return np.array(
            [self._score_by_sentence[it] for it in masked_sentences], dtype=np.float64
        )

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """Choose the sentence with the higher score (explicit.md section 6).

        Without a score the answer is invalid, and equal scores are decided by a coin.
        """
        mu_1 = self.scores([question.sentence_1 for question in questions])
        mu_2 = self.scores([question.sentence_2 for question in questions])
        choices: list[Choice] = []
        for question, difference in zip(questions, (mu_1 - mu_2).tolist(), strict=True):
            if np.isnan(difference):
                choices.append("invalid")
            elif difference > 0 or (difference == 0 and self._is_heads(question)):
                choices.append("sentence_1")
            else:
                choices.append("sentence_2")
        return choices

    def _is_heads(self, question: ComparisonQuestion) -> bool:
        """Toss a coin for the first sentence, hashed from both and the method.

        It is the same coin whichever is shown first. Between identical sentences it
        falls anew for every replicate. Where the order was drawn, the second is as good
        as drawn.
        """
        if question.is_order_drawn:
            return False
        sentences = sorted({question.sentence_1, question.sentence_2})
        parts = [self._method, *sentences]
        if len(sentences) == 1:
            parts.append(str(question.replicate))
        text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
        is_odd = bool(hashlib.blake2b(text, digest_size=1).digest()[0] & 1)
        return is_odd == (sentences[0] == question.sentence_1)
