"""Files of the release that are written a part at a time, into a folder that nobody reads yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from pandas.api.types import is_list_like

from lunguage_assets.tables.schema import Table

Append = Callable[[pd.DataFrame], None]
"""Writes further rows of the same columns."""


@contextmanager
def growing_csv(path: Path) -> Iterator[Append]:
    """UTF-8, comma, LF, with one header; lists are joined by '; '."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:

        def append(frame: pd.DataFrame) -> None:
            flat(frame).to_csv(stream, index=False, header=stream.tell() == 0, lineterminator="\n")

        yield append
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def growing_parquet(table: Table, path: Path) -> Iterator[Append]:
    """One row group, or some, for every part, which is validated first (`Table.to_arrow`)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        with pq.ParquetWriter(stream, table.arrow, compression="zstd") as writer:
            yield lambda frame: writer.write_table(table.to_arrow(frame))
        stream.flush()
        os.fsync(stream.fileno())


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Lists joined by '; ', for a CSV; counts of which only a bound is said stay."""
    mixed = [name for name in frame.columns if frame[name].dtype == object]
    joined = {name: ["; ".join(v) if is_list_like(v) else v for v in frame[name]] for name in mixed}
    return frame.assign(**joined)
