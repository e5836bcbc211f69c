"""Names of delivered columns, and what a cell says.

Blanks, letter case and the ways to write an absent value do not count. Whether a row
can be used is decided where it is read (`lunguage.py`, `side_files.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import pandas as pd

_NAN_IN_LIST = re.compile(r"(?:^|,)\s*nan\s*(?=,|$)", re.IGNORECASE)
_BLANKS = re.compile(r"[\s_]+")
_ID = re.compile(r"([ps]?)0*(\d{1,18})(?:\.0+)?", re.IGNORECASE | re.ASCII)
_ONE_WORD = re.compile(r"[^\W\d]{1,40}")
_NUMBER = re.compile(r"(\d{1,15})(?:\.0+)?", re.ASCII)


def shown_names(header: Sequence[str]) -> str:
    """List a file's columns in a message, without words of a report.

    The first row of a file without a header line holds ids and text. An id has digits,
    a report has several words: of a row with either, no more than the number is shown.
    """
    names = [name.strip() for name in header if name.strip()]
    if all(map(_ONE_WORD.fullmatch, names)):
        return str(names)
    return f"{len(names)} with blanks or digits in their names"


def first_said(texts: pd.Series, *others: pd.Series) -> pd.Series:
    """Take in each row the first of several texts that is not empty."""
    for column in others:
        texts = texts.where(texts != "", column)
    return texts


def mapped(column: pd.Series, function: Callable[[Any], Any]) -> pd.Series:
    """Apply a function to a column, once for each value that differs.

    Args:
        column: of a delivered table, in which values repeat.
        function: pure.
    """
    return pd.Series(map(cache(function), column.tolist()), column.index, dtype=object)


def folded_name(name: str) -> str:
    """Fold a column's name: lower case, one underscore for blanks and underscores."""
    return _BLANKS.sub("_", name.strip().lower())


def clean(value: str) -> str:
    """Strip a cell; null, empty and nan all mean absent."""
    value = value.strip()
    return "" if value.lower() in ("nan", "null", "<na>") else value


def clean_list(value: str) -> str:
    """Clean a comma-separated cell; items that are nan are left out."""
    return clean(_NAN_IN_LIST.sub("", value).removeprefix(","))


def first_alternative(value: str) -> str:
    """Return `x` of `x|y`, as the published file has it (implicit.md section 1)."""
    return value.split("|", 1)[0].strip()


def known_id(subject: str, value: str) -> str | None:
    """Read an id that has a number: its subject's first letter and 8 to 18 digits.

    Args:
        subject: "study" or "patient".
        value: as delivered; the letter may be missing.
    """
    id_match = _ID.fullmatch(value)
    # The id of a patient in the column of studies is none of a study.
    if id_match is None or id_match[1].lower() not in ("", subject[0]):
        return None
    # "50414267.0" and "s050414267" are one study, whatever a spreadsheet made of it.
    return f"{subject[0]}{id_match[2]:0>8}"


study_id = partial(known_id, "study")
patient_id = partial(known_id, "patient")


def whole_number(value: str) -> int | None:
    """Read a number, zero or more; spreadsheets leave a trailing `.0` behind."""
    number = _NUMBER.fullmatch(value)
    return number and int(number[1])
