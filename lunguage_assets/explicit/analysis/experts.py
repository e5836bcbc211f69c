"""Human experts: their answers, and their agreement with the ranking, with judges' majority votes and with
each other (explicit.md section 4).

The columns of the two files are those that `lunguage survey make` writes. An entry that cannot be read
refuses the file, by row and column, and is never quoted.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lunguage_assets.draws import coins, mix, text_hash, text_hashes
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.agreement import (
    MeasuredValue,
    agreement_frame,
    agreement_row,
    coefficient_rows,
    mean_of,
    pairwise_agreement,
)
from lunguage_assets.explicit.hedges.hedging import normal_phrase
from lunguage_assets.files import edited_rows
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

PHRASE_COLUMNS = ("phrase_1", "phrase_2")
EXPERT_COLUMNS = ("expert", "role", "occupation", "years_of_experience")
OCCUPATION = "occupation: "
"""How the group of an occupation begins."""
FEWEST = 2
"""Experts of a group that may be shown beside other groups: of one, it is a person's."""

Described = Mapping[str, tuple[str, str]]
"""Role (writer or reader of reports, or empty) and occupation, in lower case, of each expert by name."""

_NO_EXPERT = ("", "pair", "question", "comment", *PHRASE_COLUMNS)
_FIX = "Fix the entry, or delete the row; nothing was imported."


def load_responses(path: Path) -> pd.DataFrame:
    """Experts' choices: a line per pair (index phrase_1, phrase_2) and a column per expert, 1 or 2 for the
    phrase that was chosen, NaN without an answer.

    An entry of the CSV is one of the two phrases, or 1 or 2, or empty. Columns pair, question, comment,
    example... and those without a name are nobody's: the file that the paper publishes is read as it is.

    Raises:
        InputError: no such CSV, a pair that is none or comes twice, or an entry that is no answer.
    """
    rows = [
        (number, row)
        for number, row in edited_rows(path, PHRASE_COLUMNS)
        if any(cell.strip() for cell in row.values())
    ]
    columns = rows[0][1] if rows else ()
    names = [name for name in columns if name.strip() not in _NO_EXPERT and not name.startswith("example")]
    if not names:
        expected = "the columns phrase_1, phrase_2 and one per expert, and a row per pair"
        remedy = "Fill in the file that `lunguage survey make` writes."
        raise InputError(path.name, "no expert's column" if rows else "no row", expected, remedy)
    chosen: dict[tuple[str, str], list[float]] = {}
    for number, row in rows:
        first, second = pair = (normal_phrase(row["phrase_1"]), normal_phrase(row["phrase_2"]))
        if not first or not second or first == second or pair in chosen or (second, first) in chosen:
            expected = "two different phrases, each pair once"
            raise InputError(path.name, "another pair", expected, _FIX, row=number, column="phrase_1")
        answers = {"": np.nan, "1": 1.0, "2": 2.0, "1.0": 1.0, "2.0": 2.0, first: 1.0, second: 2.0}
        chosen[pair] = []
        for name in names:
            entry = normal_phrase(row[name])
            if entry not in answers:
                expected = "one of the row's two phrases, 1, 2 or nothing"
                raise InputError(path.name, "something else", expected, _FIX, row=number, column=name)
            chosen[pair].append(answers[entry])
    pairs = pd.MultiIndex.from_tuples(list(chosen), names=PHRASE_COLUMNS)
    return pd.DataFrame(list(chosen.values()), pairs, names, dtype="float64")


def load_experts(path: Path | None) -> Described:
    """Who the experts are, from a CSV; without a file nobody is described.

    Columns: expert, role (`writer` of reports, `reader`, or empty), occupation; others are left alone.

    Raises:
        InputError: no such CSV, another role, or a row without a name or with that of an earlier row.
    """
    described: dict[str, tuple[str, str]] = {}
    if path is None or not path.exists():
        return described
    for number, row in edited_rows(path, EXPERT_COLUMNS[:3]):
        name, role = row["expert"].strip(), row["role"].strip().lower()
        if not any(cell.strip() for cell in row.values()):
            continue
        if not name or name in described:
            found = "the expert of an earlier row" if name else "no name"
            raise InputError(path.name, found, "every expert once", _FIX, row=number, column="expert")
        if role not in ("writer", "reader", ""):
            expected = "writer, reader or nothing"
            raise InputError(path.name, "something else", expected, _FIX, row=number, column="role")
        described[name] = role, " ".join(row["occupation"].lower().split())
    return described


