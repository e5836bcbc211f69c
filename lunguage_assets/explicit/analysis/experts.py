"""Human experts: their answers and who they are, and their agreement with the ranking, with judges' majority
votes and with each other (explicit.md section 4).

The columns of the two files are those that `lunguage survey make` writes. An entry that cannot be read
refuses the file, by row and column, and is never quoted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lunguage_assets.draws import coins, mix, text_hash, text_hashes
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.agreement import pair_votes
from lunguage_assets.explicit.analysis.reliability import (
    agreement_frame,
    agreement_row,
    coefficient_rows,
    mean_of,
    pairwise_agreement,
)
from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.explicit.hedges.edited_csv import edited_rows
from lunguage_assets.explicit.hedges.hedging import normal_phrase
from lunguage_assets.tables.analyses import EXPERT_AGREEMENT

MISSING = -1
"""Code of a cell without an answer; 0 is the first phrase, 1 the second."""

PHRASE_COLUMNS = ("phrase_1", "phrase_2")
EXPERT_COLUMNS = ("expert", "role", "occupation", "years_of_experience")
OCCUPATION = "occupation: "
"""How the group of an occupation begins."""
FEWEST = 2
"""Experts of a group that may be shown beside other groups: of one, it is a person's."""

_NO_EXPERT = ("", "pair", "question", "comment", *PHRASE_COLUMNS)
_NUMBERS = {"": MISSING, "1": 0, "1.0": 0, "2": 1, "2.0": 1}
_ROLES = ("writer", "reader", "")
_FIX = "Fix the entry, or delete the row; nothing was imported."


@dataclass(frozen=True)
class Responses:
    """The experts' choices.

    `chosen` has shape (pairs, experts) and holds 0, 1 or MISSING. `silent` are columns of experts without any
    entry.
    """

    experts: tuple[str, ...]
    phrase_1: tuple[str, ...]
    phrase_2: tuple[str, ...]
    chosen: Integers
    silent: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.phrase_1)


@dataclass(frozen=True)
class Expert:
    """What is known of an expert: `role` is that of a writer or reader of reports, or empty; `occupation` is
    in lower case.
    """

    role: str = ""
    occupation: str = ""


def load_responses(path: Path) -> Responses:
    """Responses from a CSV with the columns phrase_1, phrase_2 and one per expert.

    An entry is one of the two phrases, or 1 or 2, or empty. Columns pair, question, comment, example... and
    those without a name are nobody's, so that the file that the paper publishes is read as it is.

    Raises:
        InputError: not a CSV, no column of phrases or of an expert, no row, a row without two different
            phrases, a pair that an earlier row has (in either order), or an entry that is no answer.
    """
    rows = [
        (number, row)
        for number, row in edited_rows(path, PHRASE_COLUMNS, "one value per column")
        if any(cell.strip() for cell in row.values())
    ]
    columns = rows[0][1] if rows else ()
    names = [name for name in columns if name.strip() not in _NO_EXPERT and not name.startswith("example")]
    if not names:
        expected = "the columns phrase_1, phrase_2 and one per expert, and a row per pair"
        remedy = "Fill in the file that `lunguage survey make` writes."
        raise InputError(path.name, "no expert's column" if rows else "no row", expected, remedy)
    pairs: list[tuple[str, str]] = []
    entries: list[list[int]] = []
    for number, row in rows:
        first, second = pair = (normal_phrase(row["phrase_1"]), normal_phrase(row["phrase_2"]))
        if not first or not second or first == second or pair in pairs or (second, first) in pairs:
            expected = "two different phrases, each pair once"
            raise InputError(path.name, "another pair", expected, _FIX, row=number, column="phrase_1")
        pairs.append(pair)
        entries.append([_entry(path, number, name, row[name], pair) for name in names])
    chosen = np.array(entries, dtype=np.int64)
    answered = (chosen != MISSING).any(axis=0)
    return Responses(
        experts=tuple(name for name, some in zip(names, answered.tolist(), strict=True) if some),
        phrase_1=tuple(first for first, _ in pairs),
        phrase_2=tuple(second for _, second in pairs),
        chosen=chosen[:, answered],
        silent=tuple(name for name, some in zip(names, answered.tolist(), strict=True) if not some),
    )


