"""Writes files so that a reader, or a crash, sees the old content or the new, never a part."""

from __future__ import annotations

import csv
import io
import os
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import pandas as pd

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A spreadsheet takes a cell that begins so for a formula, and runs it."""


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
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA) else cell


def sheet(rows: Sequence[Sequence[str]]) -> str:
    """Rows as CSV (comma, LF) for spreadsheets."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(map(sheet_cell, row) for row in rows)
    return stream.getvalue()


def sheet_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """A frame whose texts are those of `sheet_cell`; numbers stay."""
    texts = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    cells = {name: [sheet_cell(v) if isinstance(v, str) else v for v in frame[name]] for name in texts}
    return frame.assign(**{name: pd.Series(v, frame.index, frame[name].dtype) for name, v in cells.items()})
