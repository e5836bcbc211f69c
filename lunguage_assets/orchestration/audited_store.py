"""Reading asserts what writing asserts: no asset computes with rows that the store would have refused, whoever put them there.

Dagster holds back downstream steps of a failed check in the same run only. An asset of other partitions, a backfill or the automation would read
a file that was changed, restored from elsewhere or written by something else. A check reads such a file all the same: it is there to say which rows.
"""

from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
from upath import UPath

from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.io_manager import ParquetTables, TableStore
from lunguage_assets.schema import Table
from lunguage_assets.store import read_table
from lunguage_assets.table_place import open_place
from lunguage_assets.tables import TABLES


def read_sound(table: Table, path: UPath | Path) -> pd.DataFrame:
    """A stored partition, its columns, types and value rules asserted.

    Raises:
        FileNotFoundError: the partition has not been materialised.
        InvalidTable: another schema, or rows that break a rule; names the file and keys, never a value.
    """
    frame = read_table(table, path)
    table.require(frame, f"file {path}")
    return frame


class AuditedTables(ParquetTables):
    """The I/O manager, asserting again what it reads for an asset, and saying in plain words why a table is not stored or not read."""

    def dump_to_path(self, context: dg.OutputContext, obj: pd.DataFrame, path: UPath) -> None:
        try:
            super().dump_to_path(context, obj, path)
        except LunguageError as error:
            raise dg.Failure(description=f"nothing stored: {error}", allow_retries=False) from None

    def load_from_path(self, context: dg.InputContext, path: UPath) -> pd.DataFrame:
        if _is_for_a_check(context):
            return super().load_from_path(context, path)
        try:
            return read_sound(TABLES[context.asset_key.path[-1]], path)
        except LunguageError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from None


class AuditedStore(TableStore):
    """Configuration of the store, as `TableStore`."""

    def create_io_manager(self, context: Any) -> AuditedTables:
        return AuditedTables(UPath(open_place(self.root)), Path(self.database) if self.database else None)


def _is_for_a_check(context: dg.InputContext) -> bool:
    """Whether the step that reads makes no asset, only check results."""
    step = context.step_context
    reader = step.job_def.asset_layer.get_assets_def_for_node(step.node_handle)
    return reader is not None and not reader.keys and bool(reader.check_keys)
