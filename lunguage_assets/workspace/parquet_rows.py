"""Reads rows of Parquet files: whole files, or chosen rows.

Not `pyarrow.parquet.read_table`: the threads of its scanner may abort a process that
ends (exit status -6). So nothing here uses Arrow's threads.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def read_whole(source: Path | BinaryIO) -> pa.Table:
    """Read all rows of a file."""
    with pq.ParquetFile(source, pre_buffer=False) as file:
        return file.read(use_threads=False)


def read_rows(
    source: Path | BinaryIO,
    key: str,
    values: Collection[str],
) -> pa.Table:
    """Read the rows whose key is one of some values.

    Of a file without such a row only the column of the key is read: whoever looks for a
    study in an archive opens many files that do not have it.

    Args:
        source: path or open file.
        key: column that is compared.
        values: that are looked for.
    """
    value_set = pa.array(sorted(values), type=pa.string())
    with pq.ParquetFile(source, pre_buffer=False) as file:
        keys = file.read([key], use_threads=False).column(key)
        is_match = pc.is_in(keys, value_set=value_set)
        if not pc.any(is_match).as_py():
            return file.schema_arrow.empty_table()
        return file.read(use_threads=False).filter(is_match)
