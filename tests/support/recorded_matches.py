"""Invented comparison matches of phrases whose true places are known, for ranking statistics and
validation.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
from tentative_findings import own_vocabulary

from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES

Decide = Callable[[str, str, int, str], bool | None]
"""(phrase_a, phrase_b, repetition, judge) -> phrase_a wins; None: the answer is invalid."""


def names(size: int) -> list[str]:
    return [f"p{i:02d}" for i in range(size)]


def noisy(seed: int = 0, gap: float = 2.0, noise: float = 5.0, shared: float = 3.0) -> Decide:
    """Places `gap` apart, the first phrase highest; noise of the sentence pair, which judges share, and of
    the judge.
    """

    def decide(a: str, b: str, repetition: int, judge: str) -> bool:
        pair = np.random.default_rng([seed, int(a[1:]), int(b[1:]), repetition])
        own = np.random.default_rng([seed, int(a[1:]), int(b[1:]), repetition, *judge.encode()])
        return bool(gap * (int(b[1:]) - int(a[1:])) + pair.normal(0.0, shared) + own.normal(0.0, noise) > 0.0)

    return decide


def decided_by_pair(seed: int = 0, upsets: float = 0.2) -> Decide:
    """Every repetition of a pair has the same answer of a judge; a share of the pairs are upsets."""

    def decide(a: str, b: str, repetition: int, judge: str) -> bool:
        return bool(np.random.default_rng([seed, int(a[1:]), int(b[1:]), *judge.encode()]).random() > upsets)

    return decide


def recorded(size: int, judges: list[str], decide: Decide, repetitions: int = 10) -> dict[str, pd.DataFrame]:
    """A `COMPARISON_MATCHES` frame per judge; the coin of the position is that of the repetition's number."""
    meetings = [
        (a, b, repetition) for a, b in combinations(names(size), 2) for repetition in range(repetitions)
    ]
    frames = {}
    for judge in judges:
        wins = [decide(a, b, repetition, judge) for a, b, repetition in meetings]
        swapped = [repetition % 2 == 1 for _, _, repetition in meetings]
        frames[judge] = COMPARISON_MATCHES.frame(
            {
                "match_id": [f"{a}|{b}|{repetition}" for a, b, repetition in meetings],
                "phrase_a": [a for a, _, _ in meetings],
                "phrase_b": [b for _, b, _ in meetings],
                "repetition": [repetition for _, _, repetition in meetings],
                "sentence_a": [f"{a} <finding> {repetition}." for a, _, repetition in meetings],
                "sentence_b": [f"{b} <finding> {repetition}." for _, b, repetition in meetings],
                "swapped": swapped,
                "answer": [
                    "invalid" if won is None else "sentence_1" if won != swap else "sentence_2"
                    for won, swap in zip(wins, swapped, strict=True)
                ],
                "winner": [
                    None if won is None else a if won else b
                    for won, (a, b, _) in zip(wins, meetings, strict=True)
                ],
                "vocabulary_version": ["v"] * len(meetings),
            }
        )
    return frames


def ranked(matches: dict[str, pd.DataFrame], settings: ExplicitSettings) -> pd.DataFrame:
    """The ranking of those matches."""
    phrases = sorted(
        {phrase for frame in matches.values() for phrase in [*frame["phrase_a"], *frame["phrase_b"]]}
    )
    vocabulary = own_vocabulary({phrase: [f"{phrase} <finding>."] for phrase in phrases})
    return reference_ranking(vocabulary, matches, settings)
