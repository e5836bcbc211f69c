"""Writes files whole, and reads records that were written so.

A reader, or a crash, sees the old content or the new one.

Not here: tables of the store (`workspace/store.py`), and CSV files that a person edits
(`spreadsheets.py`).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import pandas as pd
from upath import UPath

from lunguage_assets.errors import damaged

Made = TypeVar("Made")


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Replace a file by what `write` puts into a stream.

    A temporary file beside it, which only its owner may read, is filled, forced to
    disk, and renamed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside the file: a rename is atomic within one file system alone.
    descriptor, name = tempfile.mkstemp(".tmp", f".{path.name}.", path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            write(stream)
            stream.flush()
            # Else the name could be on disk before the content, and a crash between.
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Replace a file by UTF-8 text, newlines as given."""
    replace_file(path, lambda stream: stream.write(text.encode("utf-8")))


def read_record(path: Path | UPath, make: Callable[[Any], Made], remedy: str) -> Made:
    """Read a JSON file that this package wrote.

    Args:
        path: the file.
        make: makes the record of what stands in it.
        remedy: what to do where the file is damaged.

    Raises:
        InputError: the file is no JSON, or not that of such a record.
    """
    try:
        return make(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise damaged(
            str(path), "a damaged record", error, "the record as it was written", remedy
        ) from None


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Replace a file by a frame as UTF-8, comma, LF, with a header."""
    replace_text(path, frame.to_csv(index=False, lineterminator="\n"))
