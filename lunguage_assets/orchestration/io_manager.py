"""Tables as Parquet, one file a partition, through Dagster's `UPathIOManager`.

Dagster's page is "I/O managers" (https://docs.dagster.io). A table is validated where a
step returns it (`outputs.py`). What an asset of somebody else returns is stored as it
is.
"""

from __future__ import annotations

from typing import Any

import dagster as dg
import pandas as pd
from upath import UPath

from lunguage_assets.orchestration.redaction import redact_errors
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.catalog import build_catalog
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import (
    EncodedTable,
    publish_table,
    read_table,
)


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

    @redact_errors()
    def load_input(self, context: dg.InputContext) -> Any:
        """Read what an asset's parameter names: a partition, or several by their keys.

        Raises:
            dg.Failure: it is not there; the message says what to do.
        """
        return super().load_input(context)
