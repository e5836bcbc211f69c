"""Human experts: their answers, and their agreement with the ranking and with judges.

Section 4 of docs/method/explicit.md. The templates that they fill in are made by
`surveys.py`. An entry that cannot be read refuses the file, by row and column, and is
never quoted: it may be a sentence of a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

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
DESCRIPTION_COLUMNS = ("expert", "role", "occupation")
ROLES = ("writer", "reader", "")
ALL_EXPERTS = "all"
OCCUPATION_PREFIX = "occupation: "
"""How the group of an occupation begins."""
MIN_EXPERTS_OF_GROUP = 2
"""Experts of a group that may be shown beside other groups: one would be a person."""
_MIN_EXPERTS_SHOWN_SINGLY = 3
"""Experts from which single ones are shown under numbers: of two, each would know the
other's.
"""
_COLUMNS_OF_NOBODY = ("", "pair", "question", "comment", *PHRASE_COLUMNS)


class Expert(NamedTuple):
    """Who an expert is, in lower case.

    Attributes:
        role: writer or reader of reports, or empty.
        occupation: such as radiologist, or empty.
    """

    role: str = ""
    occupation: str = ""


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
    cells = _filled_rows(path, PHRASE_COLUMNS)
    experts = [
        name
        for name in cells.columns
        if name.strip() not in _COLUMNS_OF_NOBODY and not name.startswith("example")
    ]
    if cells.empty or not experts:
        raise InputError(
            path.name,
            "no row" if cells.empty else "no expert's column",
            "the columns phrase_1, phrase_2 and one per expert, and a row per pair",
            "Fill in the file that `lunguage survey make` writes.",
        )
    entries = cells.map(normal_phrase)
    phrases = entries[list(PHRASE_COLUMNS)]
    first, second = phrases["phrase_1"], phrases["phrase_2"]
    # Turned round, "likely or possible" is the same question.
    is_repeated = phrases.apply(frozenset, axis=1).duplicated()
    is_no_pair = (phrases == "").any(axis=1) | (first == second) | is_repeated
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


def load_experts(path: Path | None) -> dict[str, Expert]:
    """Read who the experts are, by name; without a file nobody is described.

    Args:
        path: CSV with `DESCRIPTION_COLUMNS`.

    Raises:
        InputError: no such CSV, another role, or a row without a name or with that of
            an earlier row.
    """
    if path is None or not path.exists():
        return {}
    cells = _filled_rows(path, DESCRIPTION_COLUMNS)
    names = cells["expert"].str.strip()
    is_no_name = (names == "") | names.duplicated()
    found = "no name, or the expert of an earlier row"
    _require(path, is_no_name, found, "every expert once", "expert")
    roles = cells["role"].str.strip().str.lower()
    expected = "writer, reader or nothing"
    _require(path, ~roles.isin(ROLES), "something else", expected, "role")
    occupations = cells["occupation"].str.lower().str.split().str.join(" ")
    return dict(zip(names, map(Expert, roles, occupations), strict=True))


def _filled_rows(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read the cells of a CSV, by row number."""
    rows = dict(edited_rows(path, columns))
    cells = pd.DataFrame.from_dict(rows, orient="index", dtype="str")
    # Spreadsheets keep rows of which somebody has deleted every cell.
    is_filled = cells.map(str.strip).ne("").any(axis=1)
    return cells[is_filled].reindex(columns=cells.columns.union(columns, sort=False))


def _require(
    path: Path, is_wrong: pd.Series, found: str, expected: str, column: str
) -> None:
    """Refuse the first row that is wrong.

    Args:
        path: of the file.
        is_wrong: by row number.
        found: what is there.
        expected: what should be.
        column: where it stands.
    """
    if is_wrong.any():
        remedy = "Fix the entry, or delete the row; nothing was imported."
        row = int(is_wrong.idxmax())
        raise InputError(path.name, found, expected, remedy, row=row, column=column)


