"""Human experts: their answers, and their agreement with the ranking and with judges.

Section 4 of docs/method/explicit.md. The templates that they fill in are made by
`surveys.py`. An entry that cannot be read refuses the file, by row and column, and is
never quoted: it may be a sentence of a report.
"""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd

from lunguage_assets.corpus.whole_tables import edited_table, refuse_rows
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.agreement import (
    agreement_frame,
    coefficient_rows,
    pair_rows,
)
from lunguage_assets.explicit.hedges import normal_phrase
from lunguage_assets.explicit.ranking import Matches
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

PHRASE_COLUMNS = ("phrase_1", "phrase_2")
_REMEDY = "Fix the entry, or delete the row; nothing was imported."
_MIN_EXPERTS_SHOWN_SINGLY = 3
"""Experts from which single ones are shown under numbers: of two, each would know the
other's.
"""
_COLUMNS_OF_NOBODY = ("", "pair", "question", "comment", *PHRASE_COLUMNS)
"""The paper's file has one without a name."""


def load_responses(path: Path) -> pd.DataFrame:
    """Read experts' choices from a CSV with a row per pair and a column per expert.

    An entry is one of the two phrases, 1, 2 or empty. Columns pair, question, comment,
    example... and those without a name are nobody's, so that the paper's file is read
    as it is.

    Returns:
        A row per pair (index phrase_1, phrase_2) and a column per expert: 1 or 2 for
        the phrase that was chosen, NaN without an answer.

    Raises:
        InputError: no such CSV, a pair that is none or comes twice, or another entry.
    """
    entries = edited_table(path, PHRASE_COLUMNS).map(normal_phrase)
    # Spreadsheets keep rows of which somebody has deleted every cell.
    entries = entries[(entries != "").any(axis=1)]
    experts = [
        name
        for name in entries.columns
        if name not in _COLUMNS_OF_NOBODY and not name.startswith("example")
    ]
    if entries.empty or not experts:
        raise InputError(
            path.name,
            "no row" if entries.empty else "no expert's column",
            "the columns phrase_1, phrase_2 and one per expert, and a row per pair",
            "Fill in the file that `lunguage survey make` writes.",
        )
    phrases = entries[list(PHRASE_COLUMNS)]
    first = phrases["phrase_1"]
    second = phrases["phrase_2"]
    # Turned round, "likely or possible" is the same question.
    questions = pd.Series(map(frozenset, phrases.to_numpy()), phrases.index)
    is_no_pair = (
        (phrases == "").any(axis=1) | (first == second) | questions.duplicated()
    )
    expected = "two different phrases, each pair once"
    refuse_rows(path, is_no_pair, "phrase_1", "another pair", expected, _REMEDY)
    answers = entries[experts]
    # A spreadsheet may have made 1.0 of 1.
    is_first = answers.isin(["1", "1.0"]) | answers.eq(first, axis=0)
    is_second = answers.isin(["2", "2.0"]) | answers.eq(second, axis=0)
    is_unknown = ~(is_first | is_second | (answers == ""))
    expected = "one of the row's two phrases, 1, 2 or nothing"
    for name in experts:
        refuse_rows(path, is_unknown[name], name, "something else", expected, _REMEDY)
    choices = np.select([is_first, is_second], [1.0, 2.0], np.nan)
    return pd.DataFrame(choices, pd.MultiIndex.from_frame(phrases), experts)


