"""The store: one Parquet file per table partition, replaced atomically, and DuckDB views over them.

The layout follows `Table.partitioned_by`, as partitions in Dagster and columns of the views
do. Each file has a record of what its rows were made of, with a digest that shows whether
they are still those: it stands in the footer, so it can name the digest of all bytes before
it.

`$LUNGUAGE_TABLES` names a place on other storage, as any fsspec URL, when a home is made; the home keeps it.
A small file there says whose it is, so that two homes never write over each other.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from upath import UPath

from lunguage_assets.errors import ConfigurationError, InvalidTable, NotWritten
from lunguage_assets.files import replace_file, replace_text
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TABLES_VARIABLE = "LUNGUAGE_TABLES"
_RECORD = "tables_at.json"
OWNER = "+home.json"  # '+' occurs in no table's name
"""The file at the place that says which home it belongs to."""
VERSION, SET_ASIDE = "version", "set_aside"
"""Keys in `DataFrame.attrs` of a table that was read: the version in its record, and the studies that
were set aside before or while it was made.
"""

_EMPTY = "+schema.parquet"  # '+' occurs in no partition key, so the file can never be taken for a partition


_KEY = b"lunguage"
_TAIL = 8
"""Bytes at the end of a Parquet file: length of the footer (four, little-endian) and the letters PAR1."""


@dataclass(frozen=True)
class Lineage:
    """What a partition of a step was made of.

    Args:
        code: version of the step's code.
        inputs: `table/key/key` of every partition that was read -> its version.
        reads: settings, files and judges that were read, by name -> fingerprint.
    """

    code: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableRecord:
    """A stored table's record. `set_aside`: studies that are not in it because a row broke a rule, here or
    before, each as the values of `quality.rules.InvalidStudy`.
    """

    table: str
    keys: tuple[str, ...]
    made_of: Lineage
    content: str
    set_aside: tuple[tuple[Any, ...], ...] = ()

    @property
    def version(self) -> str:
        """Hash of the record: 16 hexadecimal digits; Dagster's data version of the partition."""
        aside = [self.set_aside] if self.set_aside else []
        return fingerprint(
            [self.table, self.keys, asdict(self.made_of), self.content, *aside]
        )

    def written(self, indent: int | None = None) -> str:
        """The record as JSON."""
        values = {
            name: value
            for name, value in asdict(self).items()
            if value or name != "set_aside"
        }
        return json.dumps(values, sort_keys=True, indent=indent)


@dataclass(frozen=True)
class EncodedTable:
    """A validated table as the bytes of its Parquet file."""

    frame: pd.DataFrame
    content: bytes
    record: TableRecord


def fingerprint(value: object) -> str:
    """Hash of a JSON value, 16 hexadecimal digits."""
    written = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return hashlib.sha256(written.encode("ascii")).hexdigest()[:16]


def encode(
    table: Table,
    frame: pd.DataFrame,
    keys: Sequence[str] = (),
    made_of: Lineage | None = None,
    set_aside: Sequence[tuple[Any, ...]] = (),
) -> EncodedTable:
    """Validate a frame and encode it with its record. Raises `InvalidTable`: the frame does not fit the
    schema.
    """
    content = table.to_arrow(frame)
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, content.schema, compression="zstd") as writer:
        writer.write_table(content)
        rows = hashlib.sha256(stream.getbuffer()).hexdigest()
        record = TableRecord(
            table.name, tuple(keys), made_of or Lineage(), rows, tuple(set_aside)
        )
        writer.add_key_value_metadata({_KEY.decode(): record.written()})
    return EncodedTable(frame, stream.getvalue(), record)


def read_record(content: bytes) -> TableRecord | None:
    """The record in the bytes of a stored table; None when there is none, or the rows are others."""
    try:
        record = _recorded(pq.read_metadata(io.BytesIO(content)))
    except pa.ArrowInvalid:
        return None
    footer = int.from_bytes(content[-_TAIL:-4], "little")
    rows = hashlib.sha256(
        memoryview(content)[: len(content) - _TAIL - footer]
    ).hexdigest()
    return record if record is not None and rows == record.content else None


def _recorded(metadata: pq.FileMetaData) -> TableRecord | None:
    """The record in a file's footer; None where there is none."""
    try:
        values = json.loads((metadata.metadata or {})[_KEY])
        aside = tuple(map(tuple, values.get("set_aside", ())))
        made_of, keys = Lineage(**values["made_of"]), tuple(values["keys"])
        return TableRecord(values["table"], keys, made_of, values["content"], aside)
    except (KeyError, TypeError, ValueError):
        return None


def partition_path(root: UPath | Path, table: str, *keys: str) -> UPath:
    """Path of a partition; `keys` follow `Table.partitioned_by`."""
    return UPath(root).joinpath(table, *keys[:-1], f"{keys[-1]}.parquet")


