"""Comparison matches: sentence pairs, positions, and one judge's answers (explicit.md section 2).

The schedule (pairs, sentences, positions) is a function of the vocabulary, the settings and the seed alone,
so every judge is asked about the same sentence pairs. Ratings are in `ranking.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.draws import coins, digest, mix, smallest, text_hash, text_hashes
from lunguage_assets.judges.protocol import ComparisonQuestion, Judge
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES


def comparison_matches(vocabulary: pd.DataFrame, judge: Judge, settings: ExplicitSettings) -> pd.DataFrame:
    """One judge's answers for all matches of a vocabulary, a `COMPARISON_MATCHES` frame.

    It is sorted by phrases and repetition. Every unordered pair of retained phrases is compared `repetitions`
    times. The published ruler needs no matches and gives an empty frame, as does a vocabulary of no or one
    phrase.
    """
    plan = schedule(vocabulary, settings)
    pairs = list(zip(plan["phrase_a"], plan["phrase_b"], plan["swapped"], strict=True))
    said = [answer.answer for answer in judge.compare(match_questions(plan))]
    winner = [
        None if answer == "invalid" else (b if (answer == "sentence_1") == swapped else a)
        for answer, (a, b, swapped) in zip(said, pairs, strict=True)
    ]
    version = str(vocabulary["vocabulary_version"].iloc[0]) if len(vocabulary) else ""
    versions = [version] * len(pairs)
    return COMPARISON_MATCHES.frame(
        {**plan, "answer": said, "winner": winner, "vocabulary_version": versions}
    )


def match_questions(plan: Mapping[str, list[Any]]) -> list[ComparisonQuestion]:
    """What every judge is asked in the matches of a `schedule`."""
    shown = zip(plan["sentence_a"], plan["sentence_b"], plan["repetition"], plan["swapped"], strict=True)
    return [ComparisonQuestion(*((b, a) if swapped else (a, b)), number) for a, b, number, swapped in shown]


def schedule(vocabulary: pd.DataFrame, settings: ExplicitSettings) -> dict[str, list[Any]]:
    """Sentences and positions of all matches: columns of `COMPARISON_MATCHES`, one entry per match.

    The position is a coin per match, or fixed (as published). A sentence that exemplifies both phrases may
    meet itself, as in the published procedure.
    """
    names = ("match_id", "phrase_a", "phrase_b", "repetition", "sentence_a", "sentence_b", "swapped")
    plan: dict[str, list[Any]] = {name: [] for name in names}
    own = (vocabulary["retained"] & (vocabulary["ruler"] == "own")).to_numpy(dtype=bool)
    retained = vocabulary[own]
    examples = dict(zip(retained["phrase"].tolist(), retained["example_sentences"].tolist(), strict=True))
    distinct = {phrase: sorted(set(sentences)) for phrase, sentences in examples.items()}
    hashes = {phrase: text_hashes(sentences) for phrase, sentences in distinct.items()}
    repetitions = np.arange(settings.repetitions, dtype=np.uint64)
    for a, b in combinations(sorted(distinct), 2):
        pair = text_hash(settings.seed, a, b)
        plan["match_id"] += [digest(a, b, repetition)[:24] for repetition in range(settings.repetitions)]
        plan["repetition"] += range(settings.repetitions)
        for side, (name, phrase) in enumerate((("a", a), ("b", b))):
            plan[f"phrase_{name}"] += [phrase] * settings.repetitions
            drawn = smallest(mix(pair, repetitions, side), hashes[phrase])
            plan[f"sentence_{name}"] += [distinct[phrase][i] for i in drawn.tolist()]
        swapped = coins(mix(pair, repetitions, 2)) & (settings.position == "coin")
        plan["swapped"] += swapped.tolist()
    return plan
