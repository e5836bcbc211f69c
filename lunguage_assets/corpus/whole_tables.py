"""Reads a table of which every row is needed: pairs to score, images, edited sheets.

The reader is that of deliveries (`records.py`). Where a delivery goes on behind a
broken record, here the file is refused by that row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pandas as pd

from lunguage_assets.corpus.columns import shown_names
from lunguage_assets.corpus.records import read_records
from lunguage_assets.errors import InputError
from lunguage_assets.spreadsheets import cell_of_sheet


def read_table(path: Path, columns: Collection[str] | None = None) -> pd.DataFrame:
    """Read a CSV (also as .gz or .zip) or Parquet file; every cell is text.

    Nothing is taken for a missing value: "NA", "None" and "007" stay as they are.

    Args:
        path: the file.
        columns: those to keep, where the file has them; None: all.

    Returns:
        A row per record.

    Raises:
        InputError: an unreadable file, a repeated column, or a row with too few or too
            many values. No cell is quoted.
    """
    header, values, broken, _ = read_records(path, may_be_empty=True)
    if len(broken):
        number = min(broken.index)
        raise InputError(
            path.name,
            f"an unreadable row ({broken['found'].loc[number]})",
            f"a row with {len(header)} values, one for each column",
            "Fix its commas and quotes, or save the file again as CSV in UTF-8.",
            row=number,
        )
    values.columns = [
        name or unnamed for name, unnamed in zip(header, values.columns, strict=True)
    ]
    kept = [name for name in values if columns is None or name in columns]
    return values[kept].reset_index(drop=True).astype("str")


def edited_rows(
    path: Path, columns: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Read rows that a person edited in a spreadsheet, with their 1-based number.

    Cells are as they were before `sheet_cell`; further columns are allowed.

    Args:
        path: CSV in UTF-8, with or without a byte order mark, or that as .gz.
        columns: those that must be there.

    Raises:
        InputError: as of `read_table`, or a column is missing.
    """
    rows = read_table(path)
    require_column_names(path, [*rows], columns, "Fix the first line.")
    yield from enumerate(rows.map(cell_of_sheet).to_dict("records"), 1)


def require_column_names(
    path: Path, header: Sequence[str], columns: Sequence[str], remedy: str
) -> None:
    """Refuse a table that lacks a column.

    Args:
        path: of the table.
        header: its columns.
        columns: those that must be there.
        remedy: what to do about a missing one.

    Raises:
        InputError: a column is missing.
    """
    missing = [name for name in columns if name not in header]
    if missing:
        raise InputError(
            path.name,
            f"no column {missing} among columns {shown_names(header, columns)}",
            f"columns {list(columns)}, each name once",
            remedy,
        )
