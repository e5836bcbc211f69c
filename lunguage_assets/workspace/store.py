"""The store: one Parquet file for each partition of a table, replaced as a whole.

A frame is validated before it is written (`tables/schema.py`), and asserted again when
it is read. Each file has the record of what its rows were made of in its footer
(`table_record.py`).

Not here: where the files lie (`tables_location.py`), reading rows without asserting
them (`parquet_rows.py`), and views over the files (`catalog.py`).
"""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from upath import UPath

from lunguage_assets.errors import InvalidTable, NotWritten
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.parquet_rows import read_whole
from lunguage_assets.workspace.table_record import (
    FOOTER_KEY,
    Lineage,
    TableRecord,
    record_in_footer,
)
from lunguage_assets.workspace.tables_location import is_local, publish

VERSION = "version"
"""Key in `DataFrame.attrs` of a table that was read: the version of its record."""
SET_ASIDE = "set_aside"
"""Key in `DataFrame.attrs` of a table that was read: the studies that its record lists.
"""
EMPTY_FILE = "+schema.parquet"
"""A file without rows beside a table's partitions; no partition key has a "+" in it."""

_TAIL_BYTES = 8
"""End of a Parquet file: length of the footer (four bytes, little-endian), then PAR1.
"""
_KNOWN_RECORDS = 20_000
"""Records that a process remembers."""


@dataclass(frozen=True)
class EncodedTable:
    """A validated table as the bytes of its Parquet file."""

    frame: pd.DataFrame
    content: bytes
    record: TableRecord


def partition_path(root: UPath | Path, table: str, *keys: str) -> UPath:
    """Name the file of a partition; `keys` follow `Table.partitioned_by`."""
    *folders, last = keys
    return UPath(root).joinpath(table, *folders, f"{last}.parquet")


def stored_partitions(root: UPath | Path, table: str) -> list[tuple[str, ...]]:
    """List the keys of all stored partitions of a table, sorted."""
    folder = UPath(root) / table
    if not folder.exists():
        return []
    depth = len(TABLES[table].partitioned_by)
    pattern = "*/" * (depth - 1) + "*.parquet"
    partitions = []
    for path in folder.glob(pattern):
        if path.name != EMPTY_FILE:
            *folders, file = path.parts[-depth:]
            partitions.append((*folders, file.removesuffix(".parquet")))
    return sorted(partitions)


def encode(
    table: Table,
    frame: pd.DataFrame,
    keys: Sequence[str] = (),
    made_of: Lineage | None = None,
    set_aside: Sequence[tuple[Any, ...]] = (),
) -> EncodedTable:
    """Validate a frame and encode it with its record.

    Args:
        table: whose rows they are.
        frame: the rows.
        keys: of the partition, in the order of `Table.partitioned_by`.
        made_of: what the rows were made of.
        set_aside: studies that are not among them, as in `TableRecord`.

    Raises:
        InvalidTable: the frame does not fit the schema.
    """
    rows = table.to_arrow(frame)
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, rows.schema, compression="zstd") as writer:
        writer.write_table(rows)
        # Before the footer is written, which cannot hold a digest of itself.
        digest = hashlib.sha256(stream.getbuffer()).hexdigest()
        record = TableRecord(
            table=table.name,
            keys=tuple(keys),
            made_of=made_of or Lineage(),
            content=digest,
            set_aside=tuple(set_aside),
        )
        writer.add_key_value_metadata({FOOTER_KEY.decode(): record.to_json()})
    return EncodedTable(frame, stream.getvalue(), record)


def publish_table(encoded: EncodedTable, path: UPath | Path) -> None:
    """Write a table, so that readers see the old one or the new one, never a part.

    Raises:
        NotWritten: the disk is full or forbids it; what was stored before is kept.
    """
    try:
        publish(encoded.content, UPath(path))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise NotWritten(
            f"table {encoded.record.table}: could not be written to {path} ({reason}). "
            "What was stored before is kept. Free space there, or fix its permissions, "
            "and do the same again."
        ) from None


def read_table(table: Table, path: UPath | Path) -> pd.DataFrame:
    """Read a stored partition; its schema, its value rules and its record are asserted.

    Returns:
        The rows, with `VERSION` and `SET_ASIDE` in `attrs`.

    Raises:
        FileNotFoundError: the partition has not been materialised.
        InvalidTable: another schema, rows that break a rule, or rows that are not those
            of the record; the message names file and keys, never a value.
    """
    content = UPath(path).read_bytes()
    rows = read_whole(pa.BufferReader(content))
    _require_schema(table, rows.schema)
    frame = table.from_arrow(rows)
    table.require(frame, f"file {path}")
    record = read_record(content)
    if record is None or record.table != table.name:
        raise InvalidTable(
            f"table {table.name}, file {path}: its rows were changed after they were "
            "stored, or another program wrote it. Materialise it again before anything "
            "reads it."
        )
    frame.attrs[VERSION] = record.version
    frame.attrs[SET_ASIDE] = record.set_aside
    return frame


