"""CSV files that a person opens in a spreadsheet, edits, and hands back.

A spreadsheet takes a cell that begins with "=" for a formula, and runs it: what a
report says must never be run. So such a cell gets an apostrophe, which is taken away
again when the file is read (`corpus/whole_tables.py`).
"""

from __future__ import annotations

import pandas as pd

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


def sheet_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Write the texts of a frame as cells; numbers stay."""
    texts = frame.select_dtypes(["object", "string"])
    return frame.assign(**texts.map(sheet_cell, na_action="ignore"))
