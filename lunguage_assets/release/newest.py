"""The rows of a release: the newest delivery of every study over the stored batches, in parts, by SQL.

A part holds every table of at most `STUDIES_AT_ONCE` studies, so that memory does not grow with the corpus.
The files are read once for an order of the studies: DuckDB sorts their rows by part, beyond its memory on
disk, and the parts are cut from that stream. Asked part by part, every file would be read for every part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray
from upath import UPath

from lunguage_assets.errors import InvalidTable
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.store import is_stored
from lunguage_assets.workspace.tables_location import is_local

TABLES_PER_BATCH = {
    name: table
    for name, table in TABLES.items()
    if table.released and "report_batch" in table.partitioned_by
}
"""What the release needs of every batch."""

STUDIES_AT_ONCE = 2_000
ROWS_AT_ONCE = 20_000
"""Rows of a table that are taken from its stream at once."""

Order = Literal["batch", "study", "patient"]
Tables = Mapping[str, pd.DataFrame]

_ORDERS: Mapping[Order, str] = {
    "batch": "batch_number, study_id",
    "study": "study_id, batch_number",
    "patient": "subject_id, sequence, study_id, batch_number",
}


class Part(NamedTuple):
    """Tables of some studies as they are stored, with numbers of `batches`, and their files by batch."""

    tables: Mapping[str, pa.Table]
    batches: Sequence[str]
    files: Mapping[str, Sequence[str]]

    def frames(self) -> Tables:
        """The tables with the column `report_batch`. Raises `InvalidTable` for rows that break a value rule,
        with file and keys, never a value.
        """
        return {
            name: self._sound(TABLES_PER_BATCH[name], rows)
            for name, rows in self.tables.items()
        }

    def _sound(self, table: Table, rows: pa.Table) -> pd.DataFrame:
        batch = np.array(self.batches, dtype=object)[rows.column("batch").to_numpy()]
        frame = table.from_arrow(rows).assign(
            report_batch=pd.Series(batch, dtype="str")
        )
        if table.violations(frame, ["report_batch"]):
            file_of = dict(zip(self.batches, self.files[table.name], strict=True))
            for one, of in frame.groupby("report_batch", sort=False):
                table.require(of, f"file {file_of[str(one)]}")
        return frame


class NewestStudies:
    """The newest delivery of every study over stored batches: a view per table of `TABLES_PER_BATCH`.

    A delivered row without a readable study is of no newer delivery: it is kept from every batch. `reports`
    has only those that are not set aside.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        batches: Mapping[str, Mapping[str, UPath | Path]],
    ) -> None:
        """Choose the deliveries; `batches` are the paths of `TABLES_PER_BATCH` by batch, oldest first. Raises
        `InvalidTable` for a partition of another schema.
        """
        self.batches = tuple(batches)
        self._connection = connection
        self._files: dict[str, list[str]] = {}
        for name, table in TABLES_PER_BATCH.items():
            files = [
                _for_sql(connection, table, paths[name]) for paths in batches.values()
            ]
            quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
            rows = f"*, file_index::BIGINT AS batch_number, file_row_number AS row FROM read_parquet([{quoted}])"
            if not files:
                connection.register("no_rows", table.arrow.empty_table())
                connection.execute(
                    f"CREATE OR REPLACE TABLE no_{name} AS SELECT * FROM no_rows"
                )
                connection.unregister("no_rows")
                rows = f"*, 0::BIGINT AS batch_number, 0::BIGINT AS row FROM no_{name}"
            # Not TEMP: cursors, of which each table's stream needs one, do not see what is temporary.
            connection.execute(f"CREATE OR REPLACE VIEW every_{name} AS SELECT {rows}")
            self._files[name] = files
        connection.execute(_NEWEST)
        for name in TABLES_PER_BATCH:
            aside = (
                " ANTI JOIN every_set_aside USING (study_id, batch_number)"
                if name == "reports"
                else ""
            )
            connection.execute(
                f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM every_{name} "
                f"SEMI JOIN newest USING (study_id, batch_number){aside}"
            )

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query of the tables; counts, never the corpus."""
        return self._connection.execute(sql).fetchall()

    def records(self, sql: str) -> list[dict[str, Any]]:
        """`query`, as rows by column."""
        result = self._connection.execute(sql)
        columns = [str(column[0]) for column in result.description]
        return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]

    def frame(self, sql: str) -> pd.DataFrame:
        """`query`, as a frame of numbers."""
        return self._connection.execute(sql).df()

    def columns(self, sql: str) -> dict[str, NDArray[Any]]:
        """`query` for numbers, as an array by column: eight bytes a value, where Python's take forty."""
        fetched = self._connection.execute(sql).fetchnumpy()
        return {name: np.asarray(values) for name, values in fetched.items()}

    @property
    def count(self) -> int:
        """How many there are."""
        ((studies,),) = self.query("SELECT count(*) FROM newest")
        return int(studies)

    def parts(self, order: Order, names: Sequence[str]) -> Iterator[Part]:
        """Tables of some studies after those of others, in an order of the studies; at least one part. Rows
        of a part are in the order of batches and files.
        """
        self._connection.execute(
            f"CREATE OR REPLACE TABLE in_{order} AS "
            "WITH numbered AS ("
            f"SELECT *, row_number() OVER (ORDER BY {_ORDERS[order]}) - 1 AS n FROM newest) "
            # A study that a damaged table lists twice is in one part: its rows must not be doubled too.
            f"SELECT study_id, batch_number, min(n) // {STUDIES_AT_ONCE} AS part FROM numbered "
            "GROUP BY study_id, batch_number"
        )
        with ExitStack() as stack:
            streams = {
                name: stack.enter_context(self._stream(name, order)) for name in names
            }
            for part in range(max(1, -(-self.count // STUDIES_AT_ONCE))):
                tables = {
                    name: stream.rows_of(part) for name, stream in streams.items()
                }
                yield Part(
                    tables, self.batches, {name: self._files[name] for name in names}
                )
        self._connection.execute(f"DROP TABLE in_{order}")

    @contextmanager
    def _stream(self, name: str, order: Order) -> Iterator[_PartStream]:
        """The rows of a table by part, and within a part in the order of batches and files."""
        table = TABLES_PER_BATCH[name]
        columns = ", ".join(f'"{column}"' for column in table.names)
        with self._connection.cursor() as cursor:
            rows = cursor.sql(
                f"SELECT {columns}, batch_number AS batch, part FROM {name} "
                f"JOIN in_{order} USING (study_id, batch_number) ORDER BY part, batch_number, row"
            )
            yield _PartStream(rows.to_arrow_reader(ROWS_AT_ONCE))


class _PartStream:
    """Rows with an ascending column `part`, handed out part by part."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader
        self._read_ahead = reader.schema.empty_table()

    def rows_of(self, part: int) -> pa.Table:
        """The rows of the next part, without the column `part`; perhaps none."""
        pieces = [self._read_ahead]
        while not pieces[-1].num_rows or pieces[-1].column("part")[-1].as_py() <= part:
            try:
                pieces.append(pa.Table.from_batches([self._reader.read_next_batch()]))
            except StopIteration:
                break
        rows = pa.concat_tables(pieces)
        end = int(np.searchsorted(rows.column("part").to_numpy(), part, side="right"))
        self._read_ahead = rows.slice(end)
        return rows.slice(0, end).drop_columns(["part"]).combine_chunks()


_DELIVERIES = " UNION ".join(
    f"SELECT study_id, batch_number FROM every_{name}" for name in TABLES_PER_BATCH
)
_NEWEST = f"""
CREATE OR REPLACE TABLE newest AS
WITH deliveries AS ({_DELIVERIES}),
chosen AS (
    SELECT study_id, max(batch_number) AS batch_number FROM deliveries WHERE study_id <> '' GROUP BY study_id
    UNION ALL SELECT study_id, batch_number FROM deliveries WHERE study_id = ''
)
SELECT study_id, batch_number, coalesce(subject_id, '') AS subject_id, coalesce(sequence, 0) AS sequence
FROM chosen LEFT JOIN every_reports USING (study_id, batch_number)
"""


def _for_sql(connection: DuckDBPyConnection, table: Table, path: UPath | Path) -> str:
    """A partition as DuckDB opens it, its schema asserted; a remote one through the home's file system."""
    if not is_stored(table, path):
        raise InvalidTable(
            f"table {table.name}, file {path}: written under another schema. Materialise it again."
        )
    if is_local(path):
        return str(path)
    remote = UPath(path)
    if remote.protocol not in connection.list_filesystems():
        connection.register_filesystem(remote.fs)
    return str(remote)
