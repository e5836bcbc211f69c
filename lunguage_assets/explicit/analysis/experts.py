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
    RatingsByRater,
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
_FIX = "Fix the entry, or delete the row; nothing was imported."


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
    rows = [
        (row_number, cells)
        for row_number, cells in edited_rows(path, PHRASE_COLUMNS)
        if not _is_blank(cells)
    ]
    columns = rows[0][1] if rows else ()
    experts = [
        name
        for name in columns
        if name.strip() not in _COLUMNS_OF_NOBODY and not name.startswith("example")
    ]
    if not experts:
        raise InputError(
            path.name,
            "no expert's column" if rows else "no row",
            "the columns phrase_1, phrase_2 and one per expert, and a row per pair",
            "Fill in the file that `lunguage survey make` writes.",
        )
    choices_by_pair: dict[PhrasePair, list[float]] = {}
    for row_number, cells in rows:
        first = normal_phrase(cells["phrase_1"])
        second = normal_phrase(cells["phrase_2"])
        pair = (first, second)
        is_pair = "" not in pair and first != second
        # Turned round, "likely or possible" is the same question.
        is_new = choices_by_pair.keys().isdisjoint([pair, (second, first)])
        if not (is_pair and is_new):
            raise InputError(
                path.name,
                "another pair",
                "two different phrases, each pair once",
                _FIX,
                row=row_number,
                column="phrase_1",
            )
        choices = []
        for name in experts:
            choice = _choice(cells[name], pair)
            if choice is None:
                raise InputError(
                    path.name,
                    "something else",
                    "one of the row's two phrases, 1, 2 or nothing",
                    _FIX,
                    row=row_number,
                    column=name,
                )
            choices.append(choice)
        choices_by_pair[pair] = choices
    pairs = pd.MultiIndex.from_tuples(list(choices_by_pair), names=PHRASE_COLUMNS)
    return pd.DataFrame(list(choices_by_pair.values()), pairs, experts, dtype="float64")


def _is_blank(cells: Mapping[str, str]) -> bool:
    # Spreadsheets keep rows of which somebody has deleted every cell.
    return not any(cell.strip() for cell in cells.values())


def _choice(cell: str, pair: PhrasePair) -> float | None:
    """Read an entry: 1 or 2, NaN where empty, None where it is something else."""
    first, second = pair
    number_by_entry = {
        "": np.nan,
        "1": 1.0,
        "2": 2.0,
        "1.0": 1.0,
        "2.0": 2.0,
        first: 1.0,
        second: 2.0,
    }
    return number_by_entry.get(normal_phrase(cell))


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
    for row_number, cells in edited_rows(path, DESCRIPTION_COLUMNS):
        if _is_blank(cells):
            continue
        name = cells["expert"].strip()
        role = cells["role"].strip().lower()
        if not name or name in experts:
            raise InputError(
                path.name,
                "the expert of an earlier row" if name else "no name",
                "every expert once",
                _FIX,
                row=row_number,
                column="expert",
            )
        if role not in ROLES:
            raise InputError(
                path.name,
                "something else",
                "writer, reader or nothing",
                _FIX,
                row=row_number,
                column="role",
            )
        occupation = " ".join(cells["occupation"].lower().split())
        experts[name] = Expert(role, occupation)
    return experts


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
    names = answered.columns.tolist()
    pairs: list[PhrasePair] = answered.index.tolist()
    phrases = _chosen_phrases(answered, pairs)
    groups = _groups(names, experts)
    mu_by_phrase = ranking.set_index("phrase")["mu"].to_dict()
    ranked_higher = [_ranked_higher(pair, mu_by_phrase) for pair in pairs]
    rows = _rows_with_reference("with ranking", ranker, ranked_higher, phrases, groups)
    for judge in sorted(matches):
        winners = _majorities(judge, matches[judge], seed)
        choices = [winners.get(frozenset(pair)) for pair in pairs]
        rows += _rows_with_reference("with judge", judge, choices, phrases, groups)
    for group, members in groups.items():
        # One expert has nobody of the group to agree with.
        if group == ALL_EXPERTS or len(members) > 1:
            ratings = RatingsByRater(answered[members], phrases[members])
            rows += _rows_among_experts(ratings, group)
    with_sizes = [{**row, "experts": len(groups[row["group"]])} for row in rows]
    return agreement_frame(EXPERT_AGREEMENT, with_sizes)


