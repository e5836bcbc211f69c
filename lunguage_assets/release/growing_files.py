"""Writes files that grow part by part: a CSV by texts, a Parquet file by row groups.

A release is written some studies at a time, so that memory does not grow with the
corpus. What is written is in `restricted_files.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api.types import is_list_like

Files = Mapping[str, str | pa.Table]
"""What files grow by, by name: text of a CSV, or rows of a Parquet file."""


@contextmanager
def growing_files(folder: Path) -> Iterator[Callable[[Files], None]]:
    """Open the files of a folder, and give the function that appends to them.

    Of a CSV the header of its first text counts. A Parquet file gets a row group, or
    some, for each part.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        streams: dict[str, BinaryIO] = {}
        writers: dict[str, pq.ParquetWriter] = {}

        def append(files: Files) -> None:
            for name, content in files.items():
                is_new = name not in streams
                if is_new:
                    streams[name] = stack.enter_context(_synced(folder / name))
                if isinstance(content, str):
                    text = content if is_new else content.partition("\n")[2]
                    streams[name].write(text.encode("utf-8"))
                    continue
                if is_new:
                    # Entered after its stream, so it is closed before: it writes the
                    # footer then.
                    writer = pq.ParquetWriter(
                        streams[name], content.schema, compression="zstd"
                    )
                    writers[name] = stack.enter_context(writer)
                writers[name].write_table(content)

        yield append


@contextmanager
def _synced(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write, and have it on the disk when it is closed."""
    with path.open("wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


def csv_text(frame: pd.DataFrame) -> str:
    """Write a frame as CSV: comma, LF, with a header; lists are joined by '; '."""
    joined = {}
    # Columns of lists are columns of objects, and so are those of mixed values.
    for name in frame.columns:
        if frame[name].dtype == object:
            joined[name] = [
                "; ".join(value) if is_list_like(value) else value
                for value in frame[name]
            ]
    return frame.assign(**joined).to_csv(index=False, lineterminator="\n")
