"""Writes files whole: a reader, or a crash, sees the old content or the new; reads small CSV files that
a person edits; words values as a person reads them.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import re
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from lunguage_assets.errors import InputError, damaged, printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A spreadsheet takes a cell that begins so for a formula, and runs it."""


_OF_MARKDOWN = re.compile(r"[\\`<\[\]|*&~]|(?<!\w)_|_(?!\w)")
"""What Markdown reads otherwise than it stands there; an underscore inside a word is one."""


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a temporary file beside `path`, force it to disk, then rename it over `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """`replace_file` for UTF-8 text, newlines as given."""
    replace_file(path, lambda stream: stream.write(text.encode("utf-8")))


def write_private(path: Path, content: bytes) -> None:
    """`replace_file` for content that only the file's owner may read, from the first byte on."""

    def write(stream: BinaryIO) -> None:
        os.fchmod(stream.fileno(), 0o600)
        stream.write(content)

    replace_file(path, write)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """A frame as UTF-8, comma, LF, with a header; replaced as a whole."""
    replace_text(path, frame.to_csv(index=False, lineterminator="\n"))


def sheet_cell(text: str) -> str:
    """A cell of a file that is made for spreadsheets: with an apostrophe before what would be a formula."""
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) else text


def cell_of_sheet(cell: str) -> str:
    """The text that `sheet_cell` was given."""
    return (
        cell[1:]
        if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA)
        else cell
    )


def sheet(rows: Sequence[Sequence[str]]) -> str:
    """Rows as CSV (comma, LF) for spreadsheets."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(
        map(sheet_cell, row) for row in rows
    )
    return stream.getvalue()


def sheet_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose texts are those of `sheet_cell`; numbers stay."""
    texts = [
        name
        for name in frame.columns
        if not pd.api.types.is_numeric_dtype(frame[name].dtype)
    ]
    cells = {
        name: [sheet_cell(v) if isinstance(v, str) else v for v in frame[name]]
        for name in texts
    }
    return frame.assign(
        **{
            name: pd.Series(v, frame.index, frame[name].dtype)
            for name, v in cells.items()
        }
    )


def edited_rows(
    path: Path, columns: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows by column name with their 1-based number, cells as they were before `sheet_cell`; further
    columns are allowed.

    Args:
        path: CSV in UTF-8, with or without a byte order mark, or that as .gz.
        columns: those that must be there.

    Raises:
        InputError: an unreadable file, a missing or repeated column, a row with too few or too many values.
            No cell is quoted.
    """
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            named = [name for name in reader.fieldnames or () if name]
            missing = [name for name in columns if name not in named]
            if missing or len(set(named)) < len(named):
                found = f"no column {missing}" if missing else "two columns of one name"
                expected = f"columns {list(columns)}, each name once"
                raise InputError(path.name, found, expected, "Fix the first line.")
            for number, row in enumerate(reader, start=1):
                if None in row or None in row.values():
                    found, expected = "too few or too many values", "one per column"
                    raise InputError(
                        path.name,
                        found,
                        expected,
                        "Fix the commas and quotes.",
                        row=number,
                    )
                yield number, {name: cell_of_sheet(cell) for name, cell in row.items()}
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        remedy = "Save it again as CSV."
        raise damaged(
            path.name, "an unreadable file", error, "a CSV in UTF-8", remedy
        ) from None


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers only."""
    if values.dtype == object:
        there = [value for value in values.tolist() if value is not None]
        return bool(there) and all(isinstance(value, int | float) for value in there)
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(
        values
    )


def cell_text(value: Any) -> str:
    """A value as a reader of a table sees it: thousands apart, at most three decimals, nothing for a missing
    value.
    """
    if (
        value is None
        or value is pd.NA
        or (isinstance(value, float) and math.isnan(value))
    ):
        return ""
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def shown_phrase(phrase: str, most: int = 6) -> str:
    """A hedging phrase, or its number of words where it is longer than any hedge: it may be a sentence of a
    report.
    """
    words = len(phrase.split())
    return phrase if words <= most else f"(a phrase of {words} words)"


def literal(text: str) -> str:
    """Text that Markdown shows as it is, on one line: no tag, link, picture, column or emphasis begins in it,
    and no control character is left for a terminal.
    """
    return _OF_MARKDOWN.sub(r"\\\g<0>", printable(" ".join(text.split())))
