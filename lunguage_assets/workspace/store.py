"""The store: one Parquet file for each partition of a table, replaced as a whole.

A frame is validated once, before it is written (`tables/schema.py`). The same rows are
the same bytes, so the hash of a file is the version of its rows.

Not here: where the files lie (`tables_location.py`), reading single rows
(`parquet_rows.py`), and views over the files (`catalog.py`). What a table was made of,
and whether it is current, Dagster knows.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from upath import UPath

from lunguage_assets.errors import InvalidTable, LunguageError, MethodError
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.parquet_rows import read_whole
from lunguage_assets.workspace.tables_location import is_local, publish

SET_ASIDE = "set_aside"
"""Key in `DataFrame.attrs` of a table that was read: the studies that were set aside
before it was stored, each as the values of `quality.rules.InvalidStudy`.
"""
EMPTY_FILE = "+schema.parquet"
"""A file without rows beside a table's partitions; no partition key has a "+" in it."""

_VERSION_DIGITS = 16


class NotStored(MethodError, FileNotFoundError):
    """A partition that is to be read, and that nobody has made."""


@dataclass(frozen=True)
class EncodedTable:
    """Validated rows of a table as the bytes of their Parquet file."""

    table: str
    rows: int
    content: bytes

    @cached_property
    def version(self) -> str:
        """The hash of the rows, which Dagster compares."""
        return hashlib.sha256(self.content).hexdigest()[:_VERSION_DIGITS]


def fingerprint(value: object) -> str:
    """Hash a JSON value into 16 hexadecimal digits."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:_VERSION_DIGITS]


def partition_path(root: UPath | Path, table: str, *keys: str) -> UPath:
    """Name the file of a partition; `keys` follow `Table.partitioned_by`."""
    *folders, last = keys
    return UPath(root).joinpath(table, *folders, f"{last}.parquet")


def paths_of_batch(
    root: UPath | Path, tables: Iterable[Table], ranker: str, batch: str
) -> dict[str, UPath]:
    """Name the files that a ranker has of a batch, by table.

    Args:
        root: folder of the tables.
        tables: each is of the batch alone, or of a ranker and a batch.
        ranker: whose results they are.
        batch: key of the batch.
    """
    keys = {"ranker": ranker, "report_batch": batch}
    return {
        table.name: partition_path(
            root, table.name, *map(keys.__getitem__, table.partitioned_by)
        )
        for table in tables
    }


def encode(
    table: Table, frame: pd.DataFrame, set_aside: Sequence[tuple[Any, ...]] = ()
) -> EncodedTable:
    """Validate a frame and encode it.

    Args:
        table: whose rows they are.
        frame: the rows.
        set_aside: studies that are not among them, as values of `InvalidStudy`.

    Raises:
        InvalidTable: the frame does not fit the schema.
    """
    rows = table.to_arrow(frame)
    if set_aside:
        rows = rows.replace_schema_metadata({SET_ASIDE: json.dumps(list(set_aside))})
    stream = io.BytesIO()
    pq.write_table(rows, stream, compression="zstd")
    return EncodedTable(table.name, len(frame), stream.getvalue())


def publish_table(encoded: EncodedTable, path: UPath | Path) -> None:
    """Write a table, so that readers see the old one or the new one, never a part.

    Raises:
        LunguageError: the disk is full or forbids it; what was stored before is kept.
    """
    try:
        publish(encoded.content, UPath(path))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LunguageError(
            f"table {encoded.table}: could not be written to {path} ({reason}). What "
            "was stored before is kept. Free space there, or fix its permissions, and "
            "do the same again."
        ) from None


def read_table(table: Table, path: UPath | Path) -> pd.DataFrame:
    """Read a stored partition.

    Returns:
        The rows, with `SET_ASIDE` in `attrs`.

    Raises:
        NotStored: nobody has made the partition; the message says what to do.
        InvalidTable: the file is damaged, or has another schema.
    """
    try:
        content = UPath(path).read_bytes()
    except FileNotFoundError:
        raise NotStored(
            f"table {table.name}, file {path}: it is not there. Materialise it in the "
            "UI, or say `lunguage run`, with another --ranker where it is of one."
        ) from None
    try:
        rows = read_whole(pa.BufferReader(content))
    except pa.ArrowInvalid:
        raise InvalidTable(
            f"table {table.name}, file {path}: found no whole Parquet file. Delete it "
            "and materialise it again."
        ) from None
    _require_schema(table, rows.schema)
    frame = table.from_arrow(rows)
    metadata = rows.schema.metadata or {}
    frame.attrs[SET_ASIDE] = json.loads(metadata.get(SET_ASIDE.encode(), b"[]"))
    return frame


def stored_table(home: Home, table: str, *keys: str) -> pd.DataFrame:
    """Read a stored partition by its keys, as `read_table`.

    Args:
        home: whose table it is.
        table: its name.
        keys: of the partition, in the order of `Table.partitioned_by`.
    """
    return read_table(TABLES[table], partition_path(home.tables, table, *keys))


def stored_or_none(home: Home, table: str, *keys: str) -> pd.DataFrame | None:
    """Read a partition that not every home has; None also where it is unreadable."""
    with suppress(NotStored, InvalidTable):
        return stored_table(home, table, *keys)
    return None


def complete_batches(home: Home, ranker: str) -> list[str]:
    """List the batches that have a result of a ranker, oldest first."""
    return [
        batch.key
        for batch in home.registered()
        if partition_path(home.tables, "lunguage_plus_plus", ranker, batch.key).exists()
    ]


def _require_schema(table: Table, stored: pa.Schema) -> None:
    """Refuse rows that were stored under another schema."""
    if _has_schema(table, stored):
        return
    differing = {*stored} ^ {*table.arrow}
    wrong = sorted({column.name for column in differing})
    raise InvalidTable(
        f"table {table.name}: a stored partition was written under another schema "
        f"(columns {wrong}). Materialise it again."
    )


def is_stored(table: Table, path: UPath | Path) -> bool:
    """Whether a partition is stored, undamaged, with this version's schema."""
    try:
        with UPath(path).open("rb") as stream:
            return _has_schema(table, pq.read_schema(stream))
    except (FileNotFoundError, pa.ArrowInvalid):
        return False


def require_stored(table: Table, path: UPath | Path) -> None:
    """Refuse a partition that is not stored as this version stores it.

    Raises:
        InvalidTable: it is missing, damaged, or has another schema.
    """
    if not is_stored(table, path):
        raise InvalidTable(
            f"table {table.name}, file {path}: written under another schema. "
            "Materialise it again."
        )


def _has_schema(table: Table, stored: pa.Schema) -> bool:
    return bool(stored.remove_metadata().equals(table.arrow))


def remove_abandoned_files(home: Home) -> None:
    """Remove temporary files and folders that killed writers left in a home.

    On other storage an upload that was broken off is no object.
    """
    abandoned = [*home.root.glob(".*.tmp")]
    if is_local(home.tables):
        abandoned += Path(str(home.tables)).rglob(".*.tmp")
    # Younger ones may belong to a living writer.
    a_day_ago = time.time() - 86_400.0
    for path in abandoned:
        if path.stat().st_mtime < a_day_ago:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
