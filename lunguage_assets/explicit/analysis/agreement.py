"""Agreement of judges and of rankings, from the comparison matches.

Section 3 of docs/method/explicit.md. Answers are coded in two ways: `phrase`, the
phrase that was chosen (the published kappa), and `position`, whether it was shown first
(the published alpha). That the ranking equals that of package `trueskill` is verified
in `package_check.py`; human experts are in `experts.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.explicit.rating.ranking import collect_answers, random_orders
from lunguage_assets.randomness import Floats
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import JUDGE_AGREEMENT, RANKING_CORRELATIONS
from lunguage_assets.tables.schema import Table

ALL_JUDGES = "all judges"
AVERAGED = -1
"""The order number of a reference ranking, which is averaged over random orders."""

MIN_PHRASES_TO_CORRELATE = 3
_QUESTION = ["match_id", "sentence_a", "sentence_b", "swapped"]


class MeasuredValue(NamedTuple):
    """A value with the cases behind it.

    Attributes:
        value: None where it is not defined.
        n: number of cases.
        low: lower end of its 95% interval, where it has one.
        high: upper end.
    """

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None


def wilson(hits: int, n: int) -> MeasuredValue:
    """Compute a share with Wilson's 95% interval, which takes cases as independent."""
    # Slow to import, and Dagster's definitions load this module.
    from scipy.stats import binomtest

    if n == 0:
        return MeasuredValue(None, 0)
    limits = binomtest(hits, n).proportion_ci(method="wilson")
    return MeasuredValue(hits / n, n, float(limits.low), float(limits.high))


def mean_of(values: Iterable[float | None]) -> MeasuredValue:
    """Average the values that are defined, without an interval; `n` is their number."""
    defined = [value for value in values if value is not None]
    mean = float(np.mean(defined)) if defined else None
    return MeasuredValue(mean, len(defined))


def pairwise_agreement(first: pd.Series, second: pd.Series) -> MeasuredValue:
    """Compute the share of equal ratings over the units that both raters rated."""
    is_rated = first.notna() & second.notna()
    is_equal = first[is_rated] == second[is_rated]
    return wilson(int(is_equal.sum()), int(is_rated.sum()))


def fleiss_kappa(ratings: pd.DataFrame) -> MeasuredValue:
    """Compute Fleiss' kappa (Fleiss 1971) over the units that every rater rated.

    Units are rows, raters columns. Not defined for fewer than two raters, no complete
    unit, or a single category in use.
    """
    complete = ratings.dropna()
    counts = _counts(complete)
    if ratings.shape[1] < 2 or counts.shape[1] < 2:
        return MeasuredValue(None, len(complete))
    units, raters = complete.shape
    ratings_of_category = counts.sum(axis=0)
    agreeing_pairs = (counts**2).sum() - units * raters
    observed = agreeing_pairs / (units * raters * (raters - 1))
    by_chance = ((ratings_of_category / (units * raters)) ** 2).sum()
    kappa = (observed - by_chance) / (1.0 - by_chance)
    return MeasuredValue(float(kappa), len(complete))


def krippendorff_alpha(ratings: pd.DataFrame) -> MeasuredValue:
    """Compute Krippendorff's alpha for nominal data, over units with two ratings.

    Units are rows, raters columns. Not defined without such a unit or with a single
    category in use. The package of this name holds units x categories x categories
    numbers: gigabytes for a large vocabulary.
    """
    pairable = ratings[ratings.notna().sum(axis=1) > 1]
    counts = _counts(pairable)
    if counts.shape[1] < 2:
        return MeasuredValue(None, len(pairable))
    ratings_of_unit = counts.sum(axis=1)
    ratings_of_category = counts.sum(axis=0)
    unequal_pairs = ratings_of_unit**2 - (counts**2).sum(axis=1)
    observed = (unequal_pairs / (ratings_of_unit - 1)).sum()
    total = ratings_of_category.sum()
    # Both are sums over pairs of ratings. Their number, by which each is divided,
    # cancels but for the rating that is not drawn twice.
    expected = total**2 - (ratings_of_category**2).sum()
    value = 1.0 - (total - 1.0) * observed / expected
    return MeasuredValue(float(value), len(pairable))


def _counts(ratings: pd.DataFrame) -> Floats:
    """Count ratings per category, shape (units, categories in use)."""
    codes, categories = pd.factorize(ratings.to_numpy(dtype=object).ravel())
    codes = codes.reshape(ratings.shape)
    counts = np.zeros((len(ratings), len(categories)))
    units, raters = np.nonzero(codes >= 0)
    np.add.at(counts, (units, codes[units, raters]), 1.0)
    return counts


def agreement_row(
    measure: str, measured: MeasuredValue, **columns: str
) -> dict[str, Any]:
    """Fill the columns that all agreement tables share; `columns` are others' values.

    Args:
        measure: what was measured.
        measured: its value.
        columns: `first` and `second` (who was compared), `coding`, and more.
    """
    names = {"measure": measure, "coding": "none", "first": "", "second": ""}
    return {**names, **measured._asdict(), **columns}


