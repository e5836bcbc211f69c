"""Reads the small CSV files that a person edits: corrections of phrases, ratings of anchors, answers of
experts, outcomes.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from lunguage_assets.errors import InputError, damaged
from lunguage_assets.files import cell_of_sheet


def edited_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows by column name with their 1-based number, cells as they were before `files.sheet_cell`; further
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
                    raise InputError(path.name, found, expected, "Fix the commas and quotes.", row=number)
                yield number, {name: cell_of_sheet(cell) for name, cell in row.items()}
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        remedy = "Save it again as CSV."
        raise damaged(path.name, "an unreadable file", error, "a CSV in UTF-8", remedy) from None
