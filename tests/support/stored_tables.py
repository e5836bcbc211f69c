"""Tables of tests, stored as a step stores them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from upath import UPath

from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.store import EncodedTable, encode, publish_table


def store_table(table: Table, frame: pd.DataFrame, path: UPath | Path) -> EncodedTable:
    """Encode a frame and publish it."""
    encoded = encode(table, frame)
    publish_table(encoded, path)
    return encoded
