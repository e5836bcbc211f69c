"""Reads rows of Parquet files: whole files, or the rows of a study.

Not `pyarrow.parquet.read_table`: the threads of its scanner may abort a process that
ends (exit status -6). So nothing here uses Arrow's threads.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def read_whole(source: Path | BinaryIO) -> pa.Table:
    """Read all rows of a file."""
    with pq.ParquetFile(source, pre_buffer=False) as file:
        return file.read(use_threads=False)


def read_study(source: Path | BinaryIO, study: str) -> pa.Table:
    """Read the rows of a study.

    Of a file without such a row only the column of the studies is read: whoever looks
    for a study in an archive opens many files that do not have it.
    """
    with pq.ParquetFile(source, pre_buffer=False) as file:
        studies = file.read(["study_id"], use_threads=False).column("study_id")
        is_of_study = pc.equal(studies, study)
        if not pc.any(is_of_study).as_py():
            return file.schema_arrow.empty_table()
        return file.read(use_threads=False).filter(is_of_study)
