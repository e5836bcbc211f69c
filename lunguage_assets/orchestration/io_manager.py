"""Tables as Parquet, one file a partition, through Dagster's `UPathIOManager`.

Dagster's page is "I/O managers" (https://docs.dagster.io). A table is validated where a
step returns it (`outputs.py`). What an asset of somebody else returns is stored as it
is.
"""

from __future__ import annotations

import uuid
from typing import Any, TypeAlias, get_origin

import dagster as dg
import duckdb
import pandas as pd
from dagster_duckdb import DuckDBResource
from upath import UPath

from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.partitions import keys_of
from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.catalog import create_views
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import (
    EncodedTable,
    publish_table,
    read_table,
)
from lunguage_assets.workspace.tables_location import is_local

ByPartition: TypeAlias = dict[str, pd.DataFrame]
"""Type of a parameter that gets frames by partition, also where there is one."""


class ParquetStore(dg.UPathIOManager):
    """Stores tables under `<root>/<table>/<keys>.parquet`, each replaced as a whole.

    It is no configurable resource: whoever launches a run could choose where tables are
    written.

    Args:
        home: whose tables lie in a local folder or at any fsspec URL.
    """

    extension = ".parquet"

    def __init__(self, home: Home) -> None:
        super().__init__(base_path=UPath(home.tables))
        self._home = home

    def definition(self) -> dg.IOManagerDefinition:
        """Return it as Dagster knows it. It takes no config, and refuses any."""
        return dg.IOManagerDefinition(lambda _: self, config_schema={})

    def get_path_for_partition(
        self, context: dg.InputContext | dg.OutputContext, path: UPath, partition: str
    ) -> UPath:
        """Name the file of a partition; a table's keys are in its own order.

        Args:
            context: names the table.
            path: its folder.
            partition: keys, as Dagster joins them.
        """
        table = context.asset_key.path[-1]
        if table not in TABLES:
            return path / partition
        # Dagster has joined the keys by "/", with dimensions in alphabetical order.
        keys = keys_of(table, partition.replace("/", "|"))
        return path.joinpath(*keys)

    def dump_to_path(
        self, context: dg.OutputContext, obj: EncodedTable | pd.DataFrame, path: UPath
    ) -> None:
        """Write the rows of a table."""
        with redact_errors():
            if isinstance(obj, pd.DataFrame):
                obj = EncodedTable(path.name, len(obj), obj.to_parquet())
            publish_table(obj, path)
        # Views follow the files by themselves: once is enough.
        if not self._home.database.exists():
            build_catalog(self._home)

    def load_from_path(self, context: dg.InputContext, path: UPath) -> pd.DataFrame:
        """Read a stored partition."""
        table = context.asset_key.path[-1]
        if table in TABLES:
            return read_table(TABLES[table], path)
        with path.open("rb") as stream:
            return pd.read_parquet(stream)

    def load_input(self, context: dg.InputContext) -> Any:
        """Read what an asset's parameter names: a partition, or several by their keys.

        Of one alone, Dagster's own store hands the frame: here too, except where the
        type of the parameter is a dict.

        Raises:
            dg.Failure: it is not there; the message says what to do.
        """
        with redact_errors():
            loaded: Any = super().load_input(context)
        is_by_partition = get_origin(context.dagster_type.typing_type) is dict
        if not is_by_partition or isinstance(loaded, dict):
            return loaded
        (partition,) = context.asset_partition_keys
        return {} if loaded is None else {partition: loaded}


def build_catalog(home: Home) -> None:
    """Build the DuckDB file with a view of each table.

    It is built aside and renamed, so that whoever has it open keeps a working file.
    Views of tables on other storage can be queried by a client that can reach that
    storage (deploy/README.md).

    Raises:
        LunguageError: it cannot be written.
    """
    home.create()
    temporary = home.root / f".lunguage.duckdb.{uuid.uuid4().hex}.tmp"
    try:
        with DuckDBResource(database=str(temporary)).get_connection() as connection:
            if not is_local(home.tables):
                connection.register_filesystem(UPath(home.tables).fs)
            create_views(connection, home.tables)
        temporary.replace(home.database)
    except duckdb.Error as error:
        # Its message quotes no report: it has read no row.
        first_line = str(error).splitlines()[0]
        raise LunguageError(
            f"{home.database} cannot be written ({first_line}). Free space there, and "
            "do the same again."
        ) from None
    finally:
        temporary.unlink(missing_ok=True)
