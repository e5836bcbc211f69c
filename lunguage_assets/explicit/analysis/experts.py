"""Human experts: their answers, and their agreement with the ranking and with judges.

Section 4 of docs/method/explicit.md. The templates that they fill in are made by
`surveys.py`. An entry that cannot be read refuses the file, by row and column, and is
never quoted: it may be a sentence of a report.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd

from lunguage_assets.corpus.whole_tables import edited_rows
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.agreement import (
    agreement_frame,
    agreement_row,
    coefficient_rows,
    pairwise_agreement,
)
from lunguage_assets.explicit.hedges import normal_phrase
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

PHRASE_COLUMNS = ("phrase_1", "phrase_2")
_MIN_EXPERTS_SHOWN_SINGLY = 3
"""Experts from which single ones are shown under numbers: of two, each would know the
other's.
"""
_COLUMNS_OF_NOBODY = ("pair", "question", "comment", *PHRASE_COLUMNS)
_NOT_OF_EXPERTS = ("example", "unnamed column")
"""How further such columns begin: the paper's file has one without a name."""


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
    rows = dict(edited_rows(path, PHRASE_COLUMNS))
    entries = pd.DataFrame.from_dict(rows, "index", dtype="str").map(normal_phrase)
    # Spreadsheets keep rows of which somebody has deleted every cell.
    entries = entries[(entries != "").any(axis=1)]
    experts = [
        name
        for name in entries.columns
        if name not in _COLUMNS_OF_NOBODY and not name.startswith(_NOT_OF_EXPERTS)
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
    _require(path, is_no_pair, "another pair", expected, "phrase_1")
    choices = {}
    for name in experts:
        # A spreadsheet may have made 1.0 of 1.
        is_first = entries[name].isin(["1", "1.0"]) | (entries[name] == first)
        is_second = entries[name].isin(["2", "2.0"]) | (entries[name] == second)
        is_unknown = ~(is_first | is_second | (entries[name] == ""))
        expected = "one of the row's two phrases, 1, 2 or nothing"
        _require(path, is_unknown, "something else", expected, name)
        choices[name] = np.select([is_first, is_second], [1.0, 2.0], np.nan)
    return pd.DataFrame(choices, pd.MultiIndex.from_frame(phrases))


def _require(
    path: Path, is_wrong: pd.Series, entry: str, expected: str, column: str
) -> None:
    """Refuse the first row that is wrong.

    Args:
        path: of the file.
        is_wrong: by row number.
        entry: what is there.
        expected: what should be.
        column: where it stands.
    """
    if is_wrong.any():
        remedy = "Fix the entry, or delete the row; nothing was imported."
        row, *_ = is_wrong.index[is_wrong].tolist()
        raise InputError(path.name, entry, expected, remedy, row=row, column=column)


def expert_agreement(
    responses: pd.DataFrame,
    ranker: str,
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
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
    # An answer 1 puts the first phrase ahead, 2 the second.
    phrases = answered.rsub(1.5).apply(_leading_phrases)
    pairs = answered.index.to_frame()
    mu = ranking.set_index("phrase")["mu"]
    lead = pairs["phrase_1"].map(mu) - pairs["phrase_2"].map(mu)
    references = {("with ranking", ranker): _leading_phrases(lead)}
    for judge in sorted(matches):
        wins = _lead_of_wins(matches[judge], pairs)
        references["with judge", judge] = _leading_phrases(wins)
    rows = []
    experts: list[str] = answered.columns.tolist()
    for expert, ((measure, name), choices) in product(experts, references.items()):
        share = pairwise_agreement(phrases[expert], choices)
        rows.append(agreement_row(measure, share, first=expert, second=name))
    for first, second in combinations(sorted(experts), 2):
        share = pairwise_agreement(phrases[first], phrases[second])
        rows.append(agreement_row("with expert", share, first=first, second=second))
    single = pd.DataFrame(rows, dtype=object).astype({"value": "float64"})
    # Every expert counts alike, however many pairs each has answered.
    is_of_two = single["measure"] == "with expert"
    averages = (
        single.assign(first="", second=single["second"].mask(is_of_two, ""))
        .groupby(["measure", "coding", "first", "second"], as_index=False)
        .agg(value=("value", "mean"), n=("n", "sum"))
        .assign(low=None, high=None)
    )
    coefficients = pd.DataFrame(coefficient_rows(phrases, answered))
    frames = pd.concat([single, averages, coefficients])
    return agreement_frame(EXPERT_AGREEMENT, frames.to_dict("records"))


def _leading_phrases(lead: pd.Series) -> pd.Series:
    """Choose the more certain phrase of each pair; null where neither is.

    Args:
        lead: of phrase_1 over phrase_2, by pair.
    """
    pairs = lead.index.to_frame().astype(object)
    second = pairs["phrase_2"].where(lead < 0, None)
    return pairs["phrase_1"].where(lead > 0, second)


def _lead_of_wins(matches: pd.DataFrame, pairs: pd.DataFrame) -> pd.Series:
    """Count how much more often a judge chose phrase_1 than phrase_2 of each pair.

    Ten comparisons may end five to five: then the judge chooses neither.
    """
    valid = matches.dropna(subset="winner")
    signs = (valid["winner"] == valid["phrase_a"]) * 2 - 1
    lead_of_first = signs.groupby([valid["phrase_a"], valid["phrase_b"]]).sum()
    lead_of_either = pd.concat([lead_of_first, -lead_of_first.swaplevel()])
    return lead_of_either.reindex(pairs.index, fill_value=0)


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
    label_by_name = {
        name: f"expert {number:0{width}d}" for number, name in enumerate(names, 1)
    }
    labels = {"first": label_by_name, "second": label_by_name}
    return single.replace(labels).reset_index(drop=True)