def _chosen_phrases(
    answered: pd.DataFrame, pairs: Sequence[PhrasePair]
) -> pd.DataFrame:
    """Name the phrase that was chosen: a row per pair, a column per expert."""
    first = pd.Series([pair[0] for pair in pairs], answered.index)
    second = pd.Series([pair[1] for pair in pairs], answered.index)
    phrases = {}
    for name in answered.columns:
        is_second = answered[name] == 2
        phrases[name] = first.where(answered[name] == 1, second.where(is_second))
    return pd.DataFrame(phrases, answered.index)


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


def _rows_with_reference(
    measure: str,
    reference: str,
    choices: list[str | None],
    phrases: pd.DataFrame,
    groups: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:
    """Measure the agreement with the ranking or a judge: of experts, then of groups.

    Args:
        measure: in the words of `EXPERT_AGREEMENT`.
        reference: the ranker or judge.
        choices: phrase of each pair that it finds more certain; None where neither.
        phrases: those that the experts chose.
        groups: members of each group.
    """
    of_reference = pd.Series(choices, phrases.index, dtype=object)
    shares = {
        expert: pairwise_agreement(phrases[expert], of_reference)
        for expert in phrases.columns
    }
    rows = [
        agreement_row(measure, share, first=expert, second=reference, group=ALL_EXPERTS)
        for expert, share in shares.items()
    ]
    for group, members in groups.items():
        # Every expert counts alike, however many pairs each has answered.
        mean = mean_of(shares[expert].value for expert in members)
        answers = sum(shares[expert].n for expert in members)
        measured = MeasuredValue(mean.value, answers)
        rows.append(agreement_row(measure, measured, second=reference, group=group))
    return rows


def _rows_among_experts(ratings: RatingsByRater, group: str) -> list[dict[str, Any]]:
    """Measure the agreement of a group; single pairs only for the group of all."""
    rows = []
    shares = []
    names = sorted(ratings.phrases.columns.tolist())
    for first, second in combinations(names, 2):
        share = pairwise_agreement(ratings.phrases[first], ratings.phrases[second])
        shares.append(share.value)
        if group == ALL_EXPERTS:
            rows.append(
                agreement_row(
                    "with expert", share, first=first, second=second, group=group
                )
            )
    rows.append(agreement_row("with expert", mean_of(shares), group=group))
    return rows + coefficient_rows(ratings, group=group)


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


def _ranked_higher(pair: PhrasePair, mu_by_phrase: Mapping[Any, float]) -> str | None:
    """Name the phrase with the higher mu; None where there is none."""
    first = mu_by_phrase.get(pair[0], np.nan)
    second = mu_by_phrase.get(pair[1], np.nan)
    if first > second:
        return pair[0]
    return pair[1] if second > first else None


def _majorities(
    judge: str, frame: pd.DataFrame, seed: int
) -> dict[frozenset[str], str]:
    """Name the phrase of each pair with more valid wins over the repetitions."""
    # Ten comparisons may end five to five: then a coin decides, which is hashed from
    # judge and pair, so that it falls the same way in every run (section 4).
    valid = frame.dropna(subset="winner")
    has_a_won = valid["winner"] == valid["phrase_a"]
    votes = has_a_won.astype("int64") * 2 - 1
    lead = votes.groupby([valid["phrase_a"], valid["phrase_b"]], sort=True).sum()
    a = lead.index.get_level_values(0)
    b = lead.index.get_level_values(1)
    coin_seed = text_hash(seed, "majority", judge)
    is_b_by_coin = random_bits(mix(coin_seed, text_hashes(a), text_hashes(b)))
    winner = np.where((lead < 0) | ((lead == 0) & is_b_by_coin), b, a)
    return {
        frozenset(pair): str(phrase)
        for pair, phrase in zip(lead.index, winner, strict=True)
    }
