"""Reads the rows of a release: of every study its newest delivery.

The stored batches are queried as one corpus by DuckDB, which sorts beyond its memory on
disk, and writes what it reads. What Python needs, it gets for at most `STUDIES_AT_ONCE`
studies at a time: memory does not grow with the corpus.

Which batches belong to a release is decided in `orchestration/assets/release.py`; what
is written of the rows is in `restricted_files.py`, what is counted in `context.py` and
`paper_tables.py`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray
from upath import UPath

from lunguage_assets.packaged_data import resource
from lunguage_assets.tables import TABLES
from lunguage_assets.tables.schema import Table
from lunguage_assets.workspace.store import require_stored
from lunguage_assets.workspace.tables_location import is_local

TABLES_PER_BATCH = {
    name: table
    for name, table in TABLES.items()
    if table.released and "report_batch" in table.partitioned_by
}
"""What the release needs of every batch."""

STUDIES_AT_ONCE = 2_000
STUDIES_JOINED_AT_ONCE = 5_000
"""Studies whose rows are joined to the text of their report and sorted at once: DuckDB
holds them in half of a gigabyte. Of 20,000 it does not always let go in time.
"""

# A study that came again has the rows of its last batch. A delivered row without a
# readable study cannot be of a newer delivery: it is kept from every batch.
_CREATE_NEWEST = """
CREATE OR REPLACE TABLE newest AS
WITH deliveries AS ({deliveries}),
chosen AS (
    SELECT study_id, max(batch_number) AS batch_number
    FROM deliveries WHERE study_id <> '' GROUP BY study_id
    UNION ALL
    SELECT study_id, batch_number FROM deliveries WHERE study_id = ''
)
SELECT study_id, batch_number FROM chosen
"""

_CREATE_PARTS = """
CREATE OR REPLACE TABLE parts AS
SELECT *, (row_number() OVER (ORDER BY study_id, batch_number) - 1) // {studies} AS part
FROM newest
"""


_RANGES_OF_PATIENTS = """
WITH patients AS (
    SELECT subject_id, sum(count(*)) OVER (ORDER BY subject_id) AS studies_so_far
    FROM reports GROUP BY subject_id
)
SELECT min(subject_id), max(subject_id) FROM patients
GROUP BY (studies_so_far - 1) // {studies} ORDER BY 1
"""


class NewestStudies:
    """The newest delivery of every study over stored batches, to be queried by SQL.

    Queries find a view for each of `TABLES_PER_BATCH`, and the table `newest`: the
    studies, with the number of the batch that delivered each last.

    Attributes:
        batches: keys of the batches, oldest first.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        batches: Mapping[str, Mapping[str, UPath | Path]],
    ) -> None:
        """Choose the deliveries.

        Args:
            connection: to a database of its own.
            batches: paths of `TABLES_PER_BATCH` by batch, oldest first.

        Raises:
            InvalidTable: a partition of another schema.
        """
        self.batches = tuple(batches)
        self._connection = connection
        for name, table in TABLES_PER_BATCH.items():
            files = [
                _path_for_sql(connection, table, paths[name])
                for paths in batches.values()
            ]
            rows = _no_rows(connection, table)
            if files:
                rows = _rows_of_files(files, self.batches)
            connection.execute(f"CREATE OR REPLACE VIEW every_{name} AS SELECT {rows}")
        deliveries = " UNION ".join(
            f"SELECT study_id, batch_number FROM every_{name}"
            for name in TABLES_PER_BATCH
        )
        connection.execute(_CREATE_NEWEST.format(deliveries=deliveries))
        for name in TABLES_PER_BATCH:
            rows = f"every_{name} SEMI JOIN newest USING (study_id, batch_number)"
            if name == "reports":
                # Of a study that is set aside no row is in the result: its report
                # does not count.
                rows += " ANTI JOIN every_set_aside USING (study_id, batch_number)"
            connection.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {rows}")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Fetch the rows of a query: counts, never the corpus."""
        return self._connection.execute(sql).fetchall()

    def records(self, sql: str) -> list[dict[str, Any]]:
        """Fetch the rows of a query, each by column."""
        result = self._connection.execute(sql)
        columns = [str(column[0]) for column in result.description]
        return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]

    def frame(self, sql: str) -> pd.DataFrame:
        """Fetch the rows of a query as a frame of numbers."""
        return self._connection.execute(sql).df()

    def columns(self, sql: str) -> dict[str, NDArray[Any]]:
        """Fetch numbers as an array by column: eight bytes each, where Python's forty.

        A corpus has millions of them.
        """
        fetched = self._connection.execute(sql).fetchnumpy()
        return {name: np.asarray(values) for name, values in fetched.items()}

    @property
    def count(self) -> int:
        """Count the studies."""
        ((studies,),) = self.query("SELECT count(*) FROM newest")
        return int(studies)

    def copy(self, sql: str, path: Path) -> None:
        """Write the rows of a query into a CSV or Parquet file.

        Args:
            sql: sorted, so that the same rows are the same bytes.
            path: of the file; its ending says which of them it is.
        """
        options = "FORMAT csv, HEADER"
        if path.suffix == ".parquet":
            options = "FORMAT parquet, COMPRESSION zstd"
        self._connection.execute(f"COPY ({sql}) TO {quoted(str(path))} ({options})")
        with path.open("rb") as stream:
            os.fsync(stream.fileno())

    def copy_by_patients(self, sql: str, path: Path) -> None:
        """Write the rows of a query into a CSV file, some patients at a time.

        Args:
            sql: with `{patients}` for a condition on `subject_id`, sorted by patient.
            path: of the file.
        """
        ranges = _RANGES_OF_PATIENTS.format(studies=STUDIES_JOINED_AT_ONCE)
        part = path.with_name(f"{path.name}.part")
        with path.open("wb") as stream:
            # Of no patient the header is written all the same.
            for first, last in self.query(ranges) or [("", "")]:
                patients = f"subject_id BETWEEN {quoted(first)} AND {quoted(last)}"
                header = stream.tell() == 0
                self._connection.execute(
                    f"COPY ({sql.format(patients=patients)}) TO {quoted(str(part))} "
                    f"(FORMAT csv, HEADER {header})"
                )
                with part.open("rb") as rows:
                    shutil.copyfileobj(rows, stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.unlink()

    def parts(
        self, columns_by_table: Mapping[str, Sequence[str]], folder: Path
    ) -> Iterator[Mapping[str, pd.DataFrame]]:
        """Read tables some studies at a time; at least once, and perhaps no row.

        Args:
            columns_by_table: what is read. Studies are sorted; rows of one are in the
                order of its file.
            folder: for files of their rows, until the last part was read.
        """
        self._connection.execute(_CREATE_PARTS.format(studies=STUDIES_AT_ONCE))
        number_of_parts = max(1, -(-self.count // STUDIES_AT_ONCE))
        # Sorted one table after the other, before anything is made of the parts: a sort
        # takes all the memory that DuckDB may have. Of a sorted file a query opens only
        # the row groups of its part.
        with TemporaryDirectory(prefix=".sorted-", dir=folder) as sorted_rows:
            files = {}
            for name, columns in columns_by_table.items():
                files[name] = Path(sorted_rows) / f"{name}.parquet"
                self.copy(
                    f"SELECT {', '.join(columns)}, part FROM {name} "
                    "JOIN parts USING (study_id, batch_number) "
                    "ORDER BY part, batch_number, row",
                    files[name],
                )
            for part in range(number_of_parts):
                yield {
                    name: self._rows_of_part(part, name, file)
                    for name, file in files.items()
                }

    def _rows_of_part(self, part: int, name: str, file: Path) -> pd.DataFrame:
        rows = self._connection.sql(
            f"SELECT * EXCLUDE (part) FROM {quoted(str(file))} WHERE part = {part}"
        )
        return TABLES_PER_BATCH[name].from_arrow(rows.to_arrow_table())


def _path_for_sql(
    connection: DuckDBPyConnection, table: Table, path: UPath | Path
) -> str:
    """Name a partition as DuckDB opens it, after its schema was checked."""
    require_stored(table, path)
    if is_local(path):
        return str(path)
    # DuckDB reads a remote file through the file system that the home reads it by,
    # with the same credentials.
    remote = UPath(path)
    if remote.protocol not in connection.list_filesystems():
        connection.register_filesystem(remote.fs)
    return str(remote)


def quoted(text: str) -> str:
    """Write a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


@cache
def named_queries(file: str) -> dict[str, str]:
    """Read the queries of a file of `resources/` by name."""
    text = resource(file).read_text("utf-8")
    names_and_queries = re.split(r"^-- name: (\w+)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(names_and_queries[::2], names_and_queries[1::2], strict=True))


def _rows_of_files(files: Sequence[str], batches: Sequence[str]) -> str:
    """Select all rows of some files, with their batch and their place in its file."""
    keys = ", ".join(map(quoted, batches))
    return (
        f"*, ([{keys}])[file_index::BIGINT + 1] AS report_batch, "
        "file_index::BIGINT AS batch_number, file_row_number AS row "
        f"FROM read_parquet([{', '.join(map(quoted, files))}])"
    )


def _no_rows(connection: DuckDBPyConnection, table: Table) -> str:
    """Select the columns of a table where no batch is stored: there is no file."""
    connection.register(f"no_{table.name}", table.arrow.empty_table())
    return (
        "*, '' AS report_batch, 0::BIGINT AS batch_number, 0::BIGINT AS row "
        f"FROM no_{table.name}"
    )
