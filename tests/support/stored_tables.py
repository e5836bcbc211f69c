"""Tables of tests: rows of which few values matter, stored as a step stores them, and
read by the keys of their partitions.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
from upath import UPath

from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.store import (
    EncodedTable,
    encode,
    partition_path,
    publish_table,
    read_table,
)

KEYS = {
    "judge": "lexicon",
    "ranker": "panel",
    "structurer": "rules",
    "report_batch": "first",
}
"""Of a partition, unless they are given."""

_PLAIN = {"string": "", "int": 1, "float": 0.5, "bool": False, "strings": []}


def plain_row(table: Table, /, **values: Any) -> dict[str, Any]:
    """A row with these values, and plain ones in the columns that are never empty."""
    row: dict[str, Any] = {}
    for column in table.columns:
        plain = column.choices[0] if column.choices else _PLAIN[column.type]
        if plain == "" and column.pattern and not re.search(column.pattern, ""):
            plain = "x"
        row[column.name] = None if column.nullable else plain
    return row | values


def store_table(table: Table, frame: pd.DataFrame, path: UPath | Path) -> EncodedTable:
    """Encode a frame and publish it."""
    encoded = encode(table, frame)
    publish_table(encoded, path)
    return encoded


def stored_table(tables: UPath | Path, name: str, **keys: str) -> pd.DataFrame:
    """A partition of a table, by those of its keys that are not `KEYS`."""
    table = TABLES[name]
    chosen = KEYS | keys
    values = [chosen[dimension] for dimension in table.partitioned_by]
    return read_table(table, partition_path(tables, name, *values))
