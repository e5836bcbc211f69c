"""Small invented comparison matches, one line per answer or of phrases whose true
places are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from tentative_findings import own_vocabulary

from lunguage_assets.explicit.ranking import reference_ranking
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES

Answer = tuple[str, str, int, bool, str]
"""phrase_a, phrase_b, repetition, swapped, answer."""


def matches_frame(answers: Iterable[Answer]) -> pd.DataFrame:
    """A `COMPARISON_MATCHES` frame; each repetition of a phrase pair has sentences of
    its own.
    """
    rows = []
    for a, b, repetition, swapped, answer in answers:
        winner = b if (answer == "sentence_1") == swapped else a
        if answer == "invalid":
            winner = None
        rows.append({
            "match_id": f"{a}|{b}|{repetition}", "phrase_a": a, "phrase_b": b, "repetition": repetition,
            "sentence_a": f"{a} <finding> {repetition}.", "sentence_b": f"{b} <finding> {repetition}.",
            "swapped": swapped, "answer": answer, "winner": winner, "vocabulary_version": "v",
        })  # fmt: skip
    return COMPARISON_MATCHES.frame(rows)


def winners_frame(winners: Iterable[tuple[str, str, str]]) -> pd.DataFrame:
    """Matches that were never swapped, from (phrase_a, phrase_b, winner); '' is an
    invalid answer. Repetitions are numbered.
    """
    seen: dict[tuple[str, str], int] = {}
    answers: list[Answer] = []
    for a, b, winner in winners:
        repetition = seen.setdefault((a, b), 0)
        seen[a, b] += 1
        answer = {"": "invalid", a: "sentence_1", b: "sentence_2"}[winner]
        answers.append((a, b, repetition, False, answer))
    return matches_frame(answers)


Decide = Callable[[str, str, int, str], bool | None]
"""(phrase_a, phrase_b, repetition, judge) -> phrase_a wins; None: the answer is
invalid.
"""


def names(size: int) -> list[str]:
    return [f"p{i:02d}" for i in range(size)]


def noisy(
    seed: int = 0, gap: float = 2.0, noise: float = 5.0, shared: float = 3.0
) -> Decide:
    """Places `gap` apart, the first phrase highest; noise of the sentence pair, which
    judges share, and of the judge.
    """

    def decide(a: str, b: str, repetition: int, judge: str) -> bool:
        numbers = [seed, int(a[1:]), int(b[1:]), repetition]
        of_pair = np.random.default_rng(numbers).normal(0.0, shared)
        own = np.random.default_rng([*numbers, *judge.encode()]).normal(0.0, noise)
        return bool(gap * (numbers[2] - numbers[1]) + of_pair + own > 0.0)

    return decide


def recorded(
    size: int, judges: list[str], decide: Decide, repetitions: int = 10
) -> dict[str, pd.DataFrame]:
    """A `COMPARISON_MATCHES` frame per judge; the coin of the position is that of the
    repetition's number.
    """

    def answered(a: str, b: str, repetition: int, judge: str) -> Answer:
        won = decide(a, b, repetition, judge)
        swapped = repetition % 2 == 1
        answer = "sentence_1" if won != swapped else "sentence_2"
        if won is None:
            answer = "invalid"
        return a, b, repetition, swapped, answer

    met = list(product(combinations(names(size), 2), range(repetitions)))
    return {
        judge: matches_frame(answered(*pair, number, judge) for pair, number in met)
        for judge in judges
    }


def ranked(
    matches: dict[str, pd.DataFrame], settings: ExplicitSettings
) -> pd.DataFrame:
    """The ranking of those matches."""
    pairs = pd.concat(matches)[["phrase_a", "phrase_b"]]
    phrases = sorted(set(pairs.to_numpy().ravel()))
    vocabulary = own_vocabulary({name: [f"{name} <finding>."] for name in phrases})
    return reference_ranking(vocabulary, matches, settings)


def measured(
    frame: pd.DataFrame,
    measure: str,
    first: str = "",
    second: str = "",
    coding: str = "none",
) -> dict[str, Any]:
    """The one row of an agreement table with these values; None where a value is
    null.
    """
    key = ["measure", "first", "second", "coding"]
    (row,) = frame[
        (frame[key] == [measure, first, second, coding]).all(axis=1)
    ].to_dict("records")
    return {str(name): None if pd.isna(value) else value for name, value in row.items()}
