"""Agreement between judges over the comparison matches, their position bias, correlations of rankings, and
agreement of the ranking with the package `trueskill` (explicit.md section 3). Codings: `phrase`, the phrase
that was chosen (the published kappa), and `position`, whether it was shown first (the published alpha).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import trueskill as package

from lunguage_assets.explicit.rating import trueskill
from lunguage_assets.explicit.rating.ranking import collect_answers, random_orders
from lunguage_assets.randomness import Floats, Integers, text_hash
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import JUDGE_AGREEMENT, RANKING_CORRELATIONS
from lunguage_assets.tables.schema import Table

ALL_JUDGES = "all judges"
AVERAGED = -1
"""The order number of a reference ranking, which is averaged over random orders."""

PACKAGE_TOLERANCE = 1e-5
"""The package's default backend approximates erfc; with scipy's, ten times as slow, it is 1e-9."""

REPLAY_TOLERANCE = 1e-9
SAMPLE = 10_000
"""The most matches that the package plays."""

_QUESTION = ["match_id", "sentence_a", "sentence_b", "swapped"]


class MeasuredValue(NamedTuple):
    """A value (None where it is not defined), the cases behind it, and its 95% interval where it has one."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None


def wilson(hits: int, n: int) -> MeasuredValue:
    """A share with Wilson's 95% interval, which takes the cases as independent."""
    from scipy.stats import (
        binomtest,
    )  # slow to import, and definitions load this module

    if n == 0:
        return MeasuredValue(None, 0)
    limits = binomtest(hits, n).proportion_ci(method="wilson")
    return MeasuredValue(hits / n, n, float(limits.low), float(limits.high))


def mean_of(values: Iterable[float | None]) -> MeasuredValue:
    """The mean of the values that are defined, without an interval; `n` is their number."""
    defined = [value for value in values if value is not None]
    return MeasuredValue(float(np.mean(defined)) if defined else None, len(defined))


def pairwise_agreement(one: pd.Series, other: pd.Series) -> MeasuredValue:
    """Share of equal ratings of two raters over the units that both rated."""
    both = one.notna() & other.notna()
    return wilson(int((one[both] == other[both]).sum()), int(both.sum()))


def fleiss_kappa(ratings: pd.DataFrame) -> MeasuredValue:
    """Fleiss' kappa (Fleiss 1971) over the units (lines) that every rater (column) rated; `n` is their
    number. Not defined for fewer than two raters, no complete unit, or a single category in use.
    """
    complete = ratings.dropna()
    counts = _counts(complete)
    if ratings.shape[1] < 2 or counts.shape[1] < 2:
        return MeasuredValue(None, len(complete))
    from statsmodels.stats.inter_rater import fleiss_kappa as kappa

    return MeasuredValue(float(kappa(counts)), len(complete))


def krippendorff_alpha(ratings: pd.DataFrame) -> MeasuredValue:
    """Krippendorff's alpha for nominal data; units with at least two ratings count, and `n` is their number.

    `ratings` as for `fleiss_kappa`; not defined without such a unit or with a single category in use. The
    package of this name holds units x categories x categories numbers: gigabytes for a large vocabulary.
    """
    pairable = ratings[ratings.notna().sum(axis=1) > 1]
    counts = _counts(pairable)
    if counts.shape[1] < 2:
        return MeasuredValue(None, len(pairable))
    size, used = counts.sum(axis=1), counts.sum(axis=0)
    disagreeing = ((size**2 - (counts**2).sum(axis=1)) / (size - 1)).sum()
    value = 1.0 - (used.sum() - 1.0) * disagreeing / (used.sum() ** 2 - (used**2).sum())
    return MeasuredValue(float(value), len(pairable))


def _counts(ratings: pd.DataFrame) -> Floats:
    """Ratings per category, shape (units, categories in use)."""
    codes, used = pd.factorize(ratings.to_numpy(dtype=object).ravel())
    codes = codes.reshape(ratings.shape)
    counts = np.zeros((len(ratings), len(used)))
    units, raters = np.nonzero(codes >= 0)
    np.add.at(counts, (units, codes[units, raters]), 1.0)
    return counts


def agreement_row(
    measure: str,
    found: MeasuredValue,
    *,
    first: str = "",
    second: str = "",
    coding: str = "none",
    **more: Any,
) -> dict[str, Any]:
    """The columns that all agreement tables share, and more."""
    names = {"measure": measure, "coding": coding, "first": first, "second": second}
    return {**names, **found._asdict(), **more}


