"""The two files of an expert study: each expert's choices, and who the experts are (explicit.md section 4).

Their columns are those that `lunguage survey make` writes. An entry that cannot be read refuses the file, by
row and column, and is never quoted. What the answers say about ranking and judges is in
`expert_agreement.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from lunguage_assets.errors import InputError
from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.explicit.hedges.edited_csv import edited_rows
from lunguage_assets.explicit.hedges.hedging import normal_phrase

FIRST, SECOND, MISSING = 0, 1, -1
"""Codes of a cell: the first phrase, the second, nothing."""

Role = Literal["writer", "reader", ""]
PHRASE_COLUMNS = ("phrase_1", "phrase_2")
EXPERT_COLUMNS = ("expert", "role", "occupation", "years_of_experience")
ANSWER = "one of the row's two phrases, 1, 2 or nothing"

_NO_EXPERT = ("", "pair", "question", "comment", *PHRASE_COLUMNS)
_NUMBERS = {"": MISSING, "1": FIRST, "1.0": FIRST, "2": SECOND, "2.0": SECOND}
_FIX_ROW, _FIX_ENTRY = "Fix or delete the row; nothing was imported.", "Fix the entry; nothing was imported."


@dataclass(frozen=True)
class Responses:
    """The experts' choices.

    `chosen` has shape (pairs, experts) and holds FIRST, SECOND or MISSING. `silent` are columns of experts
    without any entry.
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
    """One expert; `role`: writes or reads reports."""

    name: str
    role: Role
    occupation: str = ""


@dataclass(frozen=True)
class Experts:
    """The described experts by name."""

    described: dict[str, Expert] = field(default_factory=dict)

    def role(self, name: str) -> Role:
        return self.described[name].role if name in self.described else ""

    def occupation(self, name: str) -> str:
        """In lower case, so that spellings of it meet; empty when not said."""
        stated = self.described[name].occupation if name in self.described else ""
        return " ".join(stated.lower().split())


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
    names = [name for name in (rows[0][1] if rows else ()) if _is_experts(name)]
    if not names:
        expected = "the columns phrase_1, phrase_2 and one per expert, and a row per pair"
        remedy = "Fill in the file that `lunguage survey make` writes."
        raise InputError(path.name, "no expert's column" if rows else "no row", expected, remedy)
    seen: set[frozenset[str]] = set()
    pairs = [_phrases(path, number, row, seen) for number, row in rows]
    chosen = np.array(
        [
            [_entry(path, number, name, row[name], pair) for name in names]
            for (number, row), pair in zip(rows, pairs, strict=True)
        ],
        dtype=np.int64,
    )
    answered = (chosen != MISSING).any(axis=0)
    return Responses(
        experts=tuple(name for name, some in zip(names, answered.tolist(), strict=True) if some),
        phrase_1=tuple(first for first, _ in pairs),
        phrase_2=tuple(second for _, second in pairs),
        chosen=chosen[:, answered],
        silent=tuple(name for name, some in zip(names, answered.tolist(), strict=True) if not some),
    )


def _is_experts(name: str) -> bool:
    return name.strip() not in _NO_EXPERT and not name.startswith("example")


def _phrases(path: Path, number: int, row: Mapping[str, str], seen: set[frozenset[str]]) -> tuple[str, str]:
    first, second = (normal_phrase(row[name]) for name in PHRASE_COLUMNS)
    pair = frozenset((first, second))
    if not first or not second or first == second or pair in seen:
        found = "the pair of an earlier row" if pair in seen else "no two phrases"
        expected = "two different phrases, each pair once"
        raise InputError(path.name, found, expected, _FIX_ROW, row=number, column=PHRASE_COLUMNS[0])
    seen.add(pair)
    return first, second


def _entry(path: Path, number: int, expert: str, cell: str, phrases: tuple[str, str]) -> int:
    entry = normal_phrase(cell)
    if entry in phrases:
        return phrases.index(entry)
    if entry not in _NUMBERS:
        raise InputError(path.name, "something else", ANSWER, _FIX_ENTRY, row=number, column=expert)
    return _NUMBERS[entry]


def load_experts(path: Path | None) -> Experts:
    """Who the experts are, from a CSV; without a file nobody is described.

    Columns: expert, role (`writer` of reports, `reader`, or empty), occupation; others are left alone.

    Raises:
        InputError: not a CSV, a missing column, another role, or a row without a name or with that of an
            earlier row.
    """
    described: dict[str, Expert] = {}
    if path is None or not path.exists():
        return Experts(described)
    for number, row in edited_rows(path, EXPERT_COLUMNS[:3], "one value per column"):
        name, role, occupation = (row[column].strip() for column in EXPERT_COLUMNS[:3])
        if not any(cell.strip() for cell in row.values()):
            continue
        if not name or name in described:
            found = "the expert of an earlier row" if name else "no name"
            raise InputError(path.name, found, "every expert once", _FIX_ROW, row=number, column="expert")
        known = next((one for one in get_args(Role) if one == role.lower()), None)
        if known is None:
            expected = "writer, reader or nothing"
            raise InputError(path.name, "something else", expected, _FIX_ENTRY, row=number, column="role")
        described[name] = Expert(name, known, occupation)
    return Experts(described)


def undescribed(responses: Responses, experts: Experts) -> tuple[list[str], list[str]]:
    """Experts with answers but no described role, and described experts without answers; both sorted."""
    answered = set(responses.experts)
    return sorted(name for name in answered if not experts.role(name)), sorted(
        set(experts.described) - answered
    )