def _entry(path: Path, number: int, expert: str, cell: str, phrases: tuple[str, str]) -> int:
    entry = normal_phrase(cell)
    if entry in phrases:
        return phrases.index(entry)
    if entry not in _NUMBERS:
        expected = "one of the row's two phrases, 1, 2 or nothing"
        raise InputError(path.name, "something else", expected, _FIX, row=number, column=expert)
    return _NUMBERS[entry]


def load_experts(path: Path | None) -> dict[str, Expert]:
    """Who the experts are, by name, from a CSV; without a file nobody is described.

    Columns: expert, role (`writer` of reports, `reader`, or empty), occupation; others are left alone.

    Raises:
        InputError: not a CSV, a missing column, another role, or a row without a name or with that of an
            earlier row.
    """
    described: dict[str, Expert] = {}
    if path is None or not path.exists():
        return described
    for number, row in edited_rows(path, EXPERT_COLUMNS[:3], "one value per column"):
        name, role = row["expert"].strip(), row["role"].strip().lower()
        if not any(cell.strip() for cell in row.values()):
            continue
        if not name or name in described:
            found = "the expert of an earlier row" if name else "no name"
            raise InputError(path.name, found, "every expert once", _FIX, row=number, column="expert")
        if role not in _ROLES:
            expected = "writer, reader or nothing"
            raise InputError(path.name, "something else", expected, _FIX, row=number, column="role")
        described[name] = Expert(role, " ".join(row["occupation"].lower().split()))
    return described


def undescribed(responses: Responses, experts: Mapping[str, Expert]) -> tuple[list[str], list[str]]:
    """Experts with answers but no described role, and described experts without answers; both sorted."""
    without_role = sorted(name for name in responses.experts if not experts.get(name, Expert()).role)
    return without_role, sorted(experts.keys() - set(responses.experts))


@dataclass(frozen=True)
class _Reference:
    """What experts are compared with.

    `choice` is its choice for each pair (0, 1, negative: none), `reasons` says why there is none.
    """

    measure: str
    name: str
    choice: Integers
    reasons: NDArray[Any]


