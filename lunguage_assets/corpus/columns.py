"""Names of delivered columns, and what a cell says.

Blanks, letter case and the ways to write an absent value do not count. Whether a row
can be used is decided where it is read (`lunguage.py`, `side_files.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import pandas as pd

from lunguage_assets.errors import InputError
from lunguage_assets.tables import ATTRIBUTES, SECTIONS

ROW_NUMBER = "row"
REQUIRED = (
    "subject_id",
    "study_id",
    "section",
    "sent",
    "ent",
    "dx_status",
    "dx_certainty",
)
OPTIONAL = (
    ROW_NUMBER, "sequence", "report", "sent_idx", "ent_idx", "normed_ent", "cat",
    "location", "evidence", "associate", *ATTRIBUTES,
)  # fmt: skip
_ALIASES = {"": ROW_NUMBER, "unnamed:_0": ROW_NUMBER, "entity": "ent"}
"""Other name of a column -> its name. The published file numbers its rows in a column
without a name, which pandas calls `Unnamed: 0`; `entity` is `lunguage-score`'s.
"""
_STAND_INS = {"report_type": "section", "sentences": "sent"}
"""Column of `lunguage-score` output -> the format's, where that is missing."""
NAMES = frozenset((*REQUIRED, *OPTIONAL, *_ALIASES, *_STAND_INS))
"""Folded names of the columns that are read of a findings file."""
_LIST_WITH_NAN = re.compile(r"(?:^|,)\s*nan\s*(?:,|$)", re.IGNORECASE)
_BLANKS = re.compile(r"[\s_]+")
_ID = re.compile(r"([ps]?)0*(\d{1,18})(?:\.0+)?", re.IGNORECASE | re.ASCII)
_WHOLE_ID = re.compile(r"\d{8,18}(?:\.0+)?", re.ASCII)
_ONE_WORD = re.compile(r"[^\W\d]{1,40}")
_NUMBER = re.compile(r"(\d{1,15})(?:\.0+)?", re.ASCII)
_SENTENCE_NUMBER = re.compile(r"\((\d{1,4})\)", re.ASCII)


class FindingsColumns(NamedTuple):
    """Where a findings file has which column.

    `ignored` are the names of further columns. With `has_passages` the sentence's
    column holds a numbered passage (as `lunguage-score` writes it), of which `sent_idx`
    chooses a sentence.
    """

    index_by_name: dict[str, int]
    ignored: list[str]
    has_passages: bool


def map_columns(header: Sequence[str], file: str) -> FindingsColumns:
    """Find the format's columns in a header.

    Args:
        header: names as written; letter case, blanks and underscores do not matter.
        file: its name, for the message.

    Raises:
        InputError: a required column is missing.
    """
    names, has_passages = _names_of_the_format(header)
    index_by_name = {
        name: index
        for name, index in _first_index(names).items()
        if name in REQUIRED or name in OPTIONAL
    }
    ignored = [
        name.strip() or unnamed(index)
        for index, name in enumerate(header)
        if index not in index_by_name.values()
    ]
    required = (*REQUIRED, "sent_idx") if has_passages else REQUIRED
    optional = (*OPTIONAL, *_ALIASES, *_STAND_INS)
    require_columns(file, header, index_by_name, required, optional)
    return FindingsColumns(index_by_name, ignored, has_passages)


def _names_of_the_format(header: Sequence[str]) -> tuple[list[str], bool]:
    """Fold the names, and say whether the sentences stand in passages."""
    names = [_ALIASES.get(name, name) for name in map(folded_name, header)]
    has_passages = "sent" not in names and "sentences" in names
    for stand_in, column in _STAND_INS.items():
        if column not in names and stand_in in names:
            names[names.index(stand_in)] = column
    # Only the first column numbers the rows: there pandas writes an index.
    names[1:] = ["" if name == ROW_NUMBER else name for name in names[1:]]
    return names, has_passages


def require_columns(
    file: str,
    header: Sequence[str],
    present: Collection[str],
    required: Sequence[str],
    optional: Sequence[str],
) -> None:
    """Refuse a file that lacks a required column.

    Args:
        file: name of the file, for the message.
        header: its columns as written, which the message lists (`shown_names`).
        present: the format's columns that are there.
        required: the columns that must be there.
        optional: further columns of the format, which the message may name.

    Raises:
        InputError: a required column is missing.
    """
    absent = [name for name in required if name not in present]
    if not absent:
        return
    listed = f"columns {shown_names(header, (*required, *optional))}"
    remedy = (
        "Add the header line if it is missing, else the column, or correct its name. "
        "Of a table of reports: --text-column and --id-column name them."
    )
    raise InputError(file, listed, f"also {absent}", remedy, column=absent[0])


def shown_names(header: Sequence[str], column_names: Collection[str]) -> str:
    """List a file's columns in a message, without words of a report.

    The first row of a file without a header line holds ids and text. An id has digits,
    a report has several words: of a row with either, only the format's names are shown,
    and how many names there are besides.

    Args:
        header: the first row of the file.
        column_names: those of the format.
    """
    names = [name.strip() for name in header if name.strip()]
    if all(map(_ONE_WORD.fullmatch, names)):
        return str(names)
    folded = set(map(folded_name, column_names))
    known_names = [name for name in names if folded_name(name) in folded]
    unknown = len(names) - len(known_names)
    if not unknown:
        return str(known_names)
    return f"{known_names} and {unknown} of other names"


