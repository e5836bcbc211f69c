"""A new batch beside the batches registered before it, as one view over their Parquet files.

DuckDB reads single columns of the files, so that memory does not grow with the corpus. A batch that comes to
lie between earlier ones later changes nothing for the batches registered before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from duckdb import DuckDBPyConnection
from upath import UPath

from lunguage_assets.home.home import Home
from lunguage_assets.home.store import PARTITIONED_BY, is_stored, partition_path
from lunguage_assets.tables import TABLES


def batches_before(home: Home, batch: str, limit: int) -> list[str]:
    """Keys of the batches registered before this one, oldest first, the latest `limit` of them; none for a
    batch that is not registered.
    """
    registered = home.registered()
    number = next((known.number for known in registered if known.key == batch), -1)
    before = [known.key for known in registered if known.number < number]
    return before[max(0, len(before) - limit) :]


def view_with_earlier(
    connection: DuckDBPyConnection,
    home: Home,
    table: str,
    batch: str,
    before: Sequence[str],
    *,
    same: str = "",
    **others: str,
) -> list[str]:
    """Make a view `<table>` of a batch and of earlier ones, with the columns `report_batch` and `is_new`.

    An earlier row of a study that comes again later is left out: nothing is compared with itself.

    Args:
        connection: that can read the home's tables.
        home: whose tables are read.
        table: a table with the columns `study_id` and, in its partitions, `report_batch`; `batch` is stored.
        batch: the new batch.
        before: keys of earlier batches, oldest first.
        same: a column; earlier rows whose value the new batch does not have are left out.
        others: key of every other dimension of the table, such as `ranker="panel"`.

    Returns:
        The earlier batches that are stored in this version's form; others are passed over.
    """

    def path(key: str) -> UPath:
        keys = {**others, "report_batch": key}
        return partition_path(home.tables, table, *(keys[name] for name in PARTITIONED_BY[table]))

    found = [key for key in before if is_stored(TABLES[table], path(key))]
    order = [*found, batch]
    files = connection.read_parquet([str(path(key)) for key in order], filename=True)
    files.create_view(f"{table}_files")
    rows = f"(SELECT *, parse_filename(filename, true) AS report_batch FROM {table}_files)"
    alike = f"WHERE {same} IN (SELECT {same} FROM {rows} WHERE report_batch = '{batch}')" if same else ""
    connection.execute(
        f"""
        CREATE VIEW {table} AS
        SELECT *, report_batch = '{batch}' AS is_new FROM {rows} {alike}
        QUALIFY list_position({order}, report_batch)
                = max(list_position({order}, report_batch)) OVER (PARTITION BY study_id)
        """
    )
    return found