def coefficient_rows(
    phrases: pd.DataFrame, positions: pd.DataFrame, **columns: str
) -> list[dict[str, Any]]:
    """Compute both coefficients in both codings of the same answers.

    Args:
        phrases: the phrase that each rater chose: a row per question, a column per
            rater, null where there is no answer.
        positions: the position that each rater chose.
        columns: of the rows.
    """
    rows = []
    for coding, ratings in (("phrase", phrases), ("position", positions)):
        kappa = fleiss_kappa(ratings)
        alpha = krippendorff_alpha(ratings)
        rows.append(agreement_row("fleiss kappa", kappa, coding=coding, **columns))
        rows.append(
            agreement_row("krippendorff alpha", alpha, coding=coding, **columns)
        )
    return rows


def agreement_frame(table: Table, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Order the rows by the table's measures, then by its key."""
    measures = table.column("measure").choices

    def position(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return measures.index(row["measure"]), *(row[name] for name in table.key[1:])

    return table.frame(sorted(rows, key=position))


def judge_agreement(matches: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Measure how far judges agree, from a `COMPARISON_MATCHES` frame per judge.

    Only the same sentences in the same order are the same question. Kappa takes the
    questions with a valid answer of every judge, alpha those with two or more, pairwise
    agreement those with valid answers of both. A judge without any valid answer is in
    none of them.

    Returns:
        A `JUDGE_AGREEMENT` frame, every measure as one row.
    """
    rows: list[dict[str, Any]] = []
    answered = []
    for judge, frame in matches.items():
        rows += _diagnostic_rows(judge, frame)
        answered.append(frame.dropna(subset="winner").assign(judge=judge))
    by_question = pd.concat(answered).set_index([*_QUESTION, "judge"])
    phrases = by_question["winner"].unstack("judge")
    shares: dict[str, list[float | None]] = {judge: [] for judge in phrases.columns}
    for first, second in combinations(phrases.columns, 2):
        share = pairwise_agreement(phrases[first], phrases[second])
        rows.append(
            agreement_row("pairwise agreement", share, first=first, second=second)
        )
        shares[first].append(share.value)
        shares[second].append(share.value)
    for judge, values in shares.items():
        if values:
            mean = mean_of(values)
            rows.append(agreement_row("mean pairwise agreement", mean, first=judge))
    positions = by_question["answer"].unstack("judge")
    rows += coefficient_rows(phrases, positions, first=ALL_JUDGES)
    return agreement_frame(JUDGE_AGREEMENT, [{"p_value": None, **row} for row in rows])


def _diagnostic_rows(judge: str, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Measure position bias and invalid answers of one judge."""
    from scipy.stats import binomtest

    valid = frame[frame["answer"] != "invalid"]
    n = len(valid)
    hits = int((valid["answer"] == "sentence_1").sum())
    # A coin decides which phrase is shown first, so the binomial test is exact; with
    # fixed positions, as of the public code, there is none.
    is_position_random = valid["swapped"].nunique() > 1
    p_value = float(binomtest(hits, n).pvalue) if is_position_random else None
    first_chosen = agreement_row("sentence_1 chosen", wilson(hits, n), first=judge)
    invalid = wilson(len(frame) - n, len(frame))
    return [
        {**first_chosen, "p_value": p_value},
        agreement_row("invalid answers", invalid, first=judge),
    ]


def ranking_correlations(
    matches: Mapping[str, pd.DataFrame],
    ranker: str,
    ranking: pd.DataFrame,
    settings: ExplicitSettings,
) -> pd.DataFrame:
    """Compute the Spearman correlation of every two rankings.

    Args:
        matches: `COMPARISON_MATCHES` frame per judge; each judge is ranked alone, in
            `settings.orders` random orders.
        ranker: whose the pooled ranking is.
        ranking: the pooled `REFERENCE_RANKING` frame; the published one does not count.
        settings: seed and orders.

    Returns:
        A `RANKING_CORRELATIONS` frame, each pair once. A phrase counts where both have
        a valid match of it; fewer than three such phrases have no correlation.
    """
    names: set[str] = set()
    for frame in matches.values():
        names.update(frame["phrase_a"], frame["phrase_b"])
    phrases = sorted(names)
    # A ranking is known by its ranker and the number of its order of play.
    mu_by_ranking: dict[tuple[str, int], Floats] = {}
    for judge in sorted(matches):
        answers = collect_answers(phrases, {judge: matches[judge]})
        if len(answers.winner):
            ratings = answers.play(random_orders(answers, settings))
            for order, mu in enumerate(ratings.mu):
                mu_by_ranking[judge, order] = np.where(answers.played > 0, mu, np.nan)
    if (ranking["ruler"] == "own").all():
        played = ranking[ranking["n_matches"] > 0].set_index("phrase")["mu"]
        mu_by_ranking[ranker, AVERAGED] = played.reindex(phrases).to_numpy()
    rankings = list(mu_by_ranking)
    # Under the published scale nothing is compared, and pandas correlates no columns.
    if len(rankings) < 2:
        return RANKING_CORRELATIONS.frame([])
    mu_of_rankings = pd.DataFrame(dict(enumerate(mu_by_ranking.values())))
    correlation = mu_of_rankings.corr("spearman", min_periods=MIN_PHRASES_TO_CORRELATE)
    is_known = mu_of_rankings.notna().astype(int)
    shared_phrases = is_known.T @ is_known
    rows = [
        {
            "first": rankings[first][0],
            "first_order": rankings[first][1],
            "second": rankings[second][0],
            "second_order": rankings[second][1],
            "spearman": correlation.at[first, second],
            "n_phrases": shared_phrases.at[first, second],
        }
        for first, second in combinations(range(len(rankings)), 2)
    ]
    return RANKING_CORRELATIONS.frame(rows)
