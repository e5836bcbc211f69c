"""Names of delivered columns, and the content of cells without blanks, absent values and letter case."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lunguage_assets.errors import InputError
from lunguage_assets.tables import ATTRIBUTES, SECTIONS

ADD_THE_COLUMN = "Add the header line if it is missing, else the column, or correct its name."
ROW_NUMBER = "row"
REQUIRED = ("subject_id", "study_id", "section", "sent", "ent", "dx_status", "dx_certainty")
OPTIONAL = (
    ROW_NUMBER, "sequence", "report", "sent_idx", "ent_idx", "normed_ent", "cat", "location", "evidence",
    "associate", *ATTRIBUTES,
)  # fmt: skip
_ALIASES = {"": ROW_NUMBER, "unnamed:_0": ROW_NUMBER, "entity": "ent"}
_STAND_INS = {"report_type": "section", "sentences": "sent"}
"""Columns of `lunguage-score` output that stand for missing ones, read at the place of the missing one."""
_ABSENT = {"", "nan", "null", "<na>"}
_LIST_WITH_NAN = re.compile(r"(?:^|,)\s*nan\s*(?:,|$)", re.IGNORECASE)
_BLANKS = re.compile(r"[\s_]+")
_POLARITIES = {"positive": "p", "negative": "n"}
_CERTAINTIES = {"definitive": "d", "tentative": "t"}
_SUBJECT = re.compile(r"p?0*(\d{1,18})(?:\.0+)?", re.IGNORECASE | re.ASCII)
_STUDY = re.compile(r"s?0*(\d{1,18})(?:\.0+)?", re.IGNORECASE | re.ASCII)
_WHOLE_ID = re.compile(r"\d{8,18}(?:\.0+)?", re.ASCII)
_NUMBER = re.compile(r"(\d{1,15})(?:\.0+)?", re.ASCII)
_SENTENCE_NUMBER = re.compile(r"\((\d{1,4})\)", re.ASCII)


@dataclass(frozen=True)
class ColumnMap:
    """Positions of the format's columns in a file, and its missing and further columns.

    With `sentence_in_passage` the column of the sentence holds a numbered passage, of which `sent_idx`
    chooses a sentence.
    """

    position: dict[str, int]
    ignored: tuple[str, ...]
    missing: tuple[str, ...]
    sentence_in_passage: bool = False


def map_columns(header: Sequence[str], file: str) -> ColumnMap:
    """Columns by name, whatever the letter case and whether blanks or underscores are written.

    The structured output of the `lunguage-score` package is understood too: its finding column is `entity`,
    its section `report_type`, and its `sentences` hold the numbered passage of the row.

    Raises:
        InputError: a required column is missing; the message names it and what is there.
    """
    position: dict[str, int] = {}
    ignored = []
    names = {_ALIASES.get(folded_name(name), folded_name(name)) for name in header}
    stand_ins = {written: column for written, column in _STAND_INS.items() if column not in names}
    for place, name in enumerate(header):
        folded = folded_name(name)
        column = stand_ins.get(folded) or _ALIASES.get(folded, folded)
        if (
            column in (*REQUIRED, *OPTIONAL)
            and column not in position
            and (column != ROW_NUMBER or place == 0)
        ):
            position[column] = place
        elif folded or place > 0:
            ignored.append(name.strip() or unnamed(place))
    require_columns(file, header, position, REQUIRED, (*OPTIONAL, *_ALIASES, *_STAND_INS))
    in_passage = "sent" not in names
    if in_passage and "sent_idx" not in position:
        found = "numbered sentences and no number of the row's own"
        remedy = "Add the column sent_idx, or the row's sentence as sent."
        raise InputError(file, found, "also ['sent_idx']", remedy, column="sent_idx")
    return ColumnMap(
        position, tuple(ignored), tuple(column for column in OPTIONAL if column not in position), in_passage
    )


def require_columns(
    file: str,
    header: Sequence[str],
    found: Collection[str],
    required: Sequence[str],
    others: Sequence[str],
    remedy: str = ADD_THE_COLUMN,
) -> None:
    """Refuse a file that lacks a required column.

    The error shows names of the format only: a file without a header line has report text there.

    Raises:
        InputError: a column is missing; names the first and what is there.
    """
    absent = [name for name in required if name not in found]
    if absent:
        names = [
            name.strip() for name in header if folded_name(name) in {*required, *others} and name.strip()
        ]
        unknown = sum(bool(name.strip()) for name in header) - len(names)
        there = f"columns {names} and {unknown} of other names"
        raise InputError(file, there, f"also {absent}", remedy, column=absent[0])


def column_places(header: Sequence[str]) -> dict[str, int]:
    """Columns by folded name; of several with one name the first."""
    return {folded_name(name): len(header) - place for place, name in enumerate(reversed(header), 1)}


def unnamed(place: int) -> str:
    """The name of a column without a name, by its 0-based place."""
    return f"unnamed column {place + 1}"


def folded_name(name: str) -> str:
    """The form in which column names are compared: lower case, one underscore for blanks and underscores."""
    return _BLANKS.sub("_", name.strip().lower())


def clean(value: str) -> str:
    """The cell without surrounding blanks; null, empty and nan all mean absent."""
    value = value.strip()
    return "" if len(value) < 5 and value.lower() in _ABSENT else value


def clean_list(value: str) -> str:
    """A comma-separated cell, cleaned; parts that are nan are left out."""
    value = clean(value)
    if _LIST_WITH_NAN.search(value):
        value = ", ".join(part for part in map(clean, value.split(",")) if part)
    return value


def first_alternative(value: str) -> str:
    """`x` of `x|y`."""
    return value.split("|", 1)[0].strip()


def subject_id(value: str) -> str | None:
    """'p' and 8 to 18 digits from an id with or without its prefix; None when it is no id."""
    found = _SUBJECT.fullmatch(value)
    return f"p{found.group(1):0>8}" if found else None


def study_id(value: str) -> str | None:
    """'s' and 8 to 18 digits from an id with or without its prefix; None when it is no id."""
    found = _STUDY.fullmatch(value)
    return f"s{found.group(1):0>8}" if found else None


def is_plainly_study(value: str) -> bool:
    """Whether the id is written so that no other column could be meant."""
    return value[:1] in ("s", "S") or _WHOLE_ID.fullmatch(value) is not None


def whole_number(value: str) -> int | None:
    """A number, zero or more; a trailing `.0` is what spreadsheets leave behind."""
    found = _NUMBER.fullmatch(value)
    return int(found.group(1)) if found else None


def section(value: str) -> str | None:
    folded = first_alternative(value).lower()
    return folded if folded in SECTIONS else None


def polarity(value: str) -> str | None:
    return _POLARITIES.get(said_once(first_alternative(value).lower()))


def certainty(value: str) -> str | None:
    return _CERTAINTIES.get(said_once(first_alternative(value).lower()))


def said_once(value: str) -> str:
    """`x` for `x, x`; parts that differ stay as they are.

    `lunguage-score` writes the first form when a model states a value of a finding twice.
    """
    parts = {part.strip() for part in value.split(",")}
    return parts.pop() if len(parts) == 1 else value


def numbered_sentences(passage: str) -> dict[int, str]:
    """The sentences of a passage such as "(1) One.(2) Another.", by number.

    Only the number that comes next begins a sentence: one in brackets inside a sentence does not.
    """
    sentences: dict[int, str] = {}
    begins = -1
    for found in _SENTENCE_NUMBER.finditer(passage):
        if int(found.group(1)) == len(sentences) + (begins >= 0) + 1:
            if begins >= 0:
                sentences[len(sentences) + 1] = passage[begins : found.start()].strip()
            begins = found.end()
    if begins >= 0:
        sentences[len(sentences) + 1] = passage[begins:].strip()
    return sentences
