"""Reads the small CSV files that a person edits: corrections of phrases, ratings of anchors, answers of
experts.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from lunguage_assets.errors import InputError
from lunguage_assets.files import cell_of_sheet


def edited_rows(path: Path, columns: Sequence[str], form: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows by column name with their 1-based number, cells as they were before `files.sheet_cell`; further
    columns are allowed.

    Args:
        path: CSV in UTF-8, with or without a byte order mark.
        columns: those that must be there.
        form: what a row should look like, for the message about one that does not.

    Raises:
        InputError: an unreadable file, a missing or repeated column, a row with too few or too many values.
            No cell is quoted.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            named = [name for name in reader.fieldnames or () if name]
            if len(set(named)) < len(named):
                raise InputError(
                    path.name, "two columns of one name", "each name once", "Rename one of them."
                )
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise InputError(
                    path.name, f"no column {missing}", f"columns {list(columns)}", "Add the columns."
                )
            for number, row in enumerate(reader, start=1):
                if None in row or None in row.values():
                    found = "too few or too many values"
                    raise InputError(path.name, found, form, "Fix the commas and quotes.", row=number)
                yield number, {name: cell_of_sheet(cell) for name, cell in row.items()}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        found = f"an unreadable file ({type(error).__name__})"
        raise InputError(path.name, found, "a CSV in UTF-8", "Save it again as CSV.") from None