def expert_agreement(
    responses: Responses,
    experts: Mapping[str, Expert],
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

    A share has Wilson's interval over pairs; averages, kappa and alpha have none. Kappa takes the pairs that
    every expert of the group answered. In the coding `position` first and second are phrase_1 and phrase_2 of
    the responses, the order in which the survey showed them.
    """
    references = [_ranking_choice(responses, ranker, ranking)]
    references += [_majority_choice(responses, judge, matches[judge], seed) for judge in sorted(matches)]
    groups: dict[str, list[int]] = {"all": list(range(len(responses.experts)))}
    for place, name in enumerate(responses.experts):
        known = experts.get(name, Expert())
        for group in (known.role, known.occupation and f"{OCCUPATION}{known.occupation}"):
            if group:
                groups.setdefault(group, []).append(place)
    rows: list[dict[str, Any]] = []
    for reference in references:
        rows += _rows_beside(responses, reference, groups)
    for group, members in groups.items():
        if group == "all" or len(members) > 1:
            rows += _among_experts(responses, group, members)
    return agreement_frame(EXPERT_AGREEMENT, [{**row, "experts": len(groups[row["group"]])} for row in rows])


def _ranking_choice(responses: Responses, ranker: str, ranking: pd.DataFrame) -> _Reference:
    mu = ranking.set_index("phrase")["mu"]
    first, second = (
        mu.reindex(list(side)).to_numpy(dtype=np.float64) for side in (responses.phrase_1, responses.phrase_2)
    )
    known = np.isfinite(first) & np.isfinite(second)
    choice = np.where(known & (first != second), (second > first).astype(np.int64), -1)
    reasons = np.where(known, "same place in the ranking", "phrase not ranked")
    return _Reference("with ranking", ranker, choice, reasons)


def _majority_choice(responses: Responses, judge: str, frame: pd.DataFrame, seed: int) -> _Reference:
    votes = pair_votes(frame)
    hashes = [text_hashes(votes[name]) for name in ("phrase_a", "phrase_b")]
    tie = coins(mix(text_hash(seed, "majority", judge), *hashes))
    b_wins = np.where(votes["for_a"] == votes["for_b"], tie, votes["for_b"] > votes["for_a"])
    votes = votes.assign(winner=votes["phrase_b"].where(b_wins, votes["phrase_a"]))
    votes = votes[votes["for_a"] + votes["for_b"] > 0]
    names = [votes[name].tolist() for name in ("phrase_a", "phrase_b", "winner")]
    winner = {frozenset((a, b)): phrase for a, b, phrase in zip(*names, strict=True)}
    choice = [
        (first, second).index(winner[pair]) if (pair := frozenset((first, second))) in winner else -1
        for first, second in zip(responses.phrase_1, responses.phrase_2, strict=True)
    ]
    reasons = np.full(len(choice), "no valid comparison by that judge")
    return _Reference("with judge", judge, np.array(choice, dtype=np.int64), reasons)


def _rows_beside(
    responses: Responses, reference: _Reference, groups: Mapping[str, list[int]]
) -> Iterator[dict[str, Any]]:
    """Agreement of every expert with a reference, and its mean over the experts of every group."""
    single = []
    for place, expert in enumerate(responses.experts):
        share = pairwise_agreement(responses.chosen[:, place], reference.choice)
        single.append(share)
        left_out = _without_comparison(responses.chosen[:, [place]], reference)
        names = {"first": expert, "second": reference.name}
        yield agreement_row(reference.measure, share, **names, left_out=left_out, group="all")
    for group, members in groups.items():
        mean = mean_of(single[place].value for place in members)
        mean = replace(mean, n=sum(single[place].n for place in members))
        left_out = _without_comparison(responses.chosen[:, members], reference)
        yield agreement_row(reference.measure, mean, second=reference.name, left_out=left_out, group=group)


def _without_comparison(chosen: Integers, reference: _Reference) -> dict[str, int]:
    """Cases without a comparison, by reason; `chosen` has shape (pairs, experts)."""
    answered = (chosen != MISSING).sum(axis=1)
    counted = {"missing answer": int((chosen == MISSING).sum())}
    for reason in sorted(set(reference.reasons.tolist())):
        counted[reason] = int(answered[(reference.choice < 0) & (reference.reasons == reason)].sum())
    return counted


def _among_experts(responses: Responses, group: str, members: list[int]) -> Iterator[dict[str, Any]]:
    """Agreement of the experts of a group with each other; single pairs once, for the group of all."""
    position = responses.chosen[:, members]
    shares = []
    for a, b in combinations(members, 2):
        share = pairwise_agreement(responses.chosen[:, a], responses.chosen[:, b])
        shares.append(share.value)
        if group == "all":
            first, second = sorted((responses.experts[a], responses.experts[b]))
            unanswered = {"no answer of both": len(responses) - share.n}
            yield agreement_row(
                "with expert", share, first=first, second=second, left_out=unanswered, group=group
            )
    apart = {"two experts without a common answer": shares.count(None)}
    yield agreement_row("with expert", mean_of(shares), left_out=apart, group=group)
    numbers = pd.Index(sorted({*responses.phrase_1, *responses.phrase_2}))
    sides = (responses.phrase_1, responses.phrase_2)
    shown = np.stack([numbers.get_indexer(pd.Index(side)) for side in sides], axis=1)
    incomplete, unpaired = "pair not answered by every expert", "pair with fewer than two answers"
    yield from coefficient_rows(position, shown, incomplete, unpaired, group=group)


def by_group(agreement: pd.DataFrame) -> pd.DataFrame:
    """Mean agreement of groups of experts: a line per group, a column for the ranking and each judge; NaN
    where nothing was compared.
    """
    means = agreement[
        (agreement["first"] == "") & agreement["measure"].isin(["with ranking", "with judge"])
    ].sort_values("measure", ascending=False, kind="stable")
    shown = means[(means["group"] == "all") | (means["experts"] >= FEWEST)]
    groups = shown["group"].str.removeprefix(OCCUPATION)
    shown = shown.assign(line=groups + " (" + shown["experts"].astype(str) + ")")
    found = shown.pivot_table(index="line", columns="second", values="value", aggfunc="first", sort=False)
    return found.reindex(index=shown["line"].unique(), columns=shown["second"].unique()).astype("float64")