def expert_agreement(
    responses: pd.DataFrame,
    ranker: str,
    ranking: pd.DataFrame,
    matches: Matches,
) -> pd.DataFrame:
    """Measure how far experts agree with the ranking, with judges and with each other.

    A share has Wilson's interval over pairs. Kappa takes the pairs that every expert
    answered. In the coding `position` first and second are phrase_1 and phrase_2, as
    the survey showed them.

    Args:
        responses: as `load_responses` returns them.
        ranker: whose ranking it is.
        ranking: `REFERENCE_RANKING` frame; its choice has the higher mu.
        matches: `COMPARISON_MATCHES` frame per judge; its choice has more valid wins.

    Returns:
        An `EXPERT_AGREEMENT` frame, every agreement as one row.
    """
    # Who has answered nothing is no expert of this survey.
    answered = responses.dropna(axis="columns", how="all")
    if answered.empty:
        return EXPERT_AGREEMENT.frame()
    pairs = answered.index.to_frame()
    mu = ranking.set_index("phrase")["mu"]
    lead = pairs["phrase_1"].map(mu) - pairs["phrase_2"].map(mu)
    by_ranking = {ranker: _choices(lead)}
    by_judge = {
        judge: _choices(_lead_of_wins(frame).reindex(answered.index))
        for judge, frame in sorted(matches.items())
    }
    experts: list[str] = answered.columns.tolist()
    of_two = combinations(sorted(experts), 2)
    rows = [
        *pair_rows("with ranking", answered, by_ranking, product(experts, by_ranking)),
        *pair_rows("with judge", answered, by_judge, product(experts, by_judge)),
        *pair_rows("with expert", answered, answered, of_two),
    ]
    single = pd.DataFrame(rows).astype({"value": "float64"})
    # Every expert counts alike, however many pairs each has answered.
    is_of_two = single["measure"] == "with expert"
    group = ["measure", single["second"].mask(is_of_two, "")]
    averages = single.groupby(group, as_index=False).agg({"value": "mean", "n": "sum"})
    coefficients = pd.DataFrame(coefficient_rows(answered.apply(_phrases), answered))
    return agreement_frame(
        EXPERT_AGREEMENT, pd.concat([single, averages, coefficients])
    )


def _choices(lead: pd.Series) -> pd.Series:
    """Choose as experts do, 1 or 2 of each pair; NaN where neither leads.

    Args:
        lead: of phrase_1 over phrase_2, by pair.
    """
    chosen = np.select([lead > 0, lead < 0], [1.0, 2.0], np.nan)
    return pd.Series(chosen, lead.index)


def _phrases(choices: pd.Series) -> pd.Series:
    """Look up the phrases that an expert chose."""
    pairs = choices.index.to_frame()
    chosen = pairs["phrase_1"].where(choices == 1.0, pairs["phrase_2"])
    return chosen.where(choices.notna())


def _lead_of_wins(matches: pd.DataFrame) -> pd.Series:
    """Count how much more often a judge chose one phrase than another, by both.

    Ten comparisons may end five to five: then the judge chooses neither.
    """
    valid = matches.dropna(subset="winner")
    signs = (valid["winner"] == valid["phrase_a"]) * 2 - 1
    lead_of_a = signs.groupby([valid["phrase_a"], valid["phrase_b"]]).sum()
    return pd.concat([lead_of_a, -lead_of_a.swaplevel()])


def numbered_experts(agreement: pd.DataFrame) -> pd.DataFrame:
    """Say what single experts agree on without their names.

    Args:
        agreement: an `EXPERT_AGREEMENT` frame.

    Returns:
        Its rows of single experts (measure, first, second, value), with a number for
        each name: 1 agrees most often with the ranking. The order of the survey's
        columns is not told. No rows for fewer than three experts.
    """
    columns = ["measure", "first", "second", "value"]
    single = agreement.loc[agreement["first"] != "", columns]
    with_ranking = single[single["measure"] == "with ranking"]
    by_agreement = with_ranking.sort_values(["value", "first"], ascending=[False, True])
    names = by_agreement["first"].tolist()
    if len(names) < _MIN_EXPERTS_SHOWN_SINGLY:
        return single.head(0)
    # Padded, so that "expert 10" is not sorted before "expert 2".
    width = len(str(len(names)))
    labels = [f"expert {number + 1:0{width}d}" for number in range(len(names))]
    return single.replace(names, labels).reset_index(drop=True)
