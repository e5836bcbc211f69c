"""Diagnostics of a single judge (explicit.md section 3).

Position bias, invalid answers, consistency over repetitions, cycles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Any, Literal

import numpy as np
import pandas as pd

from lunguage_assets.explicit.analysis.reliability import (
    NOT_DEFINED,
    MeasuredValue,
    agreement_row,
    independent,
    shares,
)
from lunguage_assets.settings import ExplicitSettings

Verdict = Literal["even", "biased", "positions fixed", "no valid answer", "no matches"]
_SIGNIFICANT = 0.05
_FIXED = "positions were never swapped"


@dataclass(frozen=True)
class PositionBias:
    """How often a judge chose the sentence shown first, and the effect of the position on its choices.

    `overall` is P(sentence_1) with its Wilson interval; `a_first` and `b_first` the same where phrase_a or
    phrase_b was shown first. `effect` is P(phrase_a chosen | shown first) - P(phrase_a chosen | shown second)
    with Newcombe's interval: 0 for a judge that looks at the content only, 1 for one that always answers
    sentence_1. Both intervals take answers as independent.
    """

    overall: MeasuredValue
    a_first: MeasuredValue
    b_first: MeasuredValue
    effect: MeasuredValue
    p_value: float | None
    invalid: int
    verdict: Verdict

    @property
    def passed(self) -> bool:
        """False for a biased judge and for a judge without a valid answer.

        Positions that were never swapped are not held against a judge.
        """
        return self.verdict not in ("biased", "no valid answer")


def position_bias(frame: pd.DataFrame, tolerance: float = 0.05) -> PositionBias:
    """The position bias of one judge.

    Args:
        frame: its `COMPARISON_MATCHES` frame.
        tolerance: a judge is biased when P(sentence_1) is farther from one half than this, and significantly
            so (5%, exact test).

    A coin decides which phrase is shown first, so a judge that looks at the content only chooses sentence_1
    half the time whatever the sentences are, and the binomial test is exact. With fixed positions content and
    position cannot be told apart: no test, no verdict.
    """
    from scipy.stats import binomtest

    answer, swapped = frame["answer"].to_numpy(), frame["swapped"].to_numpy(dtype=bool)
    first, valid = answer == "sentence_1", answer != "invalid"
    a_first = (int((first & ~swapped).sum()), int((valid & ~swapped).sum()))
    b_first = (int((first & swapped).sum()), int((valid & swapped).sum()))
    hits, n = a_first[0] + b_first[0], a_first[1] + b_first[1]
    tested = a_first[1] > 0 and b_first[1] > 0
    p_value = float(binomtest(hits, n).pvalue) if tested else None
    verdict: Verdict = "even"
    if n == 0:
        verdict = "no valid answer" if len(frame) else "no matches"
    elif p_value is None:
        verdict = "positions fixed"
    elif abs(hits / n - 0.5) > tolerance and p_value < _SIGNIFICANT:
        verdict = "biased"
    return PositionBias(
        overall=wilson(hits, n),
        a_first=wilson(*a_first),
        b_first=wilson(*b_first),
        effect=_position_effect(a_first, b_first) if tested else NOT_DEFINED,
        p_value=p_value,
        invalid=int((~valid).sum()),
        verdict=verdict,
    )


def wilson(hits: int, n: int) -> MeasuredValue:
    """A share with Wilson's 95% interval, which takes the cases as independent."""
    from scipy.stats import binomtest

    if n == 0:
        return NOT_DEFINED
    limits = binomtest(hits, n).proportion_ci(method="wilson")
    return MeasuredValue(hits / n, float(limits.low), float(limits.high), n)


def _position_effect(a_first: tuple[int, int], b_first: tuple[int, int]) -> MeasuredValue:
    from statsmodels.stats.proportion import confint_proportions_2indep

    chose_a, of_a_first = a_first
    of_b_first = b_first[1]
    chose_a_shown_second = of_b_first - b_first[0]
    value = chose_a / of_a_first - chose_a_shown_second / of_b_first
    low, high = confint_proportions_2indep(
        chose_a, of_a_first, chose_a_shown_second, of_b_first, method="newcomb", compare="diff"
    )
    return MeasuredValue(value, min(float(low), value), max(float(high), value), of_a_first + of_b_first)


