"""Agreement of judges and of rankings, from the comparison matches.

Section 3 of docs/method/explicit.md. Answers are coded in two ways: `phrase`, the
phrase that was chosen (the published kappa), and `position`, whether it was shown first
(the published alpha). Human experts are in `experts.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.explicit import trueskill
from lunguage_assets.explicit.ranking import (
    Matches,
    collect_answers,
    random_orders,
)
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables.analyses import JUDGE_AGREEMENT, RANKING_CORRELATIONS
from lunguage_assets.tables.schema import Table

ALL_JUDGES = "all judges"
COEFFICIENTS = ("fleiss kappa", "krippendorff alpha")

MIN_PHRASES_TO_CORRELATE = 3
Row = dict[str, Any]
"""Of an agreement table; what is missing is filled in by `agreement_frame`."""
Choices = Mapping[str, pd.Series] | pd.DataFrame
"""What each rater chose, by name; null without an answer."""

_QUESTION = ["match_id", "sentence_a", "sentence_b", "swapped"]


def wilson(hits: int, n: int) -> Row:
    """Compute a share with Wilson's 95% interval, which takes cases as independent.

    Returns:
        `value`, `low` and `high`, null without a case, and `n`.
    """
    # Slow to import, and Dagster's definitions load this module.
    from scipy.stats import binomtest

    if n == 0:
        return {"value": None, "low": None, "high": None, "n": 0}
    limits = binomtest(hits, n).proportion_ci(method="wilson")
    return {"value": hits / n, "low": limits.low, "high": limits.high, "n": n}


def agreement_beyond_chance(measure: str, ratings: pd.DataFrame) -> Row:
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
        return {"value": None, "n": len(paired)}
    unit = answers.index.get_level_values(0)
    alike = answers.groupby([unit, answers]).size()
    beside = alike.groupby(level=0).sum() - 1
    total = len(answers)
    observed = (alike * (alike - 1)).div(beside, level=0).sum() / total
    # Chance may draw one rating twice, as Fleiss lets it.
    left_out = 0 if is_fleiss else 1
    pairs = answers_of_category * (answers_of_category - left_out)
    by_chance = pairs.sum() / (total * (total - left_out))
    value = (observed - by_chance) / (1.0 - by_chance)
    return {"value": value, "n": len(paired)}


def pair_rows(
    measure: str, choices: Choices, others: Choices, pairs: Iterable[tuple[str, str]]
) -> list[Row]:
    """Compute the share of equal choices of two raters, pair by pair.

    Args:
        measure: what was measured.
        choices: of each first rater, null without an answer.
        others: of each second one.
        pairs: names of the raters.
    """
    rows = []
    for first, second in pairs:
        both = pd.DataFrame({"one": choices[first], "other": others[second]}).dropna()
        share = wilson((both["one"] == both["other"]).sum(), len(both))
        rows.append({"measure": measure, "first": first, "second": second, **share})
    return rows


def coefficient_rows(
    phrases: pd.DataFrame, positions: pd.DataFrame, first: str = ""
) -> list[Row]:
    """Compute both coefficients in both codings of the same answers.

    Args:
        phrases: the phrase that each rater chose: a row per question, a column per
            rater, null where there is no answer.
        positions: the position that each rater chose.
        first: name of all raters.
    """
    rows = []
    codings = {"phrase": phrases, "position": positions}
    for measure, (coding, ratings) in product(COEFFICIENTS, codings.items()):
        names = {"measure": measure, "coding": coding, "first": first}
        rows.append(names | agreement_beyond_chance(measure, ratings))
    return rows


def agreement_frame(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """Order the rows by the table's measures, then by its key.

    Args:
        table: of agreements.
        rows: of which names and ends of intervals may be missing.
    """
    names = {"coding": "none", "first": "", "second": ""}
    frame = table.frame(rows.reindex(columns=table.names).fillna(names))
    measures = pd.Categorical(frame["measure"], table.column("measure").choices)
    order = frame.assign(measure=measures).sort_values(list(table.key)).index
    return frame.loc[order].reset_index(drop=True)


def judge_agreement(matches: Matches) -> pd.DataFrame:
    """Measure how far judges agree, from a `COMPARISON_MATCHES` frame per judge.

    Only the same sentences in the same order are the same question. Kappa takes the
    questions with a valid answer of every judge, alpha those with two or more, pairwise
    agreement those with valid answers of both. A judge without any valid answer is in
    none of them.

    Returns:
        A `JUDGE_AGREEMENT` frame, every measure as one row.
    """
    rows: list[Row] = []
    for judge, frame in matches.items():
        times = Counter(frame["answer"])
        of_first = wilson(times["sentence_1"], len(frame) - times["invalid"])
        of_invalid = wilson(times["invalid"], len(frame))
        rows.append({"measure": "sentence_1 chosen", "first": judge, **of_first})
        rows.append({"measure": "invalid answers", "first": judge, **of_invalid})
    answers = pd.concat(matches, names=["judge"]).dropna(subset="winner")
    answers = answers.set_index(_QUESTION, append=True).droplevel(1)
    phrases = answers["winner"].unstack("judge")
    positions = answers["answer"].unstack("judge")
    of_two = combinations(phrases.columns, 2)
    pairs = pair_rows("pairwise agreement", phrases, phrases, of_two)
    for judge in phrases.columns:
        # Without an interval: shares of one judge rest on the same answers.
        of_judge = [row for row in pairs if judge in (row["first"], row["second"])]
        shares = pd.DataFrame(of_judge, columns=["value"]).dropna()
        mean = {"value": shares["value"].mean(), "n": len(shares)}
        if of_judge:
            rows.append({"measure": "mean pairwise agreement", "first": judge, **mean})
    rows += [*pairs, *coefficient_rows(phrases, positions, first=ALL_JUDGES)]
    return agreement_frame(JUDGE_AGREEMENT, pd.DataFrame(rows))


def ranking_correlations(
    matches: Matches,
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
    together = pd.concat(matches.values())
    phrases = sorted({*together["phrase_a"], *together["phrase_b"]})
    mu_by_judge = {}
    for judge in sorted(matches):
        answers = collect_answers(phrases, {judge: matches[judge]})
        orders = random_orders(answers, settings)
        ratings = trueskill.play(answers, len(phrases), orders)
        is_played = np.isin(range(len(phrases)), answers[["winner", "loser"]])
        mu_by_judge[judge] = pd.DataFrame(ratings.mu.T, phrases)[is_played]
    # A column for every order of play.
    rankings = pd.concat(mu_by_judge, axis=1)
    own = ranking.query("ruler == 'own' and n_matches > 0")
    rankings[ranker, 0] = own.set_index("phrase")["mu"]
    spearman = rankings.corr("spearman", min_periods=MIN_PHRASES_TO_CORRELATE)
    is_pair = np.triu(np.ones(spearman.shape, dtype=bool), 1)
    pairs = spearman.where(is_pair).stack([0, 1], future_stack=True).dropna()
    means = pairs.groupby(level=[0, 2], sort=False).mean().reset_index()
    rows = means.set_axis(["first", "second", "spearman"], axis=1)
    return RANKING_CORRELATIONS.frame(rows)