def index_by_name(header: Sequence[str]) -> dict[str, int]:
    """Index columns by folded name; of several with the same one the first counts."""
    return _first_index(list(map(folded_name, header)))


def _first_index(names: Sequence[str]) -> dict[str, int]:
    # The last assignment counts, which is that of the first column.
    return {name: index for index, name in reversed(list(enumerate(names)))}


def first_said(*columns: pd.Series) -> pd.Series:
    """Take in each row the first of several texts that is not empty."""
    texts = columns[0]
    for column in columns[1:]:
        texts = texts.where(texts != "", column)
    return texts


def mapped(column: pd.Series, function: Callable[[Any], Any]) -> pd.Series:
    """Apply a function to a column, once for each value that differs.

    Args:
        column: of a delivered table, in which values repeat.
        function: pure.
    """
    codes, values = pd.factorize(column)
    answers = pd.Series([function(value) for value in values], dtype=object)
    return pd.Series(answers.to_numpy()[codes], column.index, dtype=object)


def unnamed(index: int) -> str:
    """Name a column without a name by its 0-based index."""
    return f"unnamed column {index + 1}"


def folded_name(name: str) -> str:
    """Fold a column's name: lower case, one underscore for blanks and underscores."""
    return _BLANKS.sub("_", name.strip().lower())


def clean(value: str) -> str:
    """Strip a cell; null, empty and nan all mean absent."""
    value = value.strip()
    # The length is tested first because most cells are longer, and cells are many.
    if len(value) < 5 and value.lower() in ("nan", "null", "<na>"):
        return ""
    return value


def clean_list(value: str) -> str:
    """Clean a comma-separated cell; items that are nan are left out."""
    value = clean(value)
    # Nearly no cell has one; the others keep their blanks as they are.
    if not _LIST_WITH_NAN.search(value):
        return value
    items = [clean(item) for item in value.split(",")]
    return ", ".join(item for item in items if item)


def first_alternative(value: str) -> str:
    """Return `x` of `x|y`, as the published file has it (implicit.md section 1)."""
    return value.split("|", 1)[0].strip()


def subject_id(value: str) -> str | None:
    """Read a patient's id: 'p' and 8 to 18 digits, its prefix may be missing."""
    return _with_prefix("p", value)


def study_id(value: str) -> str | None:
    """Read a study's id: 's' and 8 to 18 digits, its prefix may be missing."""
    return _with_prefix("s", value)


def _with_prefix(prefix: str, value: str) -> str | None:
    id_match = _ID.fullmatch(value)
    if id_match is None:
        return None
    written_prefix, digits = id_match.groups()
    # The id of a patient in the column of studies is none of a study.
    if written_prefix.lower() not in ("", prefix):
        return None
    # "50414267.0" and "s050414267" are one study, whatever a spreadsheet made of it.
    return f"{prefix}{digits:0>8}"


def is_plainly_study(value: str) -> bool:
    """Tell whether a cell of a broken record is surely the study's id.

    In a broken record the cells may have moved: "12" may be the number of a sentence.
    """
    return value[:1] in ("s", "S") or _WHOLE_ID.fullmatch(value) is not None


def whole_number(value: str) -> int | None:
    """Read a number, zero or more; spreadsheets leave a trailing `.0` behind."""
    number = _NUMBER.fullmatch(value)
    return int(number.group(1)) if number else None


def section(value: str) -> str | None:
    """Read a section: hist, find or impr."""
    folded = first_alternative(value).lower()
    return folded if folded in SECTIONS else None


def status_code(value: str, words: Sequence[str]) -> str | None:
    """Return the first letter of one of these words; None for anything else."""
    word = without_repetition(first_alternative(value).lower())
    return word[0] if word in words else None


def without_repetition(value: str) -> str:
    """Return `x` for `x, x`, as `lunguage-score` writes what a model states twice.

    Items that differ stay.
    """
    items = {item.strip() for item in value.split(",")}
    return items.pop() if len(items) == 1 else value


def numbered_sentences(passage: str) -> dict[int, str]:
    """Cut a passage such as "(1) One.(2) Another." into its sentences by number.

    Only the next number begins a sentence: "(5)" in the first one is a part of it.
    """
    numbers: list[re.Match[str]] = []
    for number in _SENTENCE_NUMBER.finditer(passage):
        if int(number.group(1)) == len(numbers) + 1:
            numbers.append(number)
    sentence_ends = [number.start() for number in numbers[1:]]
    sentence_ends.append(len(passage))
    sentences: dict[int, str] = {}
    # A passage without a number has an end, and no beginning.
    for number, end in zip(numbers, sentence_ends, strict=False):
        sentence = passage[number.end() : end].strip()
        sentences[int(number.group(1))] = sentence
    return sentences