def diagnostic_rows(judge: str, frame: pd.DataFrame, settings: ExplicitSettings) -> Iterator[dict[str, Any]]:
    """Rows of `JUDGE_AGREEMENT` about one judge."""
    bias = position_bias(frame, tolerance=0.0)
    invalid = {"invalid answer": bias.invalid}
    yield agreement_row(
        "sentence_1 chosen", bias.overall, first=judge, left_out=invalid, p_value=bias.p_value
    )
    yield agreement_row("sentence_1 chosen, phrase_a shown first", bias.a_first, first=judge)
    yield agreement_row("sentence_1 chosen, phrase_b shown first", bias.b_first, first=judge)
    fixed = {_FIXED: len(frame) - bias.invalid} if bias.verdict == "positions fixed" else {}
    yield agreement_row("position effect", bias.effect, first=judge, left_out={**invalid, **fixed})
    yield agreement_row("invalid answers", wilson(bias.invalid, len(frame)), first=judge)
    votes = pair_votes(frame)
    share, unrepeated = _majority_share(votes, settings)
    yield agreement_row("majority share", share, first=judge, left_out=unrepeated)
    cycles, undecided = _cyclic_triads(votes)
    yield agreement_row("cyclic triads", cycles, first=judge, left_out=undecided)


def pair_votes(frame: pd.DataFrame) -> pd.DataFrame:
    """Votes of one judge over the repetitions of each phrase pair: `phrase_a` and `phrase_b`, in alphabetical
    order, and their wins `for_a` and `for_b`. A pair with invalid answers only has no votes.
    """
    wins = {
        f"for_{side}": (frame["winner"] == frame[f"phrase_{side}"]).fillna(False).astype("int64")
        for side in "ab"
    }
    votes = frame[["phrase_a", "phrase_b"]].assign(**wins)
    return votes.groupby(["phrase_a", "phrase_b"], sort=True).sum().reset_index()


def _majority_share(votes: pd.DataFrame, settings: ExplicitSettings) -> tuple[MeasuredValue, dict[str, int]]:
    """Mean over phrase pairs of the majority's share of the answers.

    It is 1 for a judge that always says the same, and 0.62 for ten coins. The interval resamples phrase
    pairs.
    """
    wins = votes[["for_a", "for_b"]].to_numpy(dtype=np.int64)
    n = wins.sum(axis=1)
    repeated = n > 1
    share = wins.max(axis=1, initial=0) / np.maximum(n, 1) * repeated
    resampling = independent(len(n), settings.seed, settings.bootstrap)
    estimate = shares(share[:, None], repeated[:, None].astype(float), resampling)[0]
    return estimate, {"phrase pair with fewer than two valid answers": int((~repeated).sum())}


def _cyclic_triads(votes: pd.DataFrame) -> tuple[MeasuredValue, dict[str, int]]:
    """Share of phrase triples whose majority votes go round in a circle; 0.25 by chance.

    Only triples with three decided votes count.
    """
    phrases = pd.Index(sorted({*votes["phrase_a"], *votes["phrase_b"]}))
    beats = np.zeros((len(phrases), len(phrases)))
    a, b = phrases.get_indexer(votes["phrase_a"]), phrases.get_indexer(votes["phrase_b"])
    beats[a, b] = votes["for_a"] > votes["for_b"]
    beats[b, a] = votes["for_b"] > votes["for_a"]
    decided = beats + beats.T
    triples = round(float(np.trace(decided @ decided @ decided))) // 6
    cyclic = round(float(np.trace(beats @ beats @ beats))) // 3
    left_out = {"phrase triple with a tie or without answers": comb(len(phrases), 3) - triples}
    return MeasuredValue(cyclic / triples if triples else None, None, None, triples), left_out
