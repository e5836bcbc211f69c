"""Scorers: masked sentences in, scores out; a judge compares two of them.

The rule-based judges are scorers themselves, and so is a model that was distilled from
a panel (`explicit/distilled/`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from lunguage_assets.judges.protocol import (
    Choice,
    ComparisonQuestion,
    ExtractionAnswer,
    ExtractionQuestion,
)
from lunguage_assets.randomness import Floats


@runtime_checkable
class Scorer(Protocol):
    """Says how certain a masked sentence is of its finding."""

    @property
    def identity(self) -> str:
        """Names everything that changes a score."""

    def scores(self, masked_sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """Score sentences, each without regard to the others.

        Returns:
            mu and mu_sd of each sentence, NaN where it cannot say.
        """


def choose_sentence(
    method: str,
    question: ComparisonQuestion,
    score_1: float | None,
    score_2: float | None,
) -> Choice:
    """Choose the sentence with the higher score (explicit.md section 6).

    Equal scores are decided by a coin hashed from the two sentences and the method, the
    same coin whichever is shown first. Between identical sentences it falls on the
    position, anew for every replicate.

    Args:
        method: whose scores they are: coins of different methods fall independently.
        question: the two sentences.
        score_1: of the first sentence; None: it has none, and the answer is invalid.
        score_2: of the second sentence.
    """
    if score_1 is None or score_2 is None:
        return "invalid"
    sentence_1 = question.sentence_1
    sentence_2 = question.sentence_2
    if score_1 != score_2:
        is_first = score_1 > score_2
    elif sentence_1 == sentence_2:
        is_first = _coin(method, sentence_1, str(question.replicate))
    else:
        # Sorted: the coin speaks for one of the sentences, wherever it is shown.
        is_lower = _coin(method, *sorted((sentence_1, sentence_2)))
        is_first = is_lower == (sentence_1 < sentence_2)
    return "sentence_1" if is_first else "sentence_2"


def _coin(*parts: str) -> bool:
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return bool(hashlib.blake2b(text, digest_size=1).digest()[0] & 1)


class _Score(NamedTuple):
    """Of one sentence."""

    mu: float
    mu_sd: float


class ScorerJudge:
    """A judge that compares two scores of a scorer.

    It extracts no phrases: such an answer is invalid.

    Args:
        key: of the judge.
        scorer: scores the sentences.
    """

    def __init__(self, key: str, scorer: Scorer) -> None:
        self.key = key
        self.identity = scorer.identity
        self._scorer = scorer
        # A fit compares the same sentences round after round.
        self._score_by_sentence: dict[str, _Score] = {}

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Answer every question as invalid."""
        return [ExtractionAnswer((), valid=False) for _ in questions]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """Choose the surer sentence of each question; see `choose_sentence`."""
        scores_1 = self._known_mu([question.sentence_1 for question in questions])
        scores_2 = self._known_mu([question.sentence_2 for question in questions])
        return [
            choose_sentence(self.identity, question, score_1, score_2)
            for question, score_1, score_2 in zip(
                questions, scores_1, scores_2, strict=True
            )
        ]

    def scores(self, masked_sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """Score sentences as any `Scorer` does; the scorer sees a sentence once."""
        unknown = sorted(set(masked_sentences) - self._score_by_sentence.keys())
        if unknown:
            mu, mu_sd = self._scorer.scores(unknown)
            new_scores = map(_Score, mu.tolist(), mu_sd.tolist())
            self._score_by_sentence |= dict(zip(unknown, new_scores, strict=True))
        scores = [self._score_by_sentence[sentence] for sentence in masked_sentences]
        return (
            np.array([score.mu for score in scores], dtype=np.float64),
            np.array([score.mu_sd for score in scores], dtype=np.float64),
        )

    def _known_mu(self, masked_sentences: Sequence[str]) -> list[float | None]:
        """Score sentences; None where the scorer cannot say."""
        mu, _ = self.scores(masked_sentences)
        return [None if math.isnan(score) else score for score in mu.tolist()]


def unknown_deviation(scores: Sequence[float | None]) -> tuple[Floats, Floats]:
    """Give the scores of a scorer that does not know how far it errs.

    Returns:
        mu, NaN for None, and mu_sd, NaN for all.
    """
    # numpy reads None as NaN where it is told to make numbers.
    mu = np.array(scores, dtype=np.float64)
    return mu, np.full(len(mu), math.nan)
