"""The two files of an expert study: each expert's choices, and who the experts are (explicit.md section 4).

A survey is filled in by people in spreadsheets. What can be used is used; every cell, row and column that
cannot is named with its place and the remedy, and never quoted. What the answers say about ranking and judges
is in `expert_agreement.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from lunguage_assets.corpus.records import Record, read_records
from lunguage_assets.errors import InputError
from lunguage_assets.explicit.arrays import Integers
from lunguage_assets.explicit.hedges.hedging import normal_phrase

FIRST, SECOND, MISSING, UNREADABLE = 0, 1, -1, -2
"""Codes of a cell: the first phrase, the second, nothing, something else."""

Role = Literal["writer", "reader", ""]
_ROLES: dict[str, Role] = {"writer": "writer", "reader": "reader", "": ""}
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
_ASKED = {
    "years_of_experience": ("years", "experience"),
    "occupation": ("occupation", "profession", "specialty"),
    "role": ("role", "writer", "reader"),
}
"""Column -> words of a question that asks for it, in the paper's form; the first that fits counts."""


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
    chosen: Integers
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


@dataclass(frozen=True)
class _Sheet:
    """A file that people filled in, and what of it was left out."""

    file: str
    problems: list[InputError] = field(default_factory=list)

    def error(
        self, found: str, expected: str, remedy: str, row: int | None = None, column: str | None = None
    ) -> InputError:
        return InputError(self.file, found, expected, remedy, row=row, column=column)

    def note(self, found: str, expected: str, remedy: str, row: int, column: str | None = None) -> None:
        self.problems.append(self.error(found, expected, remedy, row, column))

    def whole(self, records: Iterable[Record], width: int) -> Iterator[Record]:
        """The records that are not broken; of the others a note is taken."""
        for record in records:
            if record.broken:
                remedy = "Mend the commas and quotes of the row."
                self.note(record.found, f"{width} values", remedy, record.number)
            else:
                yield record


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
    sheet = _Sheet(path.name)
    names = [_folded(name) for name in header]
    missing = [name for name in PHRASE_COLUMNS if names.count(name) != 1]
    further = [i for i, name in enumerate(names) if not _OF_THE_SURVEY.fullmatch(name)]
    places = {i: header[i] for i in further if not _NO_EXPERT.fullmatch(names[i])}
    form = "the columns phrase_1, phrase_2 and one column per expert"
    if missing:
        remedy = "Start from the file that `lunguage survey make` writes."
        raise sheet.error(f"not exactly one column {missing[0]}", form, remedy)
    if not places:
        remedy = "Add a column per expert, with the expert's name as its header."
        raise sheet.error("no expert's column", form, remedy)
    every = list(records)
    seen: dict[frozenset[str], int] = {}
    rows: list[tuple[str, str]] = []
    entries: list[list[int]] = []
    for record in sheet.whole(every, len(names)):
        phrases = _phrases(record, names, seen, sheet)
        if phrases is not None:
            rows.append(phrases)
            entries.append([_entry(record, i, name, phrases, sheet) for i, name in places.items()])
    if not rows:
        first = f" The first problem is: {sheet.problems[0]}" if sheet.problems else ""
        raise sheet.error("no usable row", "a pair of phrases in every row", "Mend the file." + first)
    chosen = np.array(entries, dtype=np.int64)
    _refuse_unreadable(list(places.values()), chosen, sheet)
    answered = (chosen != MISSING).any(axis=0)
    return Responses(
        experts=tuple(name for name, some in zip(places.values(), answered.tolist(), strict=True) if some),
        phrase_1=tuple(first for first, _ in rows),
        phrase_2=tuple(second for _, second in rows),
        chosen=chosen[:, answered],
        silent=tuple(name for name, some in zip(places.values(), answered.tolist(), strict=True) if not some),
        ignored=tuple(header[i] or f"number {i + 1}" for i in further if i not in places),
        left_out_rows=len(every) - len(rows),
        problems=tuple(sheet.problems),
    )


def _refuse_unreadable(names: Sequence[str], chosen: Integers, sheet: _Sheet) -> None:
    """Refuse a column with entries of which none is an answer, by its name."""
    remedy = "Delete the column if it is no expert's, otherwise mend its entries; nothing was imported."
    for name, entries in zip(names, chosen.T, strict=True):
        unreadable = int((entries == UNREADABLE).sum())
        if unreadable and entries.max() < 0:
            found = f"{unreadable} {'entry' if unreadable == 1 else 'entries'} and no answer among them"
            raise sheet.error(found, ANSWER, remedy, column=name)


