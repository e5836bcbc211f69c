"""What earlier batches of a home stored: single columns of one table, batch by batch; the batches registered
before, and no later ones.

A batch that comes to lie between them later changes nothing for the batches that were registered before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import pyarrow.parquet as pq
from upath import UPath

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import PARTITIONED_BY, is_stored, partition_path
from lunguage_assets.tables import TABLES


@dataclass(frozen=True)
class Earlier:
    """Rows of a table over earlier batches, each with its batch in the column `report_batch`; `batches` are
    those that were stored.
    """

    batches: tuple[str, ...]
    frame: pd.DataFrame


def batches_before(home: Home, batch: str, limit: int) -> list[str]:
    """Keys of the batches registered before this one, oldest first, the latest `limit` of them; none for a
    batch that is not registered.
    """
    registered = home.registered()
    number = next((known.number for known in registered if known.key == batch), -1)
    before = [known.key for known in registered if known.number < number]
    return before[len(before) - min(limit, len(before)) :]


def earlier_rows(
    home: Home, table: str, columns: Sequence[str], batches: Sequence[str], **others: str
) -> Earlier:
    """Columns of a table over some batches, those that are stored in this version's form.

    Args:
        home: whose tables are read.
        table: a table that is partitioned by batch.
        columns: names of columns; report text has no business here.
        batches: keys, in the order in which the rows are wanted.
        others: key of every other dimension of the table, such as `ranker="panel"`.
    """
    found, parts = [], []
    for batch in batches:
        path = _path(home, table, {**others, "report_batch": batch})
        if is_stored(TABLES[table], path):
            found.append(batch)
            parts.append(_read(path, columns).assign(report_batch=batch))
    empty = TABLES[table].frame()[list(columns)].assign(report_batch="")
    return Earlier(tuple(found), pd.concat(parts, ignore_index=True) if parts else empty)


def _path(home: Home, table: str, keys: dict[str, str]) -> UPath:
    return partition_path(home.tables, table, *(keys[dimension] for dimension in PARTITIONED_BY[table]))


def _read(path: UPath, columns: Sequence[str]) -> pd.DataFrame:
    with UPath(path).open("rb") as stream:
        frame: pd.DataFrame = pq.ParquetFile(stream).read(columns=list(columns)).to_pandas()
    return frame[list(columns)]
