"""The recorded matches as a table of outcomes. Validation draws answers from it and asks no judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lunguage_assets.errors import MethodError
from lunguage_assets.explicit.fit.asking import INVALID, Answers

_REMEDY = "Materialise comparison_matches of that judge again, then reference_ranking."
_UNKNOWN = -9


@dataclass(frozen=True)
class RecordedMatches:
    """Recorded answers, shape (phrases, phrases, judges, repetitions).

    1: the first phrase won, 0: it lost, -1: the answer was invalid. Phrases are in ranking order, judges in
    panel order. A phrase has no match with itself (-1).
    """

    judges: tuple[str, ...]
    outcomes: Answers

    @property
    def repetitions(self) -> int:
        return int(self.outcomes.shape[3])


def recorded_matches(ranking: pd.DataFrame, matches: Mapping[str, pd.DataFrame]) -> RecordedMatches:
    """The matches that a ranking was made from.

    Args:
        ranking: `REFERENCE_RANKING` frame of an own ruler.
        matches: `COMPARISON_MATCHES` frame per judge, at least those of the ranking's judges.

    Raises:
        MethodError: a judge of the ranking without matches, or matches that are not exactly those of the
            ranked phrases.
    """
    ordered = ranking.sort_values("rank", kind="stable")
    phrases = pd.Index(ordered["phrase"])
    judges = tuple(ordered["judges"].iloc[0])
    version = str(ordered["vocabulary_version"].iloc[0])
    lacking = [judge for judge in judges if judge not in matches]
    if lacking:
        raise MethodError(f"there are no matches of judge {lacking[0]!r}, which the ranking names. {_REMEDY}")
    repetitions = 1 + max(
        int(matches[judge]["repetition"].max()) if len(matches[judge]) else 0 for judge in judges
    )
    outcomes = np.stack(
        [_of_judge(judge, matches[judge], phrases, version, repetitions) for judge in judges], axis=2
    )
    return RecordedMatches(judges, outcomes)


def _of_judge(judge: str, frame: pd.DataFrame, phrases: pd.Index, version: str, repetitions: int) -> Answers:
    """One judge's outcomes, shape (phrases, phrases, repetitions)."""
    one, two = (
        phrases.get_indexer(pd.Index(frame["phrase_a"])),
        phrases.get_indexer(pd.Index(frame["phrase_b"])),
    )
    outcomes = np.full((len(phrases), len(phrases), repetitions), _UNKNOWN, dtype=np.int8)
    known = bool((one >= 0).all() and (two >= 0).all()) and set(frame["vocabulary_version"]) <= {version}
    if known:
        repetition = frame["repetition"].to_numpy(dtype=np.int64)
        valid = (frame["answer"] != "invalid").to_numpy(dtype=bool)
        won = (frame["winner"] == frame["phrase_a"]).to_numpy(dtype=bool)
        outcomes[one, two, repetition] = np.where(valid, won, INVALID)
        outcomes[two, one, repetition] = np.where(valid, ~won, INVALID)
    itself = np.arange(len(phrases))
    outcomes[itself, itself] = INVALID
    missing = int((outcomes == _UNKNOWN).sum()) // 2
    if missing:
        raise MethodError(
            f"matches of judge {judge!r}: {missing} are missing, or they are of another vocabulary; expected "
            f"{repetitions} for every pair of the {len(phrases)} ranked phrases. {_REMEDY}"
        )
    return outcomes