def expert_agreement(
    responses: pd.DataFrame,
    experts: Mapping[str, Expert],
    ranker: str,
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Measure how far experts agree with the ranking, with judges and with each other.

    A share has Wilson's interval over pairs. Kappa takes the pairs that every expert of
    the group answered. In the coding `position` first and second are phrase_1 and
    phrase_2, as the survey showed them.

    Args:
        responses: as `load_responses` returns them.
        experts: as `load_experts` returns them.
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
    by_ranking = _leading_phrases(lead)
    references = {("with ranking", ranker): by_ranking}
    for judge in sorted(matches):
        wins = _lead_of_wins(matches[judge], pairs)
        references["with judge", judge] = _leading_phrases(wins)
    rows = []
    for expert in phrases:
        for (measure, name), choices in references.items():
            share = pairwise_agreement(phrases[expert], choices)
            rows.append(agreement_row(measure, share, first=expert, second=name))
    for one, other in combinations(sorted(phrases), 2):
        share = pairwise_agreement(phrases[one], phrases[other])
        rows.append(agreement_row("with expert", share, first=one, second=other))
    single = pd.DataFrame(rows, dtype=object).astype({"value": "float64"})
    frames = [single.assign(group=ALL_EXPERTS, experts=answered.shape[1])]
    for group, members in _groups(answered.columns.tolist(), experts).items():
        averages = _averages(single[single["first"].isin(members)], members)
        coefficients = []
        # One expert has nobody of the group to agree with.
        if group == ALL_EXPERTS or len(members) > 1:
            coefficients = coefficient_rows(phrases[members], answered[members])
        for frame in (averages, pd.DataFrame(coefficients)):
            frames.append(frame.assign(group=group, experts=len(members)))
    return agreement_frame(EXPERT_AGREEMENT, pd.concat(frames).to_dict("records"))


def _averages(shares: pd.DataFrame, members: Sequence[str]) -> pd.DataFrame:
    """Average the agreement of the experts of a group, and that among them.

    Every expert counts alike, however many pairs each has answered.

    Args:
        shares: agreement rows whose `first` is an expert of the group.
        members: of the group.
    """
    is_of_two = shares["measure"] == "with expert"
    is_among = ~is_of_two | shares["second"].isin(members)
    shares = shares.assign(first="", second=shares["second"].mask(is_of_two, ""))
    names = ["measure", "coding", "first", "second"]
    by_reference = shares[is_among].groupby(names, as_index=False)
    averages = by_reference.agg(value=("value", "mean"), n=("n", "sum"))
    return averages.assign(low=None, high=None)


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
    has_a_won = valid["winner"] == valid["phrase_a"]
    loser = valid["phrase_b"].where(has_a_won, valid["phrase_a"])
    wins = valid.groupby([valid["winner"], loser]).size()
    won = wins.reindex(pd.MultiIndex.from_frame(pairs), fill_value=0)
    swapped = pd.MultiIndex.from_frame(pairs[["phrase_2", "phrase_1"]])
    lost = wins.reindex(swapped, fill_value=0)
    return pd.Series(won.to_numpy() - lost.to_numpy(), pairs.index)


def _groups(
    names: Sequence[str], experts: Mapping[str, Expert]
) -> dict[str, list[str]]:
    """List the members of each group: all, and those of a role or an occupation."""
    groups: dict[str, list[str]] = {ALL_EXPERTS: list(names)}
    for name in names:
        role, occupation = experts.get(name, Expert())
        if role:
            groups.setdefault(role, []).append(name)
        if occupation:
            groups.setdefault(f"{OCCUPATION_PREFIX}{occupation}", []).append(name)
    return groups


def numbered_experts(agreement: pd.DataFrame) -> pd.DataFrame:
    """Say what single experts agree on without their names, roles and occupations.

    Args:
        agreement: an `EXPERT_AGREEMENT` frame.

    Returns:
        Its rows of single experts (measure, first, second, value), with a number for
        each name: 1 agrees most often with the ranking. The order of the survey's
        columns is not told. No rows for fewer than three experts.
    """
    is_all = agreement["group"] == ALL_EXPERTS
    columns = ["measure", "first", "second", "value"]
    single = agreement.loc[is_all & (agreement["first"] != ""), columns]
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
    is_of_two = single["measure"] == "with expert"
    labels = single["second"].map(label_by_name)
    second = single["second"].mask(is_of_two, labels)
    first = single["first"].map(label_by_name)
    return single.assign(first=first, second=second).reset_index(drop=True)
