"""The record of a stored table: what its rows were made of.

It stands as JSON in the footer of the table's Parquet file, with a digest of all bytes
before the footer, so that rows that were changed afterwards are noticed. Its names
(`made_of`, `reads`, `content` ...) are those of files that are stored already: another
name is another layout of a home (`home.py`).

Not here: writing and reading the files (`store.py`), and whether a table is still
current (`lineage/staleness.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow.parquet as pq

FOOTER_KEY = b"lunguage"
"""Under which a Parquet file's footer holds the record."""


@dataclass(frozen=True)
class Lineage:
    """What a partition of a step was made of.

    Attributes:
        code: version of the step's code.
        inputs: `table/key/key` of every partition that was read -> its version.
        reads: settings, files and judges that were read, by name -> fingerprint.
    """

    code: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    reads: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableRecord:
    """The record of one stored partition.

    Attributes:
        table: its name.
        keys: of the partition, in the order of `Table.partitioned_by`.
        made_of: what its rows were made of.
        content: SHA-256 of the file's bytes before the footer.
        set_aside: studies that are not in it because a row broke a rule, here or
            upstream, each as the values of `quality.rules.InvalidStudy`.
    """

    table: str
    keys: tuple[str, ...]
    made_of: Lineage
    content: str
    set_aside: tuple[tuple[Any, ...], ...] = ()

    @property
    def version(self) -> str:
        """The hash of the record, which is Dagster's data version of the partition."""
        return fingerprint(asdict(self))

    def to_json(self, indent: int | None = None) -> str:
        """Write the record as JSON."""
        return json.dumps(asdict(self), sort_keys=True, indent=indent)


def fingerprint(value: object) -> str:
    """Hash a JSON value into 16 hexadecimal digits."""
    canonical = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()[:16]


def record_in_footer(footer: pq.FileMetaData) -> TableRecord | None:
    """Read the record in a Parquet footer; None where there is no sound one."""
    try:
        values = json.loads((footer.metadata or {})[FOOTER_KEY])
        return TableRecord(
            table=values["table"],
            keys=tuple(values["keys"]),
            made_of=Lineage(**values["made_of"]),
            content=values["content"],
            set_aside=tuple(map(tuple, values["set_aside"])),
        )
    except (KeyError, TypeError, ValueError):
        return None