def _phrases(
    record: Record, names: Sequence[str], seen: dict[frozenset[str], int], sheet: _Sheet
) -> tuple[str, str] | None:
    """The two phrases of a row; None for a row that cannot be used, which is noted."""
    first, second = (normal_phrase(record.values[names.index(name)]) for name in PHRASE_COLUMNS)
    pair = frozenset((first, second))
    found = ""
    if not first or not second:
        found = "an empty phrase"
    elif first == second:
        found = "the same phrase twice"
    elif pair in seen:
        found = f"the pair of row {seen[pair]}"
    if found:
        column = "phrase_1" if not first else "phrase_2"
        expected = "two different phrases, each pair once"
        sheet.note(found, expected, "Mend or delete the row.", record.number, column)
        return None
    seen[pair] = record.number
    return first, second


def _entry(record: Record, place: int, expert: str, phrases: tuple[str, str], sheet: _Sheet) -> int:
    entry = normal_phrase(record.values[place])
    if not entry:
        return MISSING
    if entry in phrases:
        return phrases.index(entry)
    if entry not in _NUMBERS:
        sheet.note("something else", ANSWER, "Mend the entry or empty it.", record.number, expert)
    return _NUMBERS.get(entry, UNREADABLE)


def load_experts(path: Path | None) -> Experts:
    """Who the experts are, from a CSV; without a file nobody is described.

    Columns: expert, role, occupation, years_of_experience (7, or 5 to 10). The role is `writer` (of reports),
    `reader`, or empty. A row without a name, with a name that an earlier row has, or a broken one is left
    out; an unreadable role or number of years counts as not said. The paper's own form is read too: a row per
    question, a column per expert.

    Raises:
        InputError: not a CSV, or a missing column expert or role; of the other form, no question about the
            occupation, experience or role.
    """
    if path is None or not path.exists():
        return Experts({})
    header, records = read_records(path, may_be_empty=True)
    sheet = _Sheet(path.name)
    names = [_folded(name) for name in header]
    if "question" in names and "expert" not in names:
        names, records = _transposed(header, records, sheet)
    for name in EXPERT_COLUMNS[:2]:
        if names.count(name) != 1:
            expected = f"columns {', '.join(EXPERT_COLUMNS)}"
            raise sheet.error(f"not exactly one column {name}", expected, "Mend the header.")
    described: dict[str, Expert] = {}
    for record in sheet.whole(records, len(names)):
        expert = _expert(record, names, described, sheet)
        if expert is not None:
            described[expert.name] = expert
    return Experts(described, tuple(sheet.problems))


def _expert(
    record: Record, names: Sequence[str], described: dict[str, Expert], sheet: _Sheet
) -> Expert | None:
    values = dict(zip(names, (value.strip() for value in record.values), strict=True))
    name, role = values["expert"], values["role"].lower()
    if not any(values.values()):
        return None
    if not name or name in described:
        found = "the expert of an earlier row" if name else "no name"
        sheet.note(found, "every expert once", "Mend or delete the row.", record.number, "expert")
        return None
    mend = "Mend the entry."
    if role not in _ROLES:
        sheet.note("something else", "writer, reader or nothing", mend, record.number, "role")
    years = _years(values.get("years_of_experience", ""))
    if years is None and values.get("years_of_experience"):
        expected = "years from 0 to 80, such as 7 or 5 to 10"
        sheet.note("no number", expected, mend, record.number, "years_of_experience")
    return Expert(name, _ROLES.get(role, ""), values.get("occupation", ""), years)


def _transposed(
    header: Sequence[str], records: Iterable[Record], sheet: _Sheet
) -> tuple[list[str], Iterator[Record]]:
    """The description of experts as the paper publishes it, a row per question and a column per expert, as
    column names and a record per expert, numbered by the expert's column from 1.

    Columns without a name, and one named number or id, are nobody's. A broken row, a question that asks for
    nothing known and one that is asked again are noted and left out.

    Raises:
        InputError: no question asks for occupation, experience or role.
    """
    folded = [name.strip().lower() for name in header]
    question = folded.index("question")
    places = [i for i, name in enumerate(folded) if name not in ("", "question", "number", "no", "id")]
    answers: dict[str, list[str]] = {}
    for record in records:
        column, found = _asked_for(record, question)
        if column and column in answers:
            found = f"a second question about {column}"
        if found:
            expected = "questions about occupation, years of experience or role, each once"
            place = None if record.broken else header[question]
            sheet.note(found, expected, "Mend or delete the row.", record.number, place)
        else:
            answers[column] = record.values
    if not answers:
        raise sheet.error(
            "no row that asks for occupation, years of experience or role",
            "such questions in column question, and a column per expert",
            "Mend the questions, or describe the experts as `lunguage survey make` does: a row per expert.",
            column=header[question],
        )
    turned = (
        Record(number, [header[i], *(answers[name][i] if name in answers else "" for name in _ASKED)])
        for number, i in enumerate(places, start=1)
    )
    return ["expert", *_ASKED], turned


def _asked_for(record: Record, question: int) -> tuple[str, str]:
    """The column that a row's question asks for, or what is wrong with the row."""
    if record.broken:
        return "", record.found
    words = record.values[question].lower()
    column = next((column for column, signs in _ASKED.items() if any(sign in words for sign in signs)), "")
    return column, "" if column else "another question"


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
