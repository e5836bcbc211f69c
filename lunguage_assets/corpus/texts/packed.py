"""The one Parquet file in which a home stores raw reports of any layout."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.corpus.texts.raw import RawReport
from lunguage_assets.errors import damaged

_ROWS_AT_ONCE = 1000
"""Stored reports in one row group, which is what is in memory at a time."""
_TYPES: Mapping[str, pa.DataType] = {"line": pa.int64(), "content": pa.binary()}
_STORED = pa.schema(
    [(field.name, _TYPES.get(field.name, pa.string())) for field in fields(RawReport)]
)


def write_packed(reports: Sequence[RawReport], path: Path) -> None:
    """Store reports in one file; reading it gives the same reports."""
    columns = [[getattr(report, name) for report in reports] for name in _STORED.names]
    table = pa.table(columns, _STORED)
    pq.write_table(table, path, compression="zstd", row_group_size=_ROWS_AT_ONCE)


def read_packed(path: Path) -> Iterator[RawReport]:
    """Read what `write_packed` wrote.

    Raises:
        InputError: the file is damaged.
    """
    try:
        file = pq.ParquetFile(path)
        if file.schema_arrow.names != _STORED.names:
            raise pa.ArrowInvalid("other columns")
        for batch in file.iter_batches(_ROWS_AT_ONCE):
            yield from (RawReport(**values) for values in batch.to_pylist())
    except (pa.ArrowInvalid, OSError) as error:
        raise damaged(
            path.name,
            "damaged data",
            error,
            "raw reports as a home stores them",
            "Register the delivery again, or restore the file.",
        ) from None


def reports_digest(reports: Iterable[RawReport]) -> str:
    """Hash reports (sha256): the same however they are packed."""
    digest = hashlib.sha256()
    for report in reports:
        values = {name: getattr(report, name) for name in _STORED.names}
        # The same text, packed or not, is the same delivery.
        values["file"] = report.file.removesuffix(".gz")
        # How Python writes them keeps one value apart from the next.
        digest.update(repr(values).encode())
    return digest.hexdigest()
