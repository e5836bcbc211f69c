"""Human experts: their answers, and their agreement with the ranking and with judges.

Section 4 of docs/method/explicit.md. The templates that they fill in are made by
`surveys.py`. An entry that cannot be read refuses the file, by row and column, and is
never quoted: it may be a sentence of a report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lunguage_assets.corpus.whole_tables import edited_rows
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.agreement import (
    MeasuredValue,
    agreement_frame,
    agreement_row,
    coefficient_rows,
    mean_of,
    pairwise_agreement,
)
from lunguage_assets.explicit.hedges.phrases import normal_phrase
from lunguage_assets.randomness import mix, random_bits, text_hash, text_hashes
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


PhrasePair = tuple[str, str]


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
    choices_by_pair: dict[PhrasePair, dict[str, float]] = {}
    for row_number, cells in _filled_rows(path, PHRASE_COLUMNS):
        first = normal_phrase(cells["phrase_1"])
        second = normal_phrase(cells["phrase_2"])
        # Turned round, "likely or possible" is the same question.
        is_new = choices_by_pair.keys().isdisjoint([(first, second), (second, first)])
        if not first or not second or first == second or not is_new:
            expected = "two different phrases, each pair once"
            raise _wrong(path, "another pair", expected, row_number, "phrase_1")
        number_by_entry = {
            "": np.nan,
            "1": 1.0,
            "2": 2.0,
            "1.0": 1.0,
            "2.0": 2.0,
            first: 1.0,
            second: 2.0,
        }
        choices = {}
        for name, cell in cells.items():
            if name.strip() in _COLUMNS_OF_NOBODY or name.startswith("example"):
                continue
            entry = normal_phrase(cell)
            if entry not in number_by_entry:
                expected = "one of the row's two phrases, 1, 2 or nothing"
                raise _wrong(path, "something else", expected, row_number, name)
            choices[name] = number_by_entry[entry]
        choices_by_pair[first, second] = choices
    if not any(choices_by_pair.values()):
        raise InputError(
            path.name,
            "no expert's column" if choices_by_pair else "no row",
            "the columns phrase_1, phrase_2 and one per expert, and a row per pair",
            "Fill in the file that `lunguage survey make` writes.",
        )
    pairs = pd.MultiIndex.from_tuples(list(choices_by_pair), names=PHRASE_COLUMNS)
    return pd.DataFrame(list(choices_by_pair.values()), pairs, dtype="float64")


def load_experts(path: Path | None) -> dict[str, Expert]:
    """Read who the experts are, by name; without a file nobody is described.

    Args:
        path: CSV with `DESCRIPTION_COLUMNS`.

    Raises:
        InputError: no such CSV, another role, or a row without a name or with that of
            an earlier row.
    """
    experts: dict[str, Expert] = {}
    if path is None or not path.exists():
        return experts
    for row_number, cells in _filled_rows(path, DESCRIPTION_COLUMNS):
        name = cells["expert"].strip()
        role = cells["role"].strip().lower()
        if not name or name in experts:
            found = "the expert of an earlier row" if name else "no name"
            raise _wrong(path, found, "every expert once", row_number, "expert")
        if role not in ROLES:
            expected = "writer, reader or nothing"
            raise _wrong(path, "something else", expected, row_number, "role")
        occupation = " ".join(cells["occupation"].lower().split())
        experts[name] = Expert(role, occupation)
    return experts


def _filled_rows(
    path: Path, columns: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
    # Spreadsheets keep rows of which somebody has deleted every cell.
    return [
        (row_number, cells)
        for row_number, cells in edited_rows(path, columns)
        if any(cell.strip() for cell in cells.values())
    ]


def _wrong(path: Path, found: str, expected: str, row: int, column: str) -> InputError:
    remedy = "Fix the entry, or delete the row; nothing was imported."
    return InputError(path.name, found, expected, remedy, row=row, column=column)


def expert_agreement(
    responses: pd.DataFrame,
    experts: Mapping[str, Expert],
    ranker: str,
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    seed: int,
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
        seed: from which the coin between equal numbers of wins follows.

    Returns:
        An `EXPERT_AGREEMENT` frame, every agreement as one row.
    """
    # Who has answered nothing is no expert of this survey.
    answered = responses.dropna(axis="columns", how="all")
    pairs: list[PhrasePair] = answered.index.tolist()
    first = pd.Series([pair[0] for pair in pairs], answered.index)
    second = pd.Series([pair[1] for pair in pairs], answered.index)
    phrases = pd.DataFrame(
        {
            name: first.where(choices == 1, second.where(choices == 2))
            for name, choices in answered.items()
        },
        answered.index,
    )
    groups = _groups(answered.columns.tolist(), experts)
    mu_by_phrase = ranking.set_index("phrase")["mu"]
    mu_of_second = mu_by_phrase.reindex(second).to_numpy()
    lead = mu_by_phrase.reindex(first).to_numpy() - mu_of_second
    ranked_higher = first.where(lead > 0, second.where(lead < 0))
    rows = _rows_with("with ranking", ranker, ranked_higher, phrases, groups)
    for judge in sorted(matches):
        winner_by_pair = _majorities(judge, matches[judge], seed)
        choices = [winner_by_pair.get(frozenset(pair)) for pair in pairs]
        of_judge = pd.Series(choices, answered.index, dtype=object)
        rows += _rows_with("with judge", judge, of_judge, phrases, groups)
    for group, members in groups.items():
        # One expert has nobody of the group to agree with.
        if group == ALL_EXPERTS or len(members) > 1:
            rows += _rows_among_experts(phrases[members], answered[members], group)
    with_sizes = [{**row, "experts": len(groups[row["group"]])} for row in rows]
    return agreement_frame(EXPERT_AGREEMENT, with_sizes)


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


