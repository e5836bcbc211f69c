"""Scorers: masked sentences in, places out. A judge compares two scores; the rule-based judges are scorers
themselves, and so is a model that was distilled from a panel (`explicit/distilled`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

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
        """mu and mu_sd of each sentence, NaN where it cannot say. A sentence's score depends on no other."""


def chosen(
    method: str, question: ComparisonQuestion, first: float | None, second: float | None
) -> Choice:
    """The sentence with the higher score; without a score of both, the answer is invalid (explicit.md
    section 6).

    Equal scores are decided by a coin hashed from the two sentences and the method, the same coin whichever
    is shown first; between identical sentences it falls on the position, anew for every replicate.
    """
    if first is None or second is None:
        return "invalid"
    one, two = question.sentence_1, question.sentence_2
    if first != second:
        wins = first > second
    elif one == two:
        wins = _coin(method, one, str(question.replicate))
    else:
        wins = _coin(method, *sorted((one, two))) == (one < two)
    return "sentence_1" if wins else "sentence_2"


def _coin(*parts: str) -> bool:
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return bool(hashlib.blake2b(text, digest_size=1).digest()[0] & 1)


class ScorerJudge:
    """A judge that compares two scores of a scorer. It extracts no phrases: such an answer is invalid."""

    def __init__(self, key: str, scorer: Scorer) -> None:
        self.key, self.identity, self._scorer = key, scorer.identity, scorer
        self._known: dict[str, tuple[float, float]] = {}

    def extract(
        self, questions: Sequence[ExtractionQuestion]
    ) -> list[ExtractionAnswer]:
        """Nothing valid."""
        return [ExtractionAnswer((), valid=False) for _ in questions]

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Choice]:
        """The more certain sentence of each question, as `chosen` says."""
        first = self._mu_of([question.sentence_1 for question in questions])
        second = self._mu_of([question.sentence_2 for question in questions])
        scored = zip(questions, first, second, strict=True)
        return [
            chosen(self.identity, question, one, other)
            for question, one, other in scored
        ]

    def scores(self, masked_sentences: Sequence[str]) -> tuple[Floats, Floats]:
        """mu and mu_sd of each sentence, as of any `Scorer`; the scorer sees a sentence once."""
        if new := sorted(set(masked_sentences) - self._known.keys()):
            mu, mu_sd = self._scorer.scores(new)
            self._known |= dict(
                zip(new, zip(mu.tolist(), mu_sd.tolist(), strict=True), strict=True)
            )
        found = np.array(
            [self._known[sentence] for sentence in masked_sentences], dtype=np.float64
        )
        return found.reshape(-1, 2)[:, 0], found.reshape(-1, 2)[:, 1]

    def _mu_of(self, masked_sentences: Sequence[str]) -> list[float | None]:
        return [
            None if math.isnan(mu) else mu
            for mu in self.scores(masked_sentences)[0].tolist()
        ]


def unknown_deviation(mu: Sequence[float | None]) -> tuple[Floats, Floats]:
    """Scores of a scorer that does not know how far it errs."""
    found = np.array([math.nan if one is None else one for one in mu], dtype=np.float64)
    return found, np.full(len(found), math.nan)
