"""CSV files that a person opens in a spreadsheet, edits, and hands back.

A spreadsheet takes a cell that begins with "=" for a formula, and runs it: what a
report says must never be run. So such a cell gets an apostrophe, which is taken away
again when the file is read.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.errors import InputError, damaged

_BEGINS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""The beginnings that OWASP's page on CSV injection lists."""


def sheet_cell(text: str) -> str:
    """Write a cell, with an apostrophe before what would be a formula."""
    return f"'{text}" if _would_be_formula(text) else text


def cell_of_sheet(cell: str) -> str:
    """Read the text that `sheet_cell` was given."""
    is_escaped = cell.startswith("'") and _would_be_formula(cell)
    return cell[1:] if is_escaped else cell


def _would_be_formula(text: str) -> bool:
    # Whatever apostrophes it has already: "'=1" would be read back as "=1".
    return text.lstrip("'").startswith(_BEGINS_FORMULA)


def sheet(rows: Sequence[Sequence[str]]) -> str:
    """Write rows as CSV (comma, LF)."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in rows:
        writer.writerow(map(sheet_cell, row))
    return stream.getvalue()


def sheet_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Write the texts of a frame as cells; numbers stay."""
    columns = {}
    for name, values in frame.items():
        if pd.api.types.is_numeric_dtype(values.dtype):
            continue
        # A column of texts may have gaps, which are no texts.
        cells = [_cell(value) for value in values]
        columns[str(name)] = pd.Series(cells, values.index, values.dtype)
    return frame.assign(**columns)


def _cell(value: Any) -> Any:
    return sheet_cell(value) if isinstance(value, str) else value


def edited_rows(
    path: Path, columns: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Read rows by column name, with their 1-based number.

    Cells are as they were before `sheet_cell`; further columns are allowed.

    Args:
        path: CSV in UTF-8, with or without a byte order mark, or that as .gz.
        columns: those that must be there.

    Raises:
        InputError: an unreadable file, a missing or repeated column, a row with too few
            or too many values. No cell is quoted.
    """
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            _require_columns(path, reader.fieldnames or (), columns)
            for number, row in enumerate(reader, start=1):
                # What `csv` says of a row with too many values, or too few.
                if None in row or None in row.values():
                    raise InputError(
                        path.name,
                        found="too few or too many values",
                        expected="one per column",
                        remedy="Fix the commas and quotes.",
                        row=number,
                    )
                yield number, {name: cell_of_sheet(cell) for name, cell in row.items()}
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise damaged(
            path.name,
            "an unreadable file",
            error,
            "a CSV in UTF-8",
            "Save it again as CSV.",
        ) from None


def _require_columns(path: Path, header: Sequence[str], columns: Sequence[str]) -> None:
    names = [name for name in header if name]
    missing = [name for name in columns if name not in names]
    if missing:
        problem = f"no column {missing}"
    elif len(set(names)) < len(names):
        problem = "two columns of one name"
    else:
        return
    raise InputError(
        path.name,
        found=problem,
        expected=f"columns {list(columns)}, each name once",
        remedy="Fix the first line.",
    )
