"""How long the full validation of the fit takes: python benchmarks/validation_speed.py [phrases] [judges]
[seeds].

42 phrases at their published places, 4 judges, 10 recorded comparisons per pair and judge, ten seeds, the
whole grid; then robustness and the verification of the ranking with the package on the same matches.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from itertools import combinations
from typing import TypeVar

import numpy as np
import pandas as pd

from lunguage_assets.explicit.analysis.trust.robustness import ranking_robustness
from lunguage_assets.explicit.analysis.trust.validation import fit_validation
from lunguage_assets.explicit.analysis.trust.verification import verify_with_package
from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.ranking import reference_ranking
from lunguage_assets.judges.rules.published import published_ranking, ruler_sentences
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import COMPARISON_MATCHES, HEDGE_VOCABULARY

T = TypeVar("T")


def timed(what: str, work: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = work()
    print(f"{what:<64}{time.perf_counter() - start:8.2f} s", flush=True)
    return result


def vocabulary(phrases: int) -> pd.DataFrame:
    """The published phrases as if they were a corpus' own."""
    sentences = ruler_sentences()
    return HEDGE_VOCABULARY.frame(
        [
            {"phrase": entry.phrase, "n_examples": len(sentences[entry.phrase]), "retained": True,
             "reason": "", "ruler": "own", "ruler_reason": "",
             "example_ids": [str(i) for i in range(len(sentences[entry.phrase]))],
             "example_sentences": list(sentences[entry.phrase]),
             "vocabulary_version": "benchmark"}
            for entry in published_ranking()[:phrases]
        ]
    )  # fmt: skip


def matches(phrases: int, judges: int, repetitions: int) -> dict[str, pd.DataFrame]:
    """Answers with the noise of the model, in part shared by the judges of a sentence pair."""
    rng = np.random.default_rng(0)
    mu = {entry.phrase: entry.mu for entry in published_ranking()[:phrases]}
    meetings = [
        (a, b, repetition) for a, b in combinations(sorted(mu), 2) for repetition in range(repetitions)
    ]
    gap = np.array([mu[a] - mu[b] for a, b, _ in meetings])
    shared = rng.normal(0.0, trueskill.BETA, len(meetings))
    frames = {}
    for judge in range(judges):
        won = (gap + shared + rng.normal(0.0, trueskill.BETA, len(meetings)) > 0.0).tolist()
        frames[f"judge {judge}"] = COMPARISON_MATCHES.frame(
            {
                "match_id": [f"{a}|{b}|{repetition}" for a, b, repetition in meetings],
                "phrase_a": [a for a, _, _ in meetings],
                "phrase_b": [b for _, b, _ in meetings],
                "repetition": [repetition for _, _, repetition in meetings],
                "sentence_a": [f"{a} {repetition}" for a, _, repetition in meetings],
                "sentence_b": [f"{b} {repetition}" for _, b, repetition in meetings],
                "swapped": [False] * len(meetings),
                "answer": ["sentence_1" if first else "sentence_2" for first in won],
                "winner": [a if first else b for first, (a, b, _) in zip(won, meetings, strict=True)],
                "vocabulary_version": ["benchmark"] * len(meetings),
            }
        )
    return frames


def main(phrases: int = 42, judges: int = 4, seeds: int = 10) -> None:
    settings = ExplicitSettings()
    known, answers = vocabulary(phrases), matches(phrases, judges, settings.repetitions)
    ranking = timed(
        f"ranking with {settings.bootstrap} resamples", lambda: reference_ranking(known, answers, settings)
    )
    print(timed("verification with the package", lambda: verify_with_package(ranking, answers, settings)))
    robustness = timed(
        "robustness, 10 halves and 10 other orders", lambda: ranking_robustness(ranking, answers, settings)
    )
    print(robustness.groupby("comparisons")[["mean_abs_mu", "mean_abs_rank", "spearman"]].mean().to_string())
    frame = timed(
        f"validation, {phrases} phrases, {judges} judges, {seeds} seeds",
        lambda: fit_validation(ranking, answers, settings, seeds),
    )
    own = frame[
        (frame["opponent_limit"] == settings.opponent_limit) & (frame["panel_steps"] == settings.panel_steps)
    ]
    own = own[
        (own["strategy"] == "draw probability")
        & own["judges"].isin(["all", "judge 0"])
        & own["step"].isin([10, 25, 100])
    ]
    print(f"{len(frame):,} rows")
    print(
        own[
            ["judges", "step", "mean_distance", "sd_distance", "mean_distance_stopped", "stopped_share"]
        ].to_string(index=False)
    )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:]))
