"""Names of delivered columns, and what a cell says.

Blanks, letter case and the ways to write an absent value do not count. Whether a row
can be used is decided where it is read (`lunguage.py`, `side_files.py`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

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
_STAND_INS = {"report_type": "section", "sentences": "sent"}
"""Columns of `lunguage-score` output, which are read where the format's are missing."""
_LIST_WITH_NAN = re.compile(r"(?:^|,)\s*nan\s*(?:,|$)", re.IGNORECASE)
_BLANKS = re.compile(r"[\s_]+")
_ID = re.compile(r"([ps]?)0*(\d{1,18})(?:\.0+)?", re.IGNORECASE | re.ASCII)
_WHOLE_ID = re.compile(r"\d{8,18}(?:\.0+)?", re.ASCII)
_ONE_WORD = re.compile(r"[^\W\d]{1,40}")
_NUMBER = re.compile(r"(\d{1,15})(?:\.0+)?", re.ASCII)
_SENTENCE_NUMBER = re.compile(r"\((\d{1,4})\)", re.ASCII)


class Layout(NamedTuple):
    """Where a findings file has which column.

    `ignored` are the names of further columns. With `has_passages` the sentence's
    column holds a numbered passage (as `lunguage-score` writes it), of which `sent_idx`
    chooses a sentence.
    """

    index_by_column: dict[str, int]
    ignored: list[str]
    has_passages: bool


def map_columns(header: Sequence[str], file: str) -> Layout:
    """Find the format's columns in a header.

    Letter case, blanks and underscores do not matter.

    Raises:
        InputError: a required column is missing.
    """
    folded = [folded_name(name) for name in header]
    names = [_ALIASES.get(name, name) for name in folded]
    stand_ins = {
        written: column for written, column in _STAND_INS.items() if column not in names
    }
    index_by_column: dict[str, int] = {}
    ignored = []
    for index, name in enumerate(names):
        column = stand_ins.get(name, name)
        is_known = column in (*REQUIRED, *OPTIONAL) and column not in index_by_column
        # Only a first column without a name numbers the rows.
        if is_known and (column != ROW_NUMBER or index == 0):
            index_by_column[column] = index
        elif index > 0 or folded[0]:
            ignored.append(header[index].strip() or unnamed(index))
    has_passages = "sent" not in names
    required: Sequence[str] = REQUIRED
    if has_passages and "sentences" in names:
        required = (*REQUIRED, "sent_idx")
    known = (*OPTIONAL, *_ALIASES, *_STAND_INS)
    require_columns(file, header, index_by_column, required, known)
    return Layout(index_by_column, ignored, has_passages)


def require_columns(
    file: str,
    header: Sequence[str],
    found: Collection[str],
    required: Sequence[str],
    others: Sequence[str],
) -> None:
    """Refuse a file that lacks a required column.

    Args:
        file: name of the file, for the message.
        header: its columns as written, which the message lists (`shown_names`).
        found: those that are known.
        required: those that must be there.
        others: further names that may be shown.

    Raises:
        InputError: a required column is missing.
    """
    absent = [name for name in required if name not in found]
    if not absent:
        return
    there = f"columns {shown_names(header, (*required, *others))}"
    remedy = (
        "Add the header line if it is missing, else the column, or correct its name. "
        "Of a table of reports: --text-column and --id-column name them."
    )
    raise InputError(file, there, f"also {absent}", remedy, column=absent[0])


def shown_names(header: Sequence[str], known: Collection[str]) -> str:
    """Say which columns a file has, without words of a report.

    The first row of a file without a header line holds ids and text. An id has digits,
    a report has several words: of a row with either, only the known names are shown,
    and how many others there are.
    """
    names = [name.strip() for name in header if name.strip()]
    if all(map(_ONE_WORD.fullmatch, names)):
        return str(names)
    folded = set(map(folded_name, known))
    known_names = [name for name in names if folded_name(name) in folded]
    others = len(names) - len(known_names)
    return f"{known_names} and {others} of other names" if others else str(known_names)


def index_by_name(header: Sequence[str]) -> dict[str, int]:
    """Index columns by folded name; of several with one name the first counts."""
    index: dict[str, int] = {}
    for number, name in enumerate(header):
        index.setdefault(folded_name(name), number)
    return index


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
    """Clean a comma-separated cell; parts that are nan are left out."""
    value = clean(value)
    if not _LIST_WITH_NAN.search(value):
        return value
    return ", ".join(filter(None, map(clean, value.split(","))))


def first_alternative(value: str) -> str:
    """Return `x` of `x|y`."""
    return value.split("|", 1)[0].strip()


def subject_id(value: str) -> str | None:
    """Read a patient's id: 'p' and 8 to 18 digits, its prefix may be missing."""
    return _with_prefix("p", value)


def study_id(value: str) -> str | None:
    """Read a study's id: 's' and 8 to 18 digits, its prefix may be missing."""
    return _with_prefix("s", value)


def _with_prefix(prefix: str, value: str) -> str | None:
    written = _ID.fullmatch(value)
    if written is None or written.group(1).lower() not in ("", prefix):
        return None
    return f"{prefix}{written.group(2):0>8}"


def is_plainly_study(value: str) -> bool:
    """Tell whether an id is written so that no other column could be meant."""
    return value[:1] in ("s", "S") or _WHOLE_ID.fullmatch(value) is not None


def whole_number(value: str) -> int | None:
    """Read a number, zero or more; spreadsheets leave a trailing `.0` behind."""
    written = _NUMBER.fullmatch(value)
    return int(written.group(1)) if written else None


def section(value: str) -> str | None:
    """Read a section: hist, find or impr."""
    folded = first_alternative(value).lower()
    return folded if folded in SECTIONS else None


def status_code(value: str, words: Sequence[str]) -> str | None:
    """Return the first letter of one of these words; None for anything else."""
    word = said_once(first_alternative(value).lower())
    return word[0] if word in words else None


def said_once(value: str) -> str:
    """Return `x` for `x, x`, as `lunguage-score` writes what a model states twice.

    Parts that differ stay.
    """
    parts = {part.strip() for part in value.split(",")}
    return parts.pop() if len(parts) == 1 else value


def numbered_sentences(passage: str) -> dict[int, str]:
    """Cut a passage such as "(1) One.(2) Another." into its sentences by number.

    Only the next number begins a sentence: "(5)" in the first one is a part of it.
    """
    numbers: list[re.Match[str]] = []
    for number in _SENTENCE_NUMBER.finditer(passage):
        if int(number.group(1)) == len(numbers) + 1:
            numbers.append(number)
    ends = [number.start() for number in numbers[1:]] + [len(passage)]
    return {
        index: passage[number.end() : end].strip()
        for index, (number, end) in enumerate(zip(numbers, ends, strict=False), 1)
    }