def stored_partitions(root: UPath | Path, table: str) -> list[tuple[str, ...]]:
    """Keys of all stored partitions of a table, in the order of its path, sorted."""
    folder = UPath(root) / table
    depth = len(TABLES[table].partitioned_by) - 1
    files = folder.glob("*/" * depth + "*.parquet") if folder.exists() else ()
    found = (path.parts[-1 - depth :] for path in files if path.name != _EMPTY)
    return sorted((*folders, file.removesuffix(".parquet")) for *folders, file in found)


def publish_table(encoded: EncodedTable, path: UPath | Path) -> None:
    """Write under a temporary name, then rename: readers see the old table or the new one, never a part.
    Raises `NotWritten`: the disk is full or forbids it; what was stored before is kept.
    """
    try:
        publish(encoded.content, UPath(path))
    except OSError as error:
        raise NotWritten(
            f"table {encoded.record.table}: could not be written to {path}"
            f" ({error.strerror or type(error).__name__}). What was stored before is kept."
            " Free space there, or fix its permissions, and do the same again."
        ) from None


def stored_record(table: Table, path: UPath | Path) -> TableRecord | None:
    """Read the record of a stored table from the file's footer; its rows are not read. None: of another
    schema, or without a record. Raises `FileNotFoundError`: nothing is stored.

    Whoever asks what is stale asks this of every table at every stage. That the rows are still those of the
    record, `verified_record` and `read_table` see.
    """
    if not is_local(path):
        return _footer_record(table, path)
    state = Path(
        str(path)
    ).stat()  # a file is published by renaming: another one has another inode or time
    return _known_record(
        table.name, str(path), state.st_ino, state.st_mtime_ns, state.st_size
    )


@lru_cache(maxsize=20_000)
def _known_record(
    table: str, path: str, _inode: int, _time: int, _size: int
) -> TableRecord | None:
    return _footer_record(TABLES[table], Path(path))


def _footer_record(table: Table, path: UPath | Path) -> TableRecord | None:
    try:
        with UPath(path).open("rb") as stream:
            metadata = pq.read_metadata(stream)
    except pa.ArrowInvalid:
        return None
    if not metadata.schema.to_arrow_schema().remove_metadata().equals(table.arrow):
        return None
    return _recorded(metadata)


def verified_record(table: Table, path: UPath | Path) -> TableRecord | None:
    """Read the record of a stored table as `stored_record` does, and hash the file. None also where its rows
    are not those of the record.
    """
    content = UPath(path).read_bytes()
    try:
        fits = (
            pq.read_schema(pa.BufferReader(content))
            .remove_metadata()
            .equals(table.arrow)
        )
    except pa.ArrowInvalid:
        return None
    return read_record(content) if fits else None


def read_table(table: Table, path: UPath | Path) -> pd.DataFrame:
    """A stored partition, its columns, types, value rules and record asserted, with `VERSION` and `SET_ASIDE`
    in its `attrs`. Raises `FileNotFoundError`: the partition has not been materialised. Raises
    `InvalidTable`: another schema, rows that break a rule, or rows that are not those of the record; names
    the file and keys, never a value.
    """
    stored = UPath(path).read_bytes()
    content = read_whole(pa.BufferReader(stored))
    found, expected = content.schema.remove_metadata(), table.arrow
    if not found.equals(expected):
        wrong = sorted({*found.names} ^ {*expected.names}) or [
            field.name
            for field in expected
            if not found.field(field.name).equals(field)
        ]
        raise InvalidTable(
            f"table {table.name}: a stored partition was written under "
            f"another schema (columns {wrong}). Materialise it again."
        )
    frame = table.from_arrow(content)
    table.require(frame, f"file {path}")
    record = read_record(stored)
    if record is None or record.table != table.name:
        raise InvalidTable(
            f"table {table.name}, file {path}: its rows were changed after they were stored, or another "
            "program wrote it. Materialise it again before anything reads it."
        )
    frame.attrs |= {VERSION: record.version, SET_ASIDE: record.set_aside}
    return frame


def read_whole(source: Path | BinaryIO) -> pa.Table:
    """The rows of a file.

    Not `pyarrow.parquet.read_table`: its scanner's threads may abort a process that ends (exit status -6).
    """
    with pq.ParquetFile(source, pre_buffer=False) as file:
        return file.read(use_threads=False)


