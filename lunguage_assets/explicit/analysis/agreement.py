"""Agreement of judges and of rankings, from the comparison matches.

Section 3 of docs/method/explicit.md. Answers are coded in two ways: `phrase`, the
phrase that was chosen (the published kappa), and `position`, whether it was shown first
(the published alpha). Human experts are in `experts.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.ranking import (
    collect_answers,
    random_orders,
    times_played,
)
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import JUDGE_AGREEMENT, RANKING_CORRELATIONS
from lunguage_assets.tables.schema import Table

ALL_JUDGES = "all judges"
COEFFICIENTS = ("fleiss kappa", "krippendorff alpha")

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


def pairwise_agreement(first: pd.Series, second: pd.Series) -> MeasuredValue:
    """Compute the share of equal ratings over the units that both raters rated."""
    is_rated = first.notna() & second.notna()
    is_equal = first[is_rated] == second[is_rated]
    return wilson(int(is_equal.sum()), int(is_rated.sum()))


def agreement_beyond_chance(measure: str, ratings: pd.DataFrame) -> MeasuredValue:
    """Compare how often two ratings of a unit are equal with any two ratings.

    Fleiss' kappa (Fleiss 1971) takes the units that every rater rated, Krippendorff's
    alpha for nominal data those with two ratings. Neither is defined without such a
    unit, or with a single category in use. The packages hold units x categories x
    categories numbers: gigabytes for a large vocabulary.

    Args:
        measure: one of `COEFFICIENTS`.
        ratings: units are rows, raters columns.
    """
    is_fleiss = measure == "fleiss kappa"
    if is_fleiss:
        ratings = ratings.dropna()
    paired = ratings[ratings.notna().sum(axis=1) > 1]
    answers = paired.reset_index(drop=True).stack().dropna()
    answers_of_category = answers.value_counts()
    if len(answers_of_category) < 2:
        return MeasuredValue(None, len(paired))
    unit = answers.index.get_level_values(0)
    alike = answers.groupby([unit, answers]).size()
    beside = alike.groupby(level=0).sum() - 1
    total = len(answers)
    observed = (alike * (alike - 1)).div(beside, level=0).sum() / total
    # Chance may draw one rating twice, as Fleiss lets it.
    left_out = 0 if is_fleiss else 1
    pairs = answers_of_category * (answers_of_category - left_out)
    by_chance = pairs.sum() / (total * (total - left_out))
    return MeasuredValue(float((observed - by_chance) / (1.0 - by_chance)), len(paired))


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
    codings = {"phrase": phrases, "position": positions}
    for measure, (coding, ratings) in product(COEFFICIENTS, codings.items()):
        measured = agreement_beyond_chance(measure, ratings)
        rows.append(agreement_row(measure, measured, coding=coding, **columns))
    return rows


def agreement_frame(table: Table, rows: list[dict[Any, Any]]) -> pd.DataFrame:
    """Order the rows by the table's measures, then by its key."""
    frame = table.frame(rows)
    measures = pd.Categorical(frame["measure"], table.column("measure").choices)
    order = frame.assign(measure=measures).sort_values(list(table.key)).index
    return frame.loc[order].reset_index(drop=True)


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
    for judge, frame in matches.items():
        valid = frame[frame["answer"] != "invalid"]
        is_first = valid["answer"] == "sentence_1"
        of_first = wilson(int(is_first.sum()), len(valid))
        of_invalid = wilson(len(frame) - len(valid), len(frame))
        rows.append(agreement_row("sentence_1 chosen", of_first, first=judge))
        rows.append(agreement_row("invalid answers", of_invalid, first=judge))
    frames = [frame.assign(judge=judge) for judge, frame in matches.items()]
    answers = pd.concat(frames).dropna(subset="winner").set_index([*_QUESTION, "judge"])
    phrases = answers["winner"].unstack("judge")
    positions = answers["answer"].unstack("judge")
    shares_by_judge: dict[str, list[float | None]] = defaultdict(list)
    for first, second in combinations(phrases.columns.tolist(), 2):
        share = pairwise_agreement(phrases[first], phrases[second])
        shares_by_judge[first].append(share.value)
        shares_by_judge[second].append(share.value)
        rows.append(
            agreement_row("pairwise agreement", share, first=first, second=second)
        )
    for judge, shares in shares_by_judge.items():
        # Without an interval: shares of one judge rest on the same answers.
        defined = pd.Series(shares, dtype="float64").dropna()
        mean = MeasuredValue(defined.mean(), len(defined))
        rows.append(agreement_row("mean pairwise agreement", mean, first=judge))
    rows += coefficient_rows(phrases, positions, first=ALL_JUDGES)
    return agreement_frame(JUDGE_AGREEMENT, rows)


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
        A `RANKING_CORRELATIONS` frame, each pair once: the mean over orders of play, of
        a judge with itself over every two orders. A phrase counts where both have a
        valid match of it; fewer than three such phrases have no correlation.
    """
    compared = pd.concat(
        [frame[["phrase_a", "phrase_b"]] for frame in matches.values()]
    )
    phrases = sorted(set(compared.to_numpy().ravel()))
    # By the name of the ranking, and the number of its order of play.
    mu_by_ranking: dict[tuple[str, int], Any] = {}
    for judge in sorted(matches):
        answers = collect_answers(phrases, {judge: matches[judge]})
        if len(answers):
            orders = random_orders(answers, settings)
            is_played = times_played(answers, len(phrases)) > 0
            ratings = trueskill.play(answers, len(phrases), orders)
            for order, mu in enumerate(ratings.mu):
                mu_by_ranking[judge, order] = np.where(is_played, mu, np.nan)
    if (ranking["ruler"] == "own").all():
        played = ranking[ranking["n_matches"] > 0].set_index("phrase")["mu"]
        mu_by_ranking[ranker, 0] = played.reindex(phrases).to_numpy()
    if not mu_by_ranking:
        return RANKING_CORRELATIONS.frame()
    rankings = pd.DataFrame(mu_by_ranking, phrases)
    spearman = rankings.corr("spearman", min_periods=MIN_PHRASES_TO_CORRELATE)
    is_pair = np.triu(np.ones(spearman.shape, dtype=bool), 1)
    pairs = spearman.where(is_pair).stack([0, 1], future_stack=True).dropna()
    means = pairs.groupby(level=[0, 2], sort=False).mean().reset_index()
    rows = means.set_axis(["first", "second", "spearman"], axis=1)
    return RANKING_CORRELATIONS.frame(rows)
