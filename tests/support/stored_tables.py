"""Tables of tests, stored as a step stores them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from upath import UPath

from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.store import EncodedTable, encode, publish_table
from lunguage_assets.workspace.table_record import Lineage


def store_table(
    table: Table,
    frame: pd.DataFrame,
    path: UPath | Path,
    keys: Sequence[str] = (),
    made_of: Lineage | None = None,
) -> EncodedTable:
    """Encode a frame and publish it."""
    encoded = encode(table, frame, keys, made_of)
    publish_table(encoded, path)
    return encoded
