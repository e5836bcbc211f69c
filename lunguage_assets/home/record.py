"""The record in every stored table: what its rows were made of, and a digest that shows whether they are
still those.

A table is encoded once, to the bytes of its Parquet file: rows first, footer last. The record stands in the
footer, so it can name the digest of all bytes before it.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lunguage_assets.tables.schema import Table

_KEY = b"lunguage"
_TAIL = 8
"""Bytes at the end of a Parquet file: length of the footer (four, little-endian) and the letters PAR1."""


@dataclass(frozen=True)
class MadeOf:
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
    before, each as the values of `quality.set_aside.Aside`.
    """

    table: str
    keys: tuple[str, ...]
    made_of: MadeOf
    content: str
    set_aside: tuple[tuple[Any, ...], ...] = ()

    @property
    def version(self) -> str:
        """Hash of the record: 16 hexadecimal digits; Dagster's data version of the partition."""
        aside = [self.set_aside] if self.set_aside else []
        return fingerprint([self.table, self.keys, asdict(self.made_of), self.content, *aside])

    def written(self, indent: int | None = None) -> str:
        """The record as JSON."""
        values = {name: value for name, value in asdict(self).items() if value or name != "set_aside"}
        return json.dumps(values, sort_keys=True, indent=indent)


@dataclass(frozen=True)
class Encoded:
    """A validated table as the bytes of its Parquet file."""

    frame: pd.DataFrame
    content: bytes
    record: TableRecord


def fingerprint(value: object) -> str:
    """Hash of a JSON value, 16 hexadecimal digits."""
    written = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(written.encode("ascii")).hexdigest()[:16]


def encode(
    table: Table,
    frame: pd.DataFrame,
    keys: Sequence[str] = (),
    made_of: MadeOf | None = None,
    set_aside: Sequence[tuple[Any, ...]] = (),
) -> Encoded:
    """Validate a frame and encode it with its record.

    Raises:
        InvalidTable: the frame does not fit the schema.
    """
    content = table.to_arrow(frame)
    stream = io.BytesIO()
    with pq.ParquetWriter(stream, content.schema, compression="zstd") as writer:
        writer.write_table(content)
        rows = hashlib.sha256(stream.getbuffer()).hexdigest()
        record = TableRecord(table.name, tuple(keys), made_of or MadeOf(), rows, tuple(set_aside))
        writer.add_key_value_metadata({_KEY.decode(): record.written()})
    return Encoded(frame, stream.getvalue(), record)


def read_record(content: bytes) -> TableRecord | None:
    """The record in the bytes of a stored table; None when there is none, or the rows are others."""
    try:
        values = json.loads((pq.read_metadata(io.BytesIO(content)).metadata or {})[_KEY])
        aside = tuple(map(tuple, values.get("set_aside", ())))
        made_of, keys = MadeOf(**values["made_of"]), tuple(values["keys"])
        record = TableRecord(values["table"], keys, made_of, values["content"], aside)
    except (KeyError, TypeError, ValueError, pa.ArrowInvalid):
        return None
    footer = int.from_bytes(content[-_TAIL:-4], "little")
    rows = hashlib.sha256(memoryview(content)[: len(content) - _TAIL - footer]).hexdigest()
    return record if rows == record.content else None
