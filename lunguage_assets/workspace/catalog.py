"""The DuckDB catalog: one view per table over its Parquet files.

A view has the partition keys as columns (`Table.partitioned_by`), and reads whatever
partitions there are when it is queried. `docs/dagster.md` shows queries.
"""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import duckdb
from upath import UPath

from lunguage_assets.errors import LunguageError
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import EMPTY_FILE, encode, is_stored
from lunguage_assets.workspace.tables_location import is_local, publish


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
        with duckdb.connect(str(temporary)) as connection:
            if not is_local(home.tables):
                connection.register_filesystem(UPath(home.tables).fs)
            _create_views(connection, home.tables)
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


def _create_views(connection: duckdb.DuckDBPyConnection, root: UPath | Path) -> None:
    """Create the view of each table, with the table's description as its comment.

    Args:
        connection: to the database of a home.
        root: of its tables.
    """
    # One transaction, not one for each view: each would wait for the disk.
    connection.execute("BEGIN")
    for table in TABLES.values():
        folder = UPath(root) / table.name
        # An empty file gives the view its columns before any partition is stored.
        if not is_stored(table, folder / EMPTY_FILE):
            publish(encode(table, table.frame()).content, folder / EMPTY_FILE)
        connection.execute(_view_of(table, folder))
        description = _quoted(table.description)
        connection.execute(f"COMMENT ON VIEW {table.name} IS {description}")
    connection.execute("COMMIT")


def _view_of(table: Table, folder: UPath) -> str:
    """Write the statement that makes the view of a table."""
    # The keys of a partition are the last folders and the name of its file.
    steps = "string_split(filename, '/')"
    depth = len(table.partitioned_by)
    columns = [
        f"regexp_replace({steps}[{position - depth}], '\\.parquet$', '') AS {dimension}"
        for position, dimension in enumerate(table.partitioned_by)
    ]
    columns += [f'"{column.name}"' for column in table.columns]
    # Brackets and asterisks in the name of a folder are no patterns.
    escaped = re.sub(r"[*?\[]", r"[\g<0>]", str(folder))
    files = _quoted(f"{escaped}/**/*.parquet")
    return (
        f"CREATE OR REPLACE VIEW {table.name} AS SELECT {', '.join(columns)} "
        f"FROM read_parquet({files}, filename = true)"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
