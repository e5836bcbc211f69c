"""The I/O manager: every asset that is a table is stored as Parquet through `store`, validated before it is
written and again when it is read.

Dagster holds back downstream steps of a failed check in the same run only. An asset of other partitions, a
backfill or the automation would read a file that was changed, restored from elsewhere or written by something
else; so no asset computes with rows that the store would have refused. A check reads such a file by itself
(`checks.look`): it is there to say which rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import pandas as pd
from dagster_duckdb import DuckDBResource
from upath import UPath

from lunguage_assets.current.plan import not_there
from lunguage_assets.errors import MethodError
from lunguage_assets.home.record import Encoded
from lunguage_assets.home.store import (
    PARTITIONED_BY,
    create_catalog,
    partition_path,
    publish_table,
    read_sound_table,
)
from lunguage_assets.home.table_place import is_local, open_place
from lunguage_assets.orchestration.partitions import store_keys
from lunguage_assets.orchestration.withheld import plain_failures
from lunguage_assets.tables import TABLES


class ParquetTables(dg.IOManager):
    """Stores a frame under `<root>/<table>/<keys>.parquet`, as its record names table and keys.

    Why a table is not stored, or not read, is said in plain words, and such a step is not tried again.
    """

    def __init__(self, root: UPath, database: Path) -> None:
        self._root, self._database = root, database

    def handle_output(self, context: dg.OutputContext, obj: Encoded) -> None:
        path = partition_path(self._root, obj.record.table, *obj.record.keys)
        with plain_failures("nothing stored: "):
            publish_table(obj, path)
        if not self._database.exists():
            build_catalog(self._root, self._database)
        context.add_output_metadata(
            {"path": dg.MetadataValue.path(str(path)), "dagster/row_count": len(obj.frame)}
        )

    def load_input(self, context: dg.InputContext) -> pd.DataFrame | dict[str, pd.DataFrame]:
        """A stored partition, or several by their keys, for assets and notebooks of other people: own steps
        read for themselves.
        """
        table, partitions = context.asset_key.path[-1], list(context.asset_partition_keys)
        with plain_failures():
            frames = {
                key: stored_table(self._root, table, store_keys(key, PARTITIONED_BY[table]))
                for key in partitions
            }
        return frames[partitions[0]] if len(partitions) == 1 else frames


def stored_table(root: UPath | Path, table: str, keys: Sequence[str]) -> pd.DataFrame:
    """A stored partition that is what was stored.

    Raises:
        MethodError: it is not there; says what to launch.
        InvalidTable: as in `read_sound_table`.
    """
    try:
        return read_sound_table(TABLES[table], partition_path(root, table, *keys))
    except FileNotFoundError:
        raise MethodError(not_there(table, keys)) from None


class TableStore(dg.ConfigurableIOManagerFactory):
    """Configuration of the store.

    `root` is a local folder or any fsspec URL; `database` the DuckDB file with the views.
    """

    root: str
    database: str

    def create_io_manager(self, context: dg.InitResourceContext) -> ParquetTables:
        return ParquetTables(UPath(open_place(self.root)), Path(self.database))


def build_catalog(root: UPath | Path, database: Path) -> None:
    """Build the DuckDB file aside and rename it, so that whoever has it open keeps a working file.

    Views of tables on other storage can be queried by a client that can reach that storage (docs:
    deploy/README.md).
    """
    database.parent.mkdir(parents=True, exist_ok=True)
    aside = database.with_name(f".{database.name}.{uuid.uuid4().hex}.tmp")
    try:
        with DuckDBResource(database=str(aside)).get_connection() as connection:
            if not is_local(root):
                connection.register_filesystem(UPath(root).fs)
            create_catalog(connection, root)
        aside.replace(database)
    finally:
        aside.unlink(missing_ok=True)
