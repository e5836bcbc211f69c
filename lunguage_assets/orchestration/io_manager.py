"""The I/O manager: every table is stored as Parquet through `workspace.store`.

Dagster's page is "I/O managers" (https://docs.dagster.io).
Tables are validated before they are written and again when they are read: Dagster holds
back the downstream steps of a failed check in the same run only. The layout of the
files and their records are not here, but in `workspace.store`.
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
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace import store
from lunguage_assets.workspace.catalog import create_catalog
from lunguage_assets.workspace.store import EncodedTable, partition_path
from lunguage_assets.workspace.tables_location import is_local, open_location, publish


@dataclass(frozen=True)
class TableStore(dg.IOManager):
    """Stores tables under `<root>/<table>/<keys>.parquet`.

    The tables of our assets say in their records where they belong; a plain frame,
    which an asset of somebody else returns, is stored under the name of its asset.

    It is a plain object: what Dagster calls config could be overridden by whoever
    launches a run, who would choose where tables are written.

    Args:
        root: a local folder or any fsspec URL.
        database: the DuckDB file with a view of each table.
    """

    root: str
    database: str

    def definition(self) -> dg.IOManagerDefinition:
        """Return it as Dagster knows it. It takes no config, and refuses any."""
        return dg.IOManagerDefinition(lambda _: self, config_schema={})

    @property
    def tables(self) -> UPath:
        """Where the tables lie."""
        return UPath(open_location(self.root))

    def handle_output(
        self, context: dg.OutputContext, obj: Sequence[EncodedTable] | pd.DataFrame
    ) -> None:
        """Store the tables of a step, or a plain frame."""
        with redact_errors("nothing stored: "):
            if isinstance(obj, pd.DataFrame):
                rows = len(obj)
                path = self._store_frame(context, obj)
            else:
                rows = len(obj[0].frame)
                path = self._store_tables(obj)
        # Views follow the files by themselves: once is enough.
        if not Path(self.database).exists():
            build_catalog(self.tables, Path(self.database))
        context.add_output_metadata(
            {"path": dg.MetadataValue.path(str(path)), "dagster/row_count": rows}
        )

    def _store_tables(self, encoded: Sequence[EncodedTable]) -> UPath:
        """Store a step's own table after its side tables: where it is, they are."""
        paths = [
            partition_path(self.tables, table.record.table, *table.record.keys)
            for table in encoded
        ]
        # Whoever finds the step's own table may rely on its side tables, also after a
        # kill between two files.
        for table, path in reversed(list(zip(encoded, paths, strict=True))):
            store.publish_table(table, path)
        return paths[0]

    def _store_frame(self, context: dg.OutputContext, frame: pd.DataFrame) -> UPath:
        key = context.asset_partition_key if context.has_asset_partitions else ""
        path = self._path_of_frame(context, key)
        publish(frame.to_parquet(), path)
        return path

    def _path_of_frame(
        self, context: dg.InputContext | dg.OutputContext, key: str
    ) -> UPath:
        """Return where a plain frame lies.

        Several dimensions are folders, in Dagster's order of them.
        """
        name = "/".join(context.asset_key.path)
        return partition_path(self.tables, name, *(key or "all").split("|"))

    def load_input(
        self, context: dg.InputContext
    ) -> pd.DataFrame | dict[str, pd.DataFrame]:
        """Read a stored partition, or several by their keys.

        It is for assets and notebooks of other people. Of several partitions those that
        are there are read.
        """
        keys = [""]
        if context.has_asset_partitions:
            keys = list(context.asset_partition_keys)
        with redact_errors():
            if len(keys) == 1:
                return self._read(context, keys[0])
            frames = {}
            for key in keys:
                # Most judges are no rankers that anybody asked for.
                with suppress(MethodError):
                    frames[key] = self._read(context, key)
            if not frames:
                # Raises the error that says what to launch.
                return {keys[0]: self._read(context, keys[0])}
        return frames

    def _read(self, context: dg.InputContext, key: str) -> pd.DataFrame:
        table = context.asset_key.path[-1]
        if table in TABLES:
            keys = store_keys(key, TABLES[table].partitioned_by)
            return stored_table(self.tables, table, keys)
        try:
            content = self._path_of_frame(context, key).read_bytes()
        except FileNotFoundError:
            raise MethodError(
                f"{table} ({key or 'all'}) is not there. Materialise it first."
            ) from None
        return pd.read_parquet(io.BytesIO(content))


def stored_table(root: UPath | Path, table: str, keys: Sequence[str]) -> pd.DataFrame:
    """Read a stored partition, and make sure that it is what was stored.

    Args:
        root: where tables lie.
        table: its name.
        keys: of the partition, in the order of the store.

    Raises:
        MethodError: it is not there; the message says what to launch.
        InvalidTable: as `workspace.store.read_table`.
    """
    try:
        return store.read_table(TABLES[table], partition_path(root, table, *keys))
    except FileNotFoundError:
        raise MethodError(not_there(table, keys)) from None


def build_catalog(root: UPath | Path, database: Path) -> None:
    """Build the DuckDB file with a view of each table.

    It is built aside and renamed, so that whoever has it open keeps a working file.
    Views of tables on other storage can be queried by a client that can reach that
    storage (deploy/README.md).
    """
    database.parent.mkdir(parents=True, exist_ok=True)
    temporary = database.with_name(f".{database.name}.{uuid.uuid4().hex}.tmp")
    try:
        with DuckDBResource(database=str(temporary)).get_connection() as connection:
            if not is_local(root):
                connection.register_filesystem(UPath(root).fs)
            create_catalog(connection, root)
        temporary.replace(database)
    finally:
        temporary.unlink(missing_ok=True)
