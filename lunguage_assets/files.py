"""Writes files so that a reader, or a crash, sees the old content or the new, never a part."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pandas as pd


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
