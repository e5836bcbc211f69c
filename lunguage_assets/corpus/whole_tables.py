"""Reads a table of which every row is needed: pairs to score, images, edited sheets.

The reader is that of deliveries (`records.py`). Where a delivery goes on behind a
broken record, here the file is refused by that row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import shown_names
from lunguage_assets.corpus.records import read_records
from lunguage_assets.errors import InputError
from lunguage_assets.spreadsheets import cell_of_sheet


def read_table(
    path: Path, required: Sequence[str] = (), remedy: str = "Fix the first line."
) -> pd.DataFrame:
    """Read a CSV (also as .gz or .zip) or Parquet file; every cell is text.

    Nothing is taken for a missing value: "NA", "None" and "007" stay as they are.

    Args:
        path: the file.
        required: columns that must be there.
        remedy: what to do about a missing one.

    Returns:
        A row per record.

    Raises:
        InputError: an unreadable file, a repeated or missing column, or a row with too
            few or too many values. No cell is quoted.
    """
    records = read_records(path, may_be_empty=True)
    header = records.header
    broken_rows: Iterator[Any] = records.broken.itertuples()
    for broken in broken_rows:
        raise InputError(
            path.name,
            f"an unreadable row ({broken.found})",
            f"a row with {len(header)} values, one for each column",
            "Fix its commas and quotes, or save the file again as CSV in UTF-8.",
            row=broken.Index,
        )
    missing = [name for name in required if name not in header]
    if missing:
        raise InputError(
            path.name,
            f"no column {missing} among columns {shown_names(header, required)}",
            f"columns {list(required)}, each name once",
            remedy,
        )
    names = zip(header, records.values.columns, strict=True)
    columns = [name or unnamed for name, unnamed in names]
    return records.values.set_axis(columns, axis="columns").reset_index(drop=True)


def edited_rows(
    path: Path, columns: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Read rows that a person edited in a spreadsheet, with their 1-based number.

    Cells are as they were before `sheet_cell`; further columns are allowed.

    Args:
        path: CSV in UTF-8, with or without a byte order mark, or that as .gz.
        columns: those that must be there.

    Raises:
        InputError: as of `read_table`.
    """
    rows = read_table(path, columns)
    yield from enumerate(rows.map(cell_of_sheet).to_dict("records"), 1)