def row_groups(
    source: Path | BinaryIO, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """The rows of a file, one row group after the other: what is written part by part is read so."""
    with pq.ParquetFile(source, pre_buffer=False) as file:
        for number in range(file.num_row_groups):
            yield file.read_row_group(number, columns, use_threads=False)


def read_rows(
    source: Path | BinaryIO,
    key: str,
    values: Collection[str],
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """The rows whose `key` is one of these values; of a file without any the keys alone are read."""
    wanted = pa.array(sorted(values), type=pa.string())
    with pq.ParquetFile(source, pre_buffer=False) as file:
        names = file.schema_arrow.names if columns is None else list(columns)
        chosen = pc.is_in(
            file.read([key], use_threads=False).column(key), value_set=wanted
        )
        if not pc.any(chosen).as_py():
            return file.schema_arrow.empty_table().select(names)
        return file.read(names, use_threads=False).filter(chosen)


def is_stored(table: Table, path: UPath | Path) -> bool:
    """Whether a partition is stored with this version's schema."""
    try:
        with UPath(path).open("rb") as stream:
            return bool(pq.read_schema(stream).remove_metadata().equals(table.arrow))
    except FileNotFoundError:
        return False


def remove_abandoned_files(root: UPath | Path, older_than_s: float = 3600.0) -> int:
    """Remove temporary files of killed writers from a local store and return how many; younger ones may
    belong to a living writer.
    """
    if not is_local(root):  # an upload that was broken off is no object
        return 0
    abandoned = [
        path
        for path in root.rglob(".*.tmp")
        if time.time() - path.stat().st_mtime > older_than_s
    ]
    for path in abandoned:
        path.unlink(missing_ok=True)
    return len(abandoned)


def create_catalog(connection: DuckDBPyConnection, root: UPath | Path) -> None:
    """Make one view per table over its Parquet files, with the partition keys as columns.

    A view reads whatever partitions exist when it is queried; an empty file per table gives it its columns
    before any does.
    """
    connection.execute("BEGIN")  # one, not one for each view: each waits for the disk
    for name, table in TABLES.items():
        if not is_stored(table, UPath(root) / name / _EMPTY):
            publish(encode(table, table.frame()).content, UPath(root) / name / _EMPTY)
        parts, dimensions = "string_split(filename, '/')", table.partitioned_by
        keys = [
            f"regexp_replace({parts}[{position - len(dimensions)}], '\\.parquet$', '') AS {dimension}"
            for position, dimension in enumerate(dimensions)
        ]
        columns = ", ".join([*keys, *(f'"{column.name}"' for column in table.columns)])
        place = re.sub(
            r"[*?\[]", r"[\g<0>]", str(UPath(root) / name)
        )  # names, and no patterns
        pattern = f"{place}/**/*.parquet".replace("'", "''")
        read = f"SELECT {columns} FROM read_parquet('{pattern}', filename = true)"
        connection.execute(f"CREATE OR REPLACE VIEW {name} AS {read}")
        connection.execute(
            f"COMMENT ON VIEW {name} IS '{table.description.replace(chr(39), chr(39) * 2)}'"
        )
    connection.execute("COMMIT")


def is_local(place: Path | UPath) -> bool:
    """Whether a place is a folder of this machine's file systems."""
    return getattr(place, "protocol", "") in ("", "file", "local")


def open_place(named: str) -> Path | UPath:
    """A place by its path or URL. Remote listings are never kept: another machine may have added a table.
    Raises `ConfigurationError`: no installed package can open such a URL.
    """
    try:
        place = UPath(named)
        if is_local(place):
            return Path(str(place.path)).expanduser().resolve()
        place = UPath(named.rstrip("/"), use_listings_cache=False)
        place.fs  # noqa: B018 - imports what the protocol needs
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"{named} cannot be opened: {error}. For s3:// install the extra: pip install "
            "'lunguage-assets[scale]'; else name a folder."
        ) from None
    return place


def tables_place(home: Path) -> Path | UPath:
    """Where the tables of a home lie. Raises `ConfigurationError`: `$LUNGUAGE_TABLES` names another place
    than the one that the home keeps.
    """
    record, named = _read(home / _RECORD), os.environ.get(TABLES_VARIABLE, "").strip()
    kept = open_place(record["tables"]) if record else home / "tables"
    if not named or str(open_place(named)) == str(kept):
        return kept
    if (
        not record and not (home / "corpus.json").exists()
    ):  # a home that is still to be made
        return open_place(named)
    raise ConfigurationError(
        f"{home} keeps its tables at {kept}; found ${TABLES_VARIABLE} = {named}. Unset it, or make a new "
        "home with it set."
    )


def claim_place(home: Path) -> None:
    """Make a place outside the home its own, recorded at both ends; the same again changes nothing. Raises
    `ConfigurationError`: the place belongs to another home; else as in `tables_place`.
    """
    place = tables_place(home)
    if place == home / "tables":
        return
    identity = _read(home / _RECORD).get("home") or uuid.uuid4().hex
    owner = _read(place / OWNER).get("home", identity)
    if owner != identity:
        raise ConfigurationError(
            f"{place} holds the tables of another home (id {owner}). Name another."
        )
    kept = (
        json.dumps({"home": identity, "tables": str(place)}, indent=2, sort_keys=True)
        + "\n"
    )
    replace_text(home / _RECORD, kept)
    publish((json.dumps({"home": identity}) + "\n").encode(), place / OWNER)


def publish(content: bytes, path: Path | UPath) -> None:
    """Write a whole file at once: object stores show it when the upload is complete, and not before."""
    if is_local(path):
        replace_file(Path(UPath(path).path), lambda stream: stream.write(content))
    else:
        there = UPath(path)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.fs.pipe_file(there.path, content)


def _read(record: Path | UPath) -> dict[str, str]:
    return (
        dict(json.loads(record.read_text(encoding="utf-8"))) if record.exists() else {}
    )
