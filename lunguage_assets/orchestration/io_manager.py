"""The I/O manager: every asset that is a table is stored as Parquet through `store`, validated before it is
written and again when it is read.

Dagster holds back downstream steps of a failed check in the same run only. An asset of other partitions, a
backfill or the automation would read a file that was changed, restored from elsewhere or written by something
else; so no asset computes with rows that the store would have refused. A check reads such a file by itself
(`checks.look`): it is there to say which rows.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
from dagster_duckdb import DuckDBResource
from upath import UPath

from lunguage_assets.current.plan import not_there
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


class ParquetTables(dg.UPathIOManager):
    """Stores a frame under `<root>/<table>/<keys>.parquet`; the table's schema comes from the asset's name.

    Why a table is not stored, or not read, is said in plain words, and such a step is not tried again.
    """

    extension = ".parquet"

    def __init__(self, root: UPath, database: Path | None) -> None:
        super().__init__(base_path=root)
        self._root, self._database = root, database

    def dump_to_path(self, context: dg.OutputContext, obj: Encoded, path: UPath) -> None:
        with plain_failures("nothing stored: "):
            publish_table(obj, path)
        if self._database is not None and not self._database.exists():
            build_catalog(self._root, self._database)

    def load_from_path(self, context: dg.InputContext, path: UPath) -> pd.DataFrame:
        table = TABLES[context.asset_key.path[-1]]
        try:
            with plain_failures(passing=(FileNotFoundError,)):
                return read_sound_table(table, path)
        except FileNotFoundError:
            if (context.definition_metadata or {}).get("allow_missing_partitions"):
                raise  # the input is read without this partition
            *folders, file = path.relative_to(self._root / table.name).parts
            keys = (*folders, file.removesuffix(self.extension))
            raise dg.Failure(description=not_there(table.name, keys), allow_retries=False) from None

    def get_path_for_partition(
        self, context: dg.InputContext | dg.OutputContext, path: UPath, partition: str
    ) -> UPath:
        keys = store_keys("|".join(partition.split("/")), PARTITIONED_BY[path.name])
        return partition_path(self._root, path.name, *keys).with_suffix("")

    def get_metadata(self, context: dg.OutputContext, obj: Encoded) -> dict[str, Any]:
        return {"dagster/row_count": len(obj.frame)}


class TableStore(dg.ConfigurableIOManagerFactory):
    """Configuration of the store.

    `root` is a local folder or any fsspec URL; `database` the DuckDB file with the views (empty: none is
    kept).
    """

    root: str
    database: str = ""

    def create_io_manager(self, context: Any) -> ParquetTables:
        return ParquetTables(UPath(open_place(self.root)), Path(self.database) if self.database else None)


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
