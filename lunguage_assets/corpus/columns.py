"""Which delivered column is which, and what a cell says once absent values and letter case are put aside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lunguage_assets.errors import InputError
from lunguage_assets.tables import ATTRIBUTES, CATEGORIES, SECTIONS

ROW_NUMBER = "row"
REQUIRED = ("subject_id", "study_id", "section", "sent", "ent", "dx_status", "dx_certainty")
OPTIONAL = (
    ROW_NUMBER, "sequence", "report", "sent_idx", "ent_idx", "normed_ent", "cat", "location", "evidence", "associate", *ATTRIBUTES,
)  # fmt: skip
_ALIASES = {"": ROW_NUMBER, "unnamed: 0": ROW_NUMBER, "entity": "ent", **{published: column for column, published in ATTRIBUTES.items()}}
_ABSENT = {"", "nan", "null"}
_POLARITIES = {"positive": "p", "negative": "n"}
_CERTAINTIES = {"definitive": "d", "tentative": "t"}
_SUBJECT = re.compile(r"p?0*(\d{1,8})(?:\.0+)?", re.IGNORECASE)
_STUDY = re.compile(r"s?0*(\d{1,8})(?:\.0+)?", re.IGNORECASE)
_NUMBER = re.compile(r"(\d{1,15})(?:\.0+)?")


@dataclass(frozen=True)
class ColumnMap:
    """Position of every column of the format that the file has, and what else it has or lacks."""

    position: dict[str, int]
    ignored: tuple[str, ...]
    missing: tuple[str, ...]


def map_columns(header: Sequence[str], file: str) -> ColumnMap:
    """Columns by name, case-insensitively; the finding column may be called `entity`.

    Raises:
        InputError: a required column is missing; the message names it and what is there.
    """
    position: dict[str, int] = {}
    ignored = []
    for place, name in enumerate(header):
        folded = name.strip().lower()
        column = _ALIASES.get(folded, folded)
        if column in (*REQUIRED, *OPTIONAL) and column not in position and (column != ROW_NUMBER or place == 0):
            position[column] = place
        elif folded:
            ignored.append(name.strip())
    absent = [column for column in REQUIRED if column not in position]
    if absent:
        raise InputError(
            file, f"columns {[name for name in header if name][:40]}", f"also {absent}", "Add the column or correct its name.", column=absent[0]
        )
    return ColumnMap(position, tuple(ignored), tuple(column for column in OPTIONAL if column not in position))


def clean(value: str) -> str:
    """The cell without surrounding blanks; null, empty and nan all mean absent."""
    value = value.strip()
    return "" if len(value) < 5 and value.lower() in _ABSENT else value


def first_alternative(value: str) -> str:
    """`x` of `x|y`."""
    return value.split("|", 1)[0].strip()


def subject_id(value: str) -> str | None:
    """'p' and eight digits from an id with or without its prefix; None when it is no id."""
    found = _SUBJECT.fullmatch(value)
    return f"p{int(found.group(1)):08d}" if found else None


def study_id(value: str) -> str | None:
    """'s' and eight digits from an id with or without its prefix; None when it is no id."""
    found = _STUDY.fullmatch(value)
    return f"s{int(found.group(1)):08d}" if found else None


def whole_number(value: str) -> int | None:
    """A number, zero or more; a trailing `.0` is what spreadsheets leave behind."""
    found = _NUMBER.fullmatch(value)
    return int(found.group(1)) if found else None


def section(value: str) -> str | None:
    folded = first_alternative(value).lower()
    return folded if folded in SECTIONS else None


def polarity(value: str) -> str | None:
    return _POLARITIES.get(first_alternative(value).lower())


def certainty(value: str) -> str | None:
    return _CERTAINTIES.get(first_alternative(value).lower())


def category(value: str) -> str | None:
    """The upper-case code; the full stop of 'PATIENT INFO.' may be missing."""
    folded = " ".join(first_alternative(value).upper().split())
    if folded in CATEGORIES:
        return folded
    return "PATIENT INFO." if folded in ("PATIENT INFO", "PATIENT_INFO", "PATIENT_INFO.") else None
