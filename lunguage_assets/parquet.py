"""Reading Parquet without Arrow's scanner.

`pyarrow.parquet.read_table` scans on threads of its own. One that lets go of a Python file while the
interpreter ends aborts the process (exit status -6) after all its work is done: seen in one of fifteen
commands on a busy machine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def read_columns(source: Path | BinaryIO, columns: Sequence[str] | None = None) -> pa.Table:
    """These columns of a file, all without `columns`; one that the file lacks is left out."""
    with pq.ParquetFile(source, pre_buffer=False) as file:
        return file.read(None if columns is None else list(columns), use_threads=False)


def read_rows(
    source: Path | BinaryIO, key: str, values: Collection[str], columns: Sequence[str] | None = None
) -> pa.Table:
    """The rows whose `key` is one of these values; of a file without any the keys alone are read."""
    wanted = pa.array(sorted(values), type=pa.string())
    with pq.ParquetFile(source, pre_buffer=False) as file:
        names = file.schema_arrow.names if columns is None else list(columns)
        chosen = pc.is_in(file.read([key], use_threads=False).column(key), value_set=wanted)
        if not pc.any(chosen).as_py():
            return file.schema_arrow.empty_table().select(names)
        return file.read(names, use_threads=False).filter(chosen)