def coefficient_rows(
    positions: pd.DataFrame, phrases: pd.DataFrame, **more: Any
) -> list[dict[str, Any]]:
    """Both coefficients in both codings; the frames have a line per question and a column per rater."""
    rows = []
    for coding, ratings in (("phrase", phrases), ("position", positions)):
        rows.append(
            agreement_row("fleiss kappa", fleiss_kappa(ratings), coding=coding, **more)
        )
        rows.append(
            agreement_row(
                "krippendorff alpha", krippendorff_alpha(ratings), coding=coding, **more
            )
        )
    return rows


def agreement_frame(table: Table, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows in the order of the table's measures, then by its key."""
    order = {
        measure: number
        for number, measure in enumerate(table.column("measure").choices)
    }
    return table.frame(
        sorted(
            rows,
            key=lambda row: (order[row["measure"]], *(row[n] for n in table.key[1:])),
        )
    )


def judge_agreement(matches: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every measure of agreement as one row, a `JUDGE_AGREEMENT` frame, of a `COMPARISON_MATCHES` frame per
    judge, all of one vocabulary. Only the same sentences in the same order are the same question. Kappa takes
    the questions with a valid answer of every judge, alpha those with two or more, pairwise agreement those
    with valid answers of both. A judge without any valid answer is in none of them.
    """
    rows: list[dict[str, Any]] = []
    for judge, frame in matches.items():
        rows += _diagnostic_rows(judge, frame)
    positions, phrases = _side_by_side(matches)
    shares: dict[str, list[float | None]] = {
        judge: [] for judge in phrases.columns.tolist()
    }
    for one, other in combinations(shares, 2):
        share = pairwise_agreement(phrases[one], phrases[other])
        rows.append(agreement_row("pairwise agreement", share, first=one, second=other))
        shares[one].append(share.value)
        shares[other].append(share.value)
    for judge, values in shares.items():
        if values:
            rows.append(
                agreement_row("mean pairwise agreement", mean_of(values), first=judge)
            )
    rows += coefficient_rows(positions, phrases, first=ALL_JUDGES)
    return agreement_frame(JUDGE_AGREEMENT, [{"p_value": None, **row} for row in rows])


def _side_by_side(
    matches: Mapping[str, pd.DataFrame],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Position and phrase that each judge chose: a line per question, a column per judge, null if invalid."""
    valid = [
        frame.dropna(subset="winner").assign(judge=judge)
        for judge, frame in matches.items()
    ]
    together = pd.concat([frame for frame in valid if len(frame)] or [pd.DataFrame()])
    if together.empty:
        return pd.DataFrame(), pd.DataFrame()
    question = together.set_index([*_QUESTION, "judge"])
    return question["answer"].unstack("judge"), question["winner"].unstack("judge")


def _diagnostic_rows(judge: str, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Position bias and invalid answers of one judge. A coin decides which phrase is shown first, so the
    binomial test is exact; with fixed positions there is none.
    """
    from scipy.stats import binomtest

    valid = frame[frame["answer"] != "invalid"]
    hits, n = int((valid["answer"] == "sentence_1").sum()), len(valid)
    p_value = (
        float(binomtest(hits, n).pvalue) if valid["swapped"].nunique() > 1 else None
    )
    return [
        agreement_row(
            "sentence_1 chosen", wilson(hits, n), first=judge, p_value=p_value
        ),
        agreement_row(
            "invalid answers", wilson(len(frame) - n, len(frame)), first=judge
        ),
    ]


def ranking_correlations(
    matches: Mapping[str, pd.DataFrame],
    ranker: str,
    ranking: pd.DataFrame,
    settings: ExplicitSettings,
) -> pd.DataFrame:
    """Spearman correlations of every two rankings, a `RANKING_CORRELATIONS` frame, each pair once: of each
    judge's `COMPARISON_MATCHES` alone, played in `settings.orders` random orders, and of the pooled
    `REFERENCE_RANKING`, unless it is the published one. A phrase counts where both sides have a valid match
    of it; fewer than three such phrases have no correlation.
    """
    phrases = sorted(
        {
            p
            for frame in matches.values()
            for side in "ab"
            for p in frame[f"phrase_{side}"]
        }
    )
    rated: dict[tuple[str, int], Floats] = {}
    for judge in sorted(matches):
        answers = collect_answers(phrases, {judge: matches[judge]})
        if len(answers):
            orders = random_orders(answers, settings)
            mus, _ = trueskill.play(answers.winner, answers.loser, len(phrases), orders)
            played = np.sum(answers.counts, axis=0) > 0
            rated |= {
                (judge, order): np.where(played, mu, np.nan)
                for order, mu in enumerate(mus)
            }
    if (ranking["ruler"] == "own").all():
        mu = ranking[ranking["n_matches"] > 0].set_index("phrase")["mu"]
        rated[ranker, AVERAGED] = mu.reindex(phrases).to_numpy(dtype=np.float64)
    labels, places = (
        list(rated),
        np.array(list(rated.values())).reshape(len(rated), len(phrases)),
    )
    first, second = np.triu_indices(len(labels), k=1)
    present = np.isfinite(places).astype(np.int64)
    correlation = (
        pd.DataFrame(places.T).corr(method="spearman", min_periods=3).to_numpy()
    )
    return RANKING_CORRELATIONS.frame(
        {
            "first": [labels[i][0] for i in first.tolist()],
            "first_order": [labels[i][1] for i in first.tolist()],
            "second": [labels[i][0] for i in second.tolist()],
            "second_order": [labels[i][1] for i in second.tolist()],
            "spearman": correlation[first, second],
            "n_phrases": (present @ present.T)[first, second].tolist(),
        }
    )


class Verification(NamedTuple):
    """`matches` that the package played of an `order` (-1: none, the ranking is the published one), and the
    largest differences of any mu or sigma: package against closed form, and stored ranking against the closed
    form over all orders.
    """

    matches: int = 0
    order: int = -1
    package_difference: float = 0.0
    replay_difference: float = 0.0

    @property
    def passed(self) -> bool:
        return (
            self.package_difference < PACKAGE_TOLERANCE
            and self.replay_difference < REPLAY_TOLERANCE
        )


def verify_with_package(
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    settings: ExplicitSettings,
) -> Verification:
    """Compare a `REFERENCE_RANKING` frame with the `trueskill` package, on the beginning of one order, hashed
    from the ranking's version; of the published one nothing is compared. `matches` (`COMPARISON_MATCHES`
    frame per judge) and settings are those that the ranking was made with.
    """
    if (ranking["ruler"] == "published").all():
        return Verification()
    phrases = sorted(ranking["phrase"].tolist())
    answers = collect_answers(phrases, matches)
    orders = random_orders(answers, settings)
    number = text_hash("verified order", str(ranking["ranking_version"].iloc[0])) % len(
        orders
    )
    part = orders[number, :SAMPLE]
    closed = np.concatenate(
        trueskill.play(answers.winner, answers.loser, len(phrases), part[None])
    )
    packaged = play_with_package(answers.winner, answers.loser, len(phrases), part)
    mus, sigmas = trueskill.play(answers.winner, answers.loser, len(phrases), orders)
    stored = (
        ranking.set_index("phrase")
        .loc[phrases, ["mu", "sigma"]]
        .to_numpy(dtype=np.float64)
        .T
    )
    replayed = np.stack([mus.mean(axis=0), sigmas.mean(axis=0)])
    differences = (
        float(np.abs(one - other).max())
        for one, other in ((closed, packaged), (stored, replayed))
    )
    return Verification(len(part), number, *differences)


def play_with_package(
    winners: Integers,
    losers: Integers,
    n_players: int,
    order: Integers,
    backend: str | None = None,
) -> Floats:
    """mu and sigma after playing the matches in one order with the package, shape (2, players); winners and
    losers are player numbers, `order` match numbers, `backend` the package's normal distribution.
    """
    constants = {
        "mu": trueskill.MU,
        "sigma": trueskill.SIGMA,
        "beta": trueskill.BETA,
        "tau": trueskill.TAU,
    }
    game = package.TrueSkill(**constants, draw_probability=0.0, backend=backend)
    ratings = [game.create_rating() for _ in range(n_players)]
    for winner, loser in zip(
        winners[order].tolist(), losers[order].tolist(), strict=True
    ):
        ratings[winner], ratings[loser] = package.rate_1vs1(
            ratings[winner], ratings[loser], env=game
        )
    return np.array(
        [[rating.mu for rating in ratings], [rating.sigma for rating in ratings]]
    )