def expert_agreement(
    responses: pd.DataFrame,
    experts: Described,
    ranker: str,
    ranking: pd.DataFrame,
    matches: Mapping[str, pd.DataFrame],
    seed: int,
) -> pd.DataFrame:
    """Every agreement of the study as one row, an `EXPERT_AGREEMENT` frame.

    Args:
        responses, experts: as `load_responses` and `load_experts` return them.
        ranker, ranking: whose ranking, and its `REFERENCE_RANKING` frame; the phrase with the higher mu is
            the ranking's choice.
        matches: `COMPARISON_MATCHES` frame per judge; the phrase with more valid wins is the judge's choice,
            a coin hashed from the seed breaks ties.
        seed: of the coin.

    A share has Wilson's interval over pairs. Kappa takes the pairs that every expert of the group answered.
    In the coding `position` first and second are phrase_1 and phrase_2, as the survey showed them.
    """
    heard = responses.dropna(axis="columns", how="all")
    pairs: list[tuple[str, str]] = heard.index.tolist()
    first, second = (pd.Series([pair[side] for pair in pairs], heard.index) for side in (0, 1))
    groups: dict[str, list[str]] = {"all": heard.columns.tolist()}
    chosen = {name: first.where(heard[name] == 1, second.where(heard[name] == 2)) for name in groups["all"]}
    phrases = pd.DataFrame(chosen, heard.index)
    for name in groups["all"]:
        role, occupation = experts.get(name, ("", ""))
        for group in (role, occupation and f"{OCCUPATION}{occupation}"):
            if group:
                groups.setdefault(group, []).append(name)
    places = dict(zip(ranking["phrase"].tolist(), ranking["mu"].tolist(), strict=True))
    references = [("with ranking", ranker, [_surer(pair, places) for pair in pairs])]
    for judge in sorted(matches):
        winners = _majorities(judge, matches[judge], seed)
        references.append(("with judge", judge, [winners.get(frozenset(pair)) for pair in pairs]))
    rows: list[dict[str, Any]] = []
    for measure, name, choice in references:
        beside = pd.Series(choice, heard.index, dtype=object)
        shares = {expert: pairwise_agreement(phrases[expert], beside) for expert in chosen}
        for expert, share in shares.items():
            rows.append(agreement_row(measure, share, first=expert, second=name, group="all"))
        for group, members in groups.items():
            mean = mean_of(shares[expert].value for expert in members)
            mean = MeasuredValue(mean.value, sum(shares[expert].n for expert in members))
            rows.append(agreement_row(measure, mean, second=name, group=group))
    for group, members in groups.items():
        if group == "all" or len(members) > 1:
            rows += _among(heard[members], phrases[members], group)
    return agreement_frame(EXPERT_AGREEMENT, [{**row, "experts": len(groups[row["group"]])} for row in rows])


def _surer(pair: tuple[str, str], places: Mapping[str, float]) -> str | None:
    """The phrase of a pair that is ranked higher; None where one is not ranked, or both at one place."""
    first, second = (places.get(phrase, np.nan) for phrase in pair)
    return pair[0] if first > second else pair[1] if second > first else None


def _majorities(judge: str, frame: pd.DataFrame, seed: int) -> dict[frozenset[str], str]:
    """Pair of phrases -> the one with more valid wins over the repetitions."""
    valid = frame.dropna(subset="winner")
    votes = (valid["winner"] == valid["phrase_a"]).astype("int64") * 2 - 1
    lead = votes.groupby([valid["phrase_a"], valid["phrase_b"]], sort=True).sum()
    a, b = (lead.index.get_level_values(side) for side in (0, 1))
    tie = coins(mix(text_hash(seed, "majority", judge), text_hashes(a), text_hashes(b)))
    winner = np.where((lead < 0) | ((lead == 0) & tie), b, a)
    return {frozenset(pair): str(phrase) for pair, phrase in zip(lead.index, winner, strict=True)}


def _among(positions: pd.DataFrame, phrases: pd.DataFrame, group: str) -> list[dict[str, Any]]:
    """Agreement of the experts of a group with each other; single pairs once, for the group of all."""
    rows, shares = [], []
    for one, other in combinations(sorted(phrases.columns.tolist()), 2):
        share = pairwise_agreement(phrases[one], phrases[other])
        shares.append(share.value)
        if group == "all":
            rows.append(agreement_row("with expert", share, first=one, second=other, group=group))
    rows.append(agreement_row("with expert", mean_of(shares), group=group))
    return rows + coefficient_rows(positions, phrases, group=group)
