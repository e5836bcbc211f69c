"""Small invented comparison matches, one line per answer, and the coefficients of agreement in plain
loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd

from lunguage_assets.tables import COMPARISON_MATCHES

Answer = tuple[str, str, int, bool, str]
"""phrase_a, phrase_b, repetition, swapped, answer."""


def matches_frame(answers: Iterable[Answer], version: str = "v") -> pd.DataFrame:
    """A `COMPARISON_MATCHES` frame; each repetition of a phrase pair has sentences of its own."""
    rows = []
    for a, b, repetition, swapped, answer in answers:
        winner = None if answer == "invalid" else (b if (answer == "sentence_1") == swapped else a)
        rows.append({
            "match_id": f"{a}|{b}|{repetition}", "phrase_a": a, "phrase_b": b, "repetition": repetition,
            "sentence_a": f"{a} <finding> {repetition}.", "sentence_b": f"{b} <finding> {repetition}.",
            "swapped": swapped, "answer": answer, "winner": winner, "vocabulary_version": version,
        })  # fmt: skip
    return COMPARISON_MATCHES.frame(rows)


def winners_frame(winners: Iterable[tuple[str, str, str]], version: str = "v") -> pd.DataFrame:
    """Matches that were never swapped, from (phrase_a, phrase_b, winner); '' is an invalid answer.
    Repetitions are numbered.
    """
    seen: dict[tuple[str, str], int] = {}
    answers: list[Answer] = []
    for a, b, winner in winners:
        repetition = seen.setdefault((a, b), 0)
        seen[a, b] += 1
        answers.append((a, b, repetition, False, {"": "invalid", a: "sentence_1", b: "sentence_2"}[winner]))
    return matches_frame(answers, version)


def simulated_panel(
    judges: Iterable[str], phrases: int = 42, repetitions: int = 10, noise: float = 0.07
) -> dict[str, pd.DataFrame]:
    """Judges that share a view of every sentence pair and each depart from it with probability `noise`;
    positions by coin.
    """
    names = [f"phrase {i:02d}" for i in range(phrases)]
    pairs = list(combinations(range(phrases), 2))
    shape = (len(pairs), repetitions)
    shared = np.random.default_rng(1)
    distance = np.array([b - a for a, b in pairs])[:, None]
    view = shared.random(shape) < 1.0 / (1.0 + np.exp(-distance / 3.0))
    swapped = shared.random(shape) < 0.5
    panel = {}
    for number, judge in enumerate(judges):
        prefers_b = view ^ (np.random.default_rng(100 + number).random(shape) < noise)
        panel[judge] = matches_frame(
            (
                names[a],
                names[b],
                r,
                bool(swapped[i, r]),
                "sentence_1" if prefers_b[i, r] == swapped[i, r] else "sentence_2",
            )
            for i, (a, b) in enumerate(pairs)
            for r in range(repetitions)
        )
    return panel


def plain_kappa(ratings: np.ndarray) -> float | None:
    """Fleiss' kappa by the printed formula, in loops."""
    rows = [row for row in ratings.tolist() if min(row) >= 0]
    if not rows:
        return None
    raters = len(rows[0])
    agreeing = [sum(a == b for a, b in combinations(row, 2)) / (raters * (raters - 1) / 2) for row in rows]
    pooled = Counter(value for row in rows for value in row)
    chance = sum((count / (len(rows) * raters)) ** 2 for count in pooled.values())
    return None if len(pooled) < 2 else (sum(agreeing) / len(rows) - chance) / (1 - chance)


def plain_alpha(ratings: np.ndarray) -> float | None:
    """Nominal alpha from all ordered pairs of ratings within units and overall, in loops."""
    units = [[value for value in row if value >= 0] for row in ratings.tolist()]
    units = [row for row in units if len(row) > 1]
    pooled = [value for row in units for value in row]
    if len(set(pooled)) < 2:
        return None
    within = sum(sum(a != b for a, b in combinations(row, 2)) * 2 / (len(row) - 1) for row in units) / len(
        pooled
    )
    overall = sum(a != b for a, b in combinations(pooled, 2)) * 2 / (len(pooled) * (len(pooled) - 1))
    return 1 - within / overall