def _rows_with(
    measure: str,
    reference: str,
    choices: pd.Series,
    phrases: pd.DataFrame,
    groups: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:
    """Measure the agreement with the ranking or a judge: of experts, then of groups.

    Args:
        measure: in the words of `EXPERT_AGREEMENT`.
        reference: the ranker or judge.
        choices: phrase of each pair that it finds more certain; null where neither.
        phrases: those that the experts chose.
        groups: members of each group.
    """
    shares = {name: pairwise_agreement(phrases[name], choices) for name in phrases}
    rows = [
        agreement_row(
            measure, share, first=str(name), second=reference, group=ALL_EXPERTS
        )
        for name, share in shares.items()
    ]
    for group, members in groups.items():
        # Every expert counts alike, however many pairs each has answered.
        mean = mean_of(shares[expert].value for expert in members)
        answers = sum(shares[expert].n for expert in members)
        measured = MeasuredValue(mean.value, answers)
        rows.append(agreement_row(measure, measured, second=reference, group=group))
    return rows


def _rows_among_experts(
    phrases: pd.DataFrame, positions: pd.DataFrame, group: str
) -> list[dict[str, Any]]:
    """Measure the agreement of a group; single pairs only for the group of all."""
    rows = []
    shares = []
    for first, second in combinations(sorted(phrases.columns), 2):
        share = pairwise_agreement(phrases[first], phrases[second])
        shares.append(share.value)
        if group == ALL_EXPERTS:
            rows.append(
                agreement_row(
                    "with expert", share, first=first, second=second, group=group
                )
            )
    rows.append(agreement_row("with expert", mean_of(shares), group=group))
    return rows + coefficient_rows(phrases, positions, group=group)


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
    single = agreement[is_all & (agreement["first"] != "")]
    with_ranking = single[single["measure"] == "with ranking"]
    by_agreement = with_ranking.sort_values(["value", "first"], ascending=[False, True])
    names = by_agreement["first"].tolist()
    columns = ["measure", "first", "second", "value"]
    if len(names) < _MIN_EXPERTS_SHOWN_SINGLY:
        return single.loc[[], columns]
    # Padded, so that "expert 10" is not sorted before "expert 2".
    width = len(str(len(names)))
    label_by_name = {
        name: f"expert {number:0{width}d}" for number, name in enumerate(names, 1)
    }
    is_with_expert = single["measure"] == "with expert"
    second_labels = single["second"].map(label_by_name)
    numbered = single.assign(
        first=single["first"].map(label_by_name),
        second=single["second"].where(~is_with_expert, second_labels),
    )
    return numbered[columns].reset_index(drop=True)


def _majorities(
    judge: str, frame: pd.DataFrame, seed: int
) -> dict[frozenset[str], str]:
    """Name the phrase of each pair with more valid wins over the repetitions."""
    # Ten comparisons may end five to five: then a coin decides, which is hashed from
    # judge and pair, so that it falls the same way in every run (section 4).
    valid = frame.dropna(subset="winner")
    votes = (valid["winner"] == valid["phrase_a"]).astype("int64") * 2 - 1
    lead = votes.groupby([valid["phrase_a"], valid["phrase_b"]]).sum()
    pairs = lead.index.to_frame()
    coin_seed = text_hash(seed, "majority", judge)
    a = text_hashes(pairs["phrase_a"])
    b = text_hashes(pairs["phrase_b"])
    is_b = (lead < 0) | ((lead == 0) & random_bits(mix(coin_seed, a, b)))
    winners = pairs["phrase_b"].where(is_b, pairs["phrase_a"])
    columns = (pairs["phrase_a"], pairs["phrase_b"], winners)
    return {frozenset((a, b)): winner for a, b, winner in zip(*columns, strict=True)}
