"""Comparison matches: sentence pairs, positions, and one judge's answers (explicit.md section 2).

The schedule (pairs, sentences, positions) is a function of the vocabulary, the settings and the seed alone,
so every judge is asked about the same sentence pairs. Ratings are in `ranking.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.draws import coins, digest, mix, smallest, text_hash, text_hashes
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge, ask_to_compare
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES


@dataclass(frozen=True)
class Schedule:
    """The comparisons; lists of equal length, one entry per match."""

    match_id: list[str]
    phrase_a: list[str]
    phrase_b: list[str]
    repetition: list[int]
    sentence_a: list[str]
    sentence_b: list[str]
    swapped: list[bool]

    def __len__(self) -> int:
        return len(self.match_id)

    def questions(self) -> list[ComparisonQuestion]:
        return [
            ComparisonQuestion(b, a, replicate) if swapped else ComparisonQuestion(a, b, replicate)
            for a, b, replicate, swapped in zip(
                self.sentence_a, self.sentence_b, self.repetition, self.swapped, strict=True
            )
        ]


def comparison_matches(vocabulary: pd.DataFrame, judge: Judge, settings: ExplicitSettings) -> pd.DataFrame:
    """One judge's answers for all matches of a vocabulary, a `COMPARISON_MATCHES` frame.

    It is sorted by phrases and repetition. Every unordered pair of retained phrases is compared `repetitions`
    times. The published ruler needs no matches and gives an empty frame, as does a vocabulary of no or one
    phrase.
    """
    plan = schedule(vocabulary, settings)
    answers = ask_to_compare(judge, plan.questions(), may_wait=True)
    said = [answer.answer for answer in answers]
    winner = [
        None if answer == "invalid" else (b if (answer == "sentence_1") == swapped else a)
        for answer, swapped, a, b in zip(said, plan.swapped, plan.phrase_a, plan.phrase_b, strict=True)
    ]
    version = str(vocabulary["vocabulary_version"].iloc[0]) if len(vocabulary) else ""
    columns: dict[str, list[Any]] = {
        "match_id": plan.match_id,
        "phrase_a": plan.phrase_a,
        "phrase_b": plan.phrase_b,
        "repetition": plan.repetition,
        "sentence_a": plan.sentence_a,
        "sentence_b": plan.sentence_b,
        "swapped": plan.swapped,
        "answer": said,
        "winner": winner,
        "vocabulary_version": [version] * len(plan),
    }
    return COMPARISON_MATCHES.frame(columns)


def schedule(vocabulary: pd.DataFrame, settings: ExplicitSettings) -> Schedule:
    """Sentences and positions of all matches.

    A sentence that exemplifies both phrases may meet itself, as in the published procedure; that match says
    nothing about either phrase and a judge answers it like any other.
    """
    plan = Schedule([], [], [], [], [], [], [])
    own = (vocabulary["retained"] & (vocabulary["ruler"] == "own")).to_numpy(dtype=bool)
    retained = vocabulary[own]
    examples = dict(zip(retained["phrase"].tolist(), retained["example_sentences"].tolist(), strict=True))
    distinct = {phrase: sorted(set(sentences)) for phrase, sentences in examples.items()}
    hashes = {phrase: text_hashes(sentences) for phrase, sentences in distinct.items()}
    repetitions = np.arange(settings.repetitions, dtype=np.uint64)
    for a, b in combinations(sorted(distinct), 2):
        pair = text_hash(settings.seed, a, b)
        plan.match_id.extend(digest(a, b, repetition)[:24] for repetition in range(settings.repetitions))
        plan.phrase_a.extend([a] * settings.repetitions)
        plan.phrase_b.extend([b] * settings.repetitions)
        plan.repetition.extend(range(settings.repetitions))
        plan.sentence_a.extend(
            distinct[a][i] for i in smallest(mix(pair, repetitions, 0), hashes[a]).tolist()
        )
        plan.sentence_b.extend(
            distinct[b][i] for i in smallest(mix(pair, repetitions, 1), hashes[b]).tolist()
        )
        plan.swapped.extend(_swapped(pair, settings).tolist())
    return plan


def _swapped(pair: int, settings: ExplicitSettings) -> NDArray[np.bool_]:
    """Whether phrase_b is shown first: a coin per match, or never (as published).

    Coins cancel a judge's position bias to first order.
    """
    if settings.position == "fixed":
        return np.zeros(settings.repetitions, dtype=bool)
    return coins(mix(pair, np.arange(settings.repetitions, dtype=np.uint64), 2))
