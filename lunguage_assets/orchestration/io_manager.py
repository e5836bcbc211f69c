"""The I/O manager: every asset that is a table is stored as Parquet through `store`, validated before it is
written and again when it is read: Dagster holds back downstream steps of a failed check in the same run only.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pandas as pd
from dagster_duckdb import DuckDBResource
from upath import UPath

from lunguage_assets.errors import MethodError
from lunguage_assets.lineage.recipes import not_there
from lunguage_assets.orchestration.partitions import store_keys
from lunguage_assets.orchestration.redaction import plain_failures
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace import store
from lunguage_assets.workspace.store import (
    EncodedTable,
    is_local,
    open_place,
    partition_path,
    publish,
)


@dataclass(frozen=True)
class TableStore(dg.IOManager):
    """Stores tables under `<root>/<table>/<keys>.parquet`, as their records name table and keys; a plain
    frame, which an asset of somebody else returns, under the name of its asset.

    `root` is a local folder or any fsspec URL; `database` the DuckDB file with the views. A plain object:
    config could be overridden by whoever launches a run, who would choose where tables are written.
    """

    root: str
    database: str

    def definition(self) -> dg.IOManagerDefinition:
        """The I/O manager as Dagster knows it. It takes no config, and refuses any."""
        return dg.IOManagerDefinition(lambda _: self, config_schema={})

    @property
    def place(self) -> UPath:
        return UPath(open_place(self.root))

    def handle_output(
        self, context: dg.OutputContext, obj: Sequence[EncodedTable] | pd.DataFrame
    ) -> None:
        """Store the tables of a step, its own last, or a plain frame."""
        with plain_failures("nothing stored: "):
            if isinstance(obj, pd.DataFrame):
                rows = len(obj)
                key = (
                    context.asset_partition_key if context.has_asset_partitions else ""
                )
                publish(obj.to_parquet(), path := self._plain_path(context, key))
            else:
                rows = len(obj[0].frame)
                for table in reversed(
                    obj
                ):  # where an asset's own table is, its side tables are
                    path = partition_path(
                        self.place, table.record.table, *table.record.keys
                    )
                    store.publish_table(table, path)
        if not Path(self.database).exists():
            build_catalog(self.place, Path(self.database))
        context.add_output_metadata(
            {"path": dg.MetadataValue.path(str(path)), "dagster/row_count": rows}
        )

    def _plain_path(
        self, context: dg.InputContext | dg.OutputContext, key: str
    ) -> UPath:
        """Several dimensions are folders, in Dagster's order of them."""
        return partition_path(
            self.place, "/".join(context.asset_key.path), *(key or "all").split("|")
        )

    def load_input(
        self, context: dg.InputContext
    ) -> pd.DataFrame | dict[str, pd.DataFrame]:
        """A stored partition, or several by their keys, for assets and notebooks of other people. Of several
        those that are there: most judges are no rankers that anybody asked for.
        """
        keys = (
            list(context.asset_partition_keys) if context.has_asset_partitions else [""]
        )
        with plain_failures():
            if len(keys) == 1:
                return self._read(context, keys[0])
            frames = {}
            for key in keys:
                with suppress(MethodError):
                    frames[key] = self._read(context, key)
            if not frames:
                return {
                    keys[0]: self._read(context, keys[0])
                }  # which says what to launch
        return frames

    def _read(self, context: dg.InputContext, key: str) -> pd.DataFrame:
        table = context.asset_key.path[-1]
        if table in TABLES:
            return stored_table(
                self.place, table, store_keys(key, TABLES[table].partitioned_by)
            )
        try:
            return pd.read_parquet(
                io.BytesIO(self._plain_path(context, key).read_bytes())
            )
        except FileNotFoundError:
            raise MethodError(
                f"{table} ({key or 'all'}) is not there. Materialise it first."
            ) from None


def stored_table(root: UPath | Path, table: str, keys: Sequence[str]) -> pd.DataFrame:
    """A stored partition that is what was stored. Raises `MethodError` when it is not there, with what to
    launch, and `InvalidTable` as `read_table`.
    """
    try:
        return store.read_table(TABLES[table], partition_path(root, table, *keys))
    except FileNotFoundError:
        raise MethodError(not_there(table, keys)) from None


def build_catalog(root: UPath | Path, database: Path) -> None:
    """Build the DuckDB file aside and rename it, so that whoever has it open keeps a working file. Views of
    tables on other storage can be queried by a client that can reach that storage (deploy/README.md).
    """
    database.parent.mkdir(parents=True, exist_ok=True)
    aside = database.with_name(f".{database.name}.{uuid.uuid4().hex}.tmp")
    try:
        with DuckDBResource(database=str(aside)).get_connection() as connection:
            if not is_local(root):
                connection.register_filesystem(UPath(root).fs)
            store.create_catalog(connection, root)
        aside.replace(database)
    finally:
        aside.unlink(missing_ok=True)