def _require_schema(table: Table, stored: pa.Schema) -> None:
    """Refuse rows that were stored under another schema."""
    if _has_schema(table, stored):
        return
    wrong = sorted({*stored.names} ^ {*table.arrow.names})
    # The names agree: types do not.
    if not wrong:
        wrong = [
            column.name
            for column in table.arrow
            if not stored.field(column.name).equals(column)
        ]
    raise InvalidTable(
        f"table {table.name}: a stored partition was written under another schema "
        f"(columns {wrong}). Materialise it again."
    )


def read_record(content: bytes) -> TableRecord | None:
    """Read the record in the bytes of a file; None also where the rows are others."""
    try:
        record = record_in_footer(pq.read_metadata(io.BytesIO(content)))
    except pa.ArrowInvalid:
        return None
    if record is None:
        return None
    # The digest is of what stands before the footer, which holds it.
    footer_length = int.from_bytes(content[-_TAIL_BYTES:-4], "little")
    end_of_rows = len(content) - _TAIL_BYTES - footer_length
    digest = hashlib.sha256(memoryview(content)[:end_of_rows]).hexdigest()
    return record if digest == record.content else None


def stored_record(table: Table, path: UPath | Path) -> TableRecord | None:
    """Read the record of a stored table from the file's footer, without its rows.

    Whoever asks what is stale asks this of every table at every stage. Whether the rows
    are still those of the record, `verified_record` and `read_table` see.

    Returns:
        The record; None where the file has another schema, or no record.

    Raises:
        FileNotFoundError: nothing is stored.
    """
    # Other storage has no inodes, by which a replaced file is told.
    if not is_local(path):
        return _footer_record(table, path)
    # A file is published by renaming: another one has another inode or time.
    state = Path(str(path)).stat()
    return _known_record(
        table.name, str(path), state.st_ino, state.st_mtime_ns, state.st_size
    )


@lru_cache(maxsize=_KNOWN_RECORDS)
def _known_record(
    table: str, path: str, _inode: int, _modified_ns: int, _size: int
) -> TableRecord | None:
    return _footer_record(TABLES[table], Path(path))


def _footer_record(table: Table, path: UPath | Path) -> TableRecord | None:
    try:
        with UPath(path).open("rb") as stream:
            footer = pq.read_metadata(stream)
    except pa.ArrowInvalid:
        return None
    # What another version of the package stored is made again, whatever its record
    # says.
    has_schema = _has_schema(table, footer.schema.to_arrow_schema())
    return record_in_footer(footer) if has_schema else None


def verified_record(table: Table, path: UPath | Path) -> TableRecord | None:
    """Read the record of a stored table, and hold the file's rows against it.

    Returns:
        As `stored_record`; None also where the rows are not those of the record.

    Raises:
        FileNotFoundError: nothing is stored.
    """
    content = UPath(path).read_bytes()
    try:
        schema = pq.read_schema(pa.BufferReader(content))
    except pa.ArrowInvalid:
        return None
    return read_record(content) if _has_schema(table, schema) else None


def is_stored(table: Table, path: UPath | Path) -> bool:
    """Whether a partition is stored, undamaged, with this version's schema."""
    try:
        with UPath(path).open("rb") as stream:
            return _has_schema(table, pq.read_schema(stream))
    except (FileNotFoundError, pa.ArrowInvalid):
        return False


def _has_schema(table: Table, stored: pa.Schema) -> bool:
    return bool(stored.remove_metadata().equals(table.arrow))


def remove_abandoned_files(root: UPath | Path, older_than_s: float = 3600.0) -> int:
    """Remove temporary files that killed writers left in a local store.

    Args:
        root: of the store; on other storage an upload that was broken off is no object.
        older_than_s: younger ones may belong to a living writer.

    Returns:
        How many were removed.
    """
    if not is_local(root):
        return 0
    youngest_abandoned = time.time() - older_than_s
    abandoned = [
        path
        for path in root.rglob(".*.tmp")
        if path.stat().st_mtime < youngest_abandoned
    ]
    for path in abandoned:
        path.unlink(missing_ok=True)
    return len(abandoned)
