"""Comparison matches: every two phrases of a vocabulary, compared by a judge.

Section 2 of docs/method/explicit.md. The schedule (pairs, sentences, positions) follows
from the vocabulary, the settings and the seed alone, so every judge is asked about the
same sentence pairs. What is made of the answers is in `ranking.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.judges.protocol import Choice, ComparisonQuestion, Judge
from lunguage_assets.randomness import (
    U64,
    digest,
    mix,
    random_bits,
    smallest,
    text_hash,
    text_hashes,
)
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES

# Mixed into the hash of a pair and repetition, so that its draws are independent.
_SENTENCE_A = 0
_SENTENCE_B = 1
_COIN = 2


class ScheduledMatch(NamedTuple):
    """Two phrases, each with one of its examples; fields of `COMPARISON_MATCHES`.

    Attributes:
        match_id: hash of the phrases and the repetition.
        phrase_a: the first in alphabetical order.
        phrase_b: the second.
        repetition: number of the comparison of this pair, from 0.
        sentence_a: masked example of the first phrase.
        sentence_b: masked example of the second.
        swapped: whether sentence b is shown first.
    """

    match_id: str
    phrase_a: str
    phrase_b: str
    repetition: int
    sentence_a: str
    sentence_b: str
    swapped: bool

    @property
    def question(self) -> ComparisonQuestion:
        """What every judge is asked."""
        if self.swapped:
            return ComparisonQuestion(self.sentence_b, self.sentence_a, self.repetition)
        return ComparisonQuestion(self.sentence_a, self.sentence_b, self.repetition)

    def winner(self, choice: Choice) -> str | None:
        """Name the phrase whose sentence was chosen; None for an invalid answer."""
        if choice == "invalid":
            return None
        is_first_chosen = choice == "sentence_1"
        return self.phrase_b if is_first_chosen == self.swapped else self.phrase_a


def comparison_matches(
    vocabulary: pd.DataFrame, judge: Judge, settings: ExplicitSettings
) -> pd.DataFrame:
    """Ask a judge about all matches of a vocabulary.

    Args:
        vocabulary: `HEDGE_VOCABULARY` frame.
        judge: who is asked.
        settings: `repetitions`, seed, position.

    Returns:
        A `COMPARISON_MATCHES` frame, sorted by phrases and repetition.
    """
    matches = schedule(vocabulary, settings)
    choices = judge.compare([match.question for match in matches])
    # By column: a large vocabulary has a million matches.
    columns: dict[str, list[Any]] = {
        name: [getattr(match, name) for match in matches]
        for name in ScheduledMatch._fields
    }
    columns["answer"] = list(choices)
    columns["winner"] = list(map(ScheduledMatch.winner, matches, choices))
    columns["vocabulary_version"] = vocabulary["vocabulary_version"].tolist()[:1]
    columns["vocabulary_version"] *= len(matches)
    return COMPARISON_MATCHES.frame(columns)


def schedule(
    vocabulary: pd.DataFrame, settings: ExplicitSettings
) -> list[ScheduledMatch]:
    """List all matches: every two retained phrases, `repetitions` times.

    None for the published scale, which needs no matches, and for a vocabulary of less
    than two phrases. A sentence that exemplifies both phrases may meet itself, as in
    the published procedure.
    """
    is_own = vocabulary["retained"] & (vocabulary["ruler"] == "own")
    retained = vocabulary[is_own.to_numpy(dtype=bool)]
    pairs = zip(retained["phrase"], retained["example_sentences"], strict=True)
    # Alphabetical, so that no order of the vocabulary decides what is phrase a.
    phrases = [_Examples.of(phrase, examples) for phrase, examples in sorted(pairs)]
    matches: list[ScheduledMatch] = []
    for a, b in combinations(phrases, 2):
        pair = text_hash(settings.seed, a.phrase, b.phrase)
        number = np.arange(settings.repetitions, dtype=np.uint64)
        # A coin decides which sentence is shown first; the public code shows a first.
        is_coin = random_bits(mix(pair, number, _COIN)) & (settings.position == "coin")
        columns = (
            a.draw(mix(pair, number, _SENTENCE_A)),
            b.draw(mix(pair, number, _SENTENCE_B)),
            is_coin.tolist(),
        )
        for repetition, drawn in enumerate(zip(*columns, strict=True)):
            match_id = digest(a.phrase, b.phrase, repetition)[:24]
            matches.append(
                ScheduledMatch(match_id, a.phrase, b.phrase, repetition, *drawn)
            )
    return matches


class _Examples(NamedTuple):
    """A phrase, its distinct examples in order, and their hashes."""

    phrase: str
    sentences: list[str]
    hashes: U64

    @classmethod
    def of(cls, phrase: str, examples: Iterable[str]) -> _Examples:
        sentences = sorted(set(examples))
        return cls(phrase, sentences, text_hashes(sentences))

    def draw(self, hashes: U64) -> list[str]:
        """Draw an example for each hash; an added example changes few draws."""
        return [self.sentences[i] for i in smallest(hashes, self.hashes).tolist()]
