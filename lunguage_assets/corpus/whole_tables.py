"""Reads a table of which every row is needed: pairs to score, images, edited sheets.

The reader is that of deliveries (`records.py`). Where a delivery goes on behind a
broken record, here the file is refused by that row.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lunguage_assets.corpus.columns import folded_name
from lunguage_assets.corpus.records import read_records
from lunguage_assets.errors import InputError
from lunguage_assets.spreadsheets import cell_of_sheet


def read_table(path: Path, required: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV (also as .gz or .zip) or Parquet file; every cell is text.

    Nothing is taken for a missing value: "NA", "None" and "007" stay as they are.

    Args:
        path: the file.
        required: columns that must be there.

    Returns:
        A row per record.

    Raises:
        InputError: an unreadable file, a repeated or missing column, or a row with too
            few or too many values. No cell is quoted.
    """
    records = read_records(path, required=required, may_be_empty=True)
    broken: Any
    for broken in records.broken.itertuples():
        raise InputError(
            path.name,
            f"an unreadable row ({broken.found})",
            f"a row with {len(records.values.columns)} values, one for each column",
            "Fix its commas and quotes, or save the file again as CSV in UTF-8.",
            row=broken.Index,
        )
    # A required column has the name by which it was asked for.
    names = {folded_name(name): name for name in required}
    return records.values.rename(
        columns=lambda name: names.get(folded_name(name), name)
    ).reset_index(drop=True)


def edited_table(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read rows that a person edited in a spreadsheet, by their 1-based number.

    Cells are as they were before `sheet_cell`; further columns are allowed.

    Args:
        path: CSV in UTF-8, with or without a byte order mark, or that as .gz.
        columns: those that must be there.

    Raises:
        InputError: as of `read_table`.
    """
    rows = read_table(path, columns).map(cell_of_sheet)
    rows.index += 1
    return rows


def refuse_rows(
    path: Path, is_wrong: pd.Series, column: str, found: str, expected: str, remedy: str
) -> None:
    """Refuse an edited table by the first row that is wrong, if any.

    Args:
        path: of the file.
        is_wrong: by row number.
        column: where the wrong entry stands.
        found: what is there.
        expected: what should be.
        remedy: what to do.

    Raises:
        InputError: a row is wrong.
    """
    if is_wrong.any():
        row: Any = is_wrong.idxmax()
        raise InputError(path.name, found, expected, remedy, row=row, column=column)
