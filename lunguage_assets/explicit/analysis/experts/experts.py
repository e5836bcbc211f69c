"""The two files of an expert study: each expert's choices, and who the experts are (explicit.md section 4).

A survey is filled in by people in spreadsheets. What can be used is used; every cell, row and column that
cannot is named with its place and the remedy, and never quoted. What the answers say about ranking and judges
is in `expert_agreement.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lunguage_assets.corpus.records import Record, read_records
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.analysis.experts.transposed import transposed
from lunguage_assets.explicit.hedges.hedging import normal_phrase

FIRST, SECOND, MISSING, UNREADABLE = 0, 1, -1, -2
"""Codes of a cell: the first phrase, the second, nothing, something else."""

Role = Literal["writer", "reader", ""]
PHRASE_COLUMNS = ("phrase_1", "phrase_2")
EXPERT_COLUMNS = ("expert", "role", "occupation", "years_of_experience")
ANSWER = "one of the row's two phrases, 1, 2 or nothing"

_SPELLINGS = {"phrase1": "phrase_1", "phrase2": "phrase_2", "phrase_a": "phrase_1", "phrase_b": "phrase_2"}
_OF_THE_SURVEY = re.compile(r"pair|phrase_[12]|example.*")
_NO_EXPERT = re.compile(r"|number|no|id|questions?|comments?|notes?|remarks?")
_YEARS = re.compile(
    r"(?P<low>\d+(?:\.\d+)?)(?:\s*(?:to|-|\u2013)\s*(?P<high>\d+(?:\.\d+)?))?\s*(?:years?|yrs?)?"
)
_NUMBERS = {"1": FIRST, "1.0": FIRST, "2": SECOND, "2.0": SECOND}


@dataclass(frozen=True)
class Responses:
    """The experts' choices.

    `chosen` has shape (pairs, experts) and holds FIRST, SECOND, MISSING or UNREADABLE.

    `silent` are expert columns without any entry; `ignored` columns that are no expert's (comments, numbers,
    no name); `problems` every row, cell or column that was left out.
    """

    experts: tuple[str, ...]
    phrase_1: tuple[str, ...]
    phrase_2: tuple[str, ...]
    chosen: NDArray[np.int64]
    silent: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    left_out_rows: int = 0
    problems: tuple[InputError, ...] = ()

    def __len__(self) -> int:
        return len(self.phrase_1)


@dataclass(frozen=True)
class Expert:
    """One expert.

    `role`: writes or reads reports; `years` of experience, None when not stated.
    """

    name: str
    role: Role
    occupation: str = ""
    years: float | None = None


@dataclass(frozen=True)
class Experts:
    """The described experts by name, and the unusable entries of their file."""

    described: dict[str, Expert]
    problems: tuple[InputError, ...] = ()

    def role(self, name: str) -> Role:
        return self.described[name].role if name in self.described else ""

    def occupation(self, name: str) -> str:
        """In lower case, so that spellings of it meet; empty when not said."""
        stated = self.described[name].occupation if name in self.described else ""
        return " ".join(stated.lower().split())


def load_responses(path: Path) -> Responses:
    """Responses from a CSV with the columns phrase_1, phrase_2 and one per expert.

    An entry is one of the two phrases, or 1 or 2, or empty. Columns pair and example..., and those named
    question, comment, note, number or id, are not experts; the file that the paper publishes, with a question
    and response_1 to response_n, is read as it is. A pair that an earlier row has (in either order), equal
    phrases and broken rows are left out; an entry that is neither phrase counts as missing.

    Raises:
        InputError: not a CSV, no column of phrases or of an expert, no usable row, or a column with entries
            of which none is an answer: it is no expert's, or its expert would agree with nobody.
    """
    header, records = read_records(path)
    names = [_folded(name) for name in header]
    missing = [name for name in PHRASE_COLUMNS if names.count(name) != 1]
    further = [i for i, name in enumerate(names) if not _OF_THE_SURVEY.fullmatch(name)]
    places = [i for i in further if not _NO_EXPERT.fullmatch(names[i])]
    form = "the columns phrase_1, phrase_2 and one column per expert"
    if missing:
        raise InputError(
            path.name,
            f"not exactly one column {missing[0]}",
            form,
            "Start from the file that `lunguage survey make` writes.",
        )
    if not places:
        raise InputError(
            path.name,
            "no expert's column",
            form,
            "Add a column per expert, with the expert's name as its header.",
        )
    problems: list[InputError] = []
    rows: list[tuple[str, str, list[int]]] = []
    seen: dict[frozenset[str], int] = {}
    left_out = 0
    for record in records:
        phrases = _phrases(record, names, seen, path.name, problems)
        if phrases is None:
            left_out += 1
        else:
            entries = [_entry(record, i, header[i], phrases, path.name, problems) for i in places]
            rows.append((*phrases, entries))
    if not rows:
        raise InputError(
            path.name, "no usable row", "a pair of phrases in every row", "Mend the file." + _first(problems)
        )
    _refuse_unreadable([header[i] for i in places], [entries for _, _, entries in rows], path.name)
    ignored = tuple(header[i] or f"number {i + 1}" for i in further if i not in places)
    return replace(_responses([header[i] for i in places], rows, left_out, problems), ignored=ignored)


def _refuse_unreadable(names: Sequence[str], rows: Sequence[Sequence[int]], file: str) -> None:
    """Refuse a column with entries of which none is an answer, by its name."""
    for name, entries in zip(names, zip(*rows, strict=True), strict=True):
        unreadable = entries.count(UNREADABLE)
        if unreadable and max(entries) < 0:
            raise InputError(
                file,
                f"{unreadable} {'entry' if unreadable == 1 else 'entries'} and no answer among them",
                ANSWER,
                "Delete the column if it is no expert's, otherwise mend its entries; nothing was imported.",
                column=name,
            )


def _responses(
    names: Sequence[str],
    rows: Sequence[tuple[str, str, list[int]]],
    left_out: int,
    problems: list[InputError],
) -> Responses:
    chosen = np.array([entries for _, _, entries in rows], dtype=np.int64)
    answered = (chosen != MISSING).any(axis=0)
    return Responses(
        experts=tuple(name for name, some in zip(names, answered.tolist(), strict=True) if some),
        phrase_1=tuple(first for first, _, _ in rows),
        phrase_2=tuple(second for _, second, _ in rows),
        chosen=chosen[:, answered],
        silent=tuple(name for name, some in zip(names, answered.tolist(), strict=True) if not some),
        left_out_rows=left_out,
        problems=tuple(problems),
    )


def _phrases(
    record: Record,
    names: Sequence[str],
    seen: dict[frozenset[str], int],
    file: str,
    problems: list[InputError],
) -> tuple[str, str] | None:
    """The two phrases of a row; None for a row that cannot be used, which is noted."""
    if record.broken:
        problems.append(_broken(record, names, file))
        return None
    first, second = (normal_phrase(record.values[names.index(name)]) for name in PHRASE_COLUMNS)
    column = "phrase_1" if not first else "phrase_2"
    pair = frozenset((first, second))
    found, remedy = "", "Mend or delete the row."
    if not first or not second:
        found = "an empty phrase"
    elif first == second:
        found = "the same phrase twice"
    elif pair in seen:
        found = f"the pair of row {seen[pair]}"
    if found:
        problems.append(
            InputError(
                file, found, "two different phrases, each pair once", remedy, row=record.number, column=column
            )
        )
        return None
    seen[pair] = record.number
    return first, second


def _entry(
    record: Record, place: int, expert: str, phrases: tuple[str, str], file: str, problems: list[InputError]
) -> int:
    entry = normal_phrase(record.values[place])
    if not entry:
        return MISSING
    if entry in phrases:
        return phrases.index(entry)
    if entry not in _NUMBERS:
        problems.append(
            InputError(
                file,
                "something else",
                ANSWER,
                "Mend the entry or empty it.",
                row=record.number,
                column=expert,
            )
        )
    return _NUMBERS.get(entry, UNREADABLE)


def load_experts(path: Path | None) -> Experts:
    """Who the experts are, from a CSV; without a file nobody is described.

    Columns: expert, role, occupation, years_of_experience (7, or 5 to 10). The role is `writer` (of reports),
    `reader`, or empty. A row without a name, with a name that an earlier row has, or a broken one is left
    out; an unreadable role or number of years counts as not said. The paper's own form is read too: a row per
    question, a column per expert (`transposed`).

    Raises:
        InputError: not a CSV, or a missing column expert or role; of the other form, no question about the
            occupation, experience or role.
    """
    if path is None or not path.exists():
        return Experts({})
    header, records = read_records(path, may_be_empty=True)
    names = [_folded(name) for name in header]
    turned: list[InputError] = []
    if "question" in names and "expert" not in names:
        names, records = transposed(header, records, path.name, turned)
    for name in EXPERT_COLUMNS[:2]:
        if names.count(name) != 1:
            raise InputError(
                path.name,
                f"not exactly one column {name}",
                f"columns {', '.join(EXPERT_COLUMNS)}",
                "Mend the header.",
            )
    described: dict[str, Expert] = {}
    problems = turned
    for record in records:
        expert = _expert(record, names, described, path.name, problems)
        if expert is not None:
            described[expert.name] = expert
    return Experts(described, tuple(problems))


def _expert(
    record: Record, names: Sequence[str], described: dict[str, Expert], file: str, problems: list[InputError]
) -> Expert | None:
    if record.broken:
        problems.append(_broken(record, names, file))
        return None
    values = dict(zip(names, (value.strip() for value in record.values), strict=True))
    name, role = values["expert"], values["role"].lower()
    if not name and not any(values.values()):
        return None
    if not name or name in described:
        found = "the expert of an earlier row" if name else "no name"
        problems.append(
            InputError(
                file,
                found,
                "every expert once",
                "Mend or delete the row.",
                row=record.number,
                column="expert",
            )
        )
        return None
    if role not in ("writer", "reader", ""):
        problems.append(
            InputError(
                file,
                "something else",
                "writer, reader or nothing",
                "Mend the entry.",
                row=record.number,
                column="role",
            )
        )
        role = ""
    years = _years(values.get("years_of_experience", ""))
    if years is None and values.get("years_of_experience"):
        column = "years_of_experience"
        problems.append(
            InputError(
                file,
                "no number",
                "years from 0 to 80, such as 7 or 5 to 10",
                "Mend the entry.",
                row=record.number,
                column=column,
            )
        )
    known: Role = "writer" if role == "writer" else "reader" if role == "reader" else ""
    return Expert(name, known, values.get("occupation", ""), years)


def undescribed(responses: Responses, experts: Experts) -> tuple[list[str], list[str]]:
    """Experts with answers but no described role, and described experts without answers; both sorted."""
    answered = set(responses.experts)
    return sorted(name for name in answered if not experts.role(name)), sorted(
        set(experts.described) - answered
    )


def _years(value: str) -> float | None:
    """Years of experience; the middle of a range such as `5 to 10 years`."""
    stated = _YEARS.fullmatch(value.strip().lower())
    if stated is None:
        return None
    low = float(stated["low"])
    high = float(stated["high"] or low)
    return (low + high) / 2 if low <= high <= 80.0 else None


def _folded(name: str) -> str:
    folded = re.sub(r"[\s_-]+", "_", name.strip().lower())
    return _SPELLINGS.get(folded, folded)


def _first(problems: Sequence[InputError]) -> str:
    return f" The first problem is: {problems[0]}" if problems else ""


def _broken(record: Record, names: Sequence[str], file: str) -> InputError:
    remedy = "Mend the commas and quotes of the row."
    return InputError(file, record.found, f"{len(names)} values", remedy, row=record.number)
