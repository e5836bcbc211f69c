"""The store: validated before it is written, replaced as a whole, readable by any
DuckDB client at any time.
"""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from stored_tables import store_table

from lunguage_assets.errors import InvalidTable
from lunguage_assets.orchestration.io_manager import build_catalog
from lunguage_assets.tables import REFERENCE_RANKING, TABLES, TERMS
from lunguage_assets.workspace.store import (
    partition_path,
    read_table,
    remove_abandoned_files,
)


def terms(*spellings: str) -> pd.DataFrame:
    return TERMS.frame(
        [
            {"category": "PF", "subcategory": "", "target_term": s, "normed_term": s}
            for s in spellings
        ]
    )


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda t: t.name)
def test_an_empty_table_is_a_table_and_keeps_its_types(tmp_path: Path, table) -> None:
    store_table(table, table.frame(), tmp_path / "t.parquet")
    back = read_table(table, tmp_path / "t.parquet")
    assert len(back) == 0
    assert (
        back.dtypes.astype(str).to_dict() == table.frame().dtypes.astype(str).to_dict()
    )
    assert pq.read_schema(tmp_path / "t.parquet").equals(table.arrow)


def test_a_partition_of_another_schema_is_not_read(tmp_path: Path) -> None:
    store_table(TERMS, terms("opacity"), tmp_path / "t.parquet")
    with pytest.raises(InvalidTable, match="Materialise it again"):
        read_table(REFERENCE_RANKING, tmp_path / "t.parquet")


def test_what_a_killed_writer_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    old = tmp_path / "terms" / ".a.parquet.1.tmp"
    fresh = tmp_path / "terms" / ".a.parquet.2.tmp"
    store_table(TERMS, terms("opacity"), tmp_path / "terms" / "a.parquet")
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    remove_abandoned_files(tmp_path)
    assert sorted(path.name for path in (tmp_path / "terms").iterdir()) == [
        fresh.name,
        "a.parquet",
    ]


def test_every_table_is_a_view_before_anything_is_stored(
    tmp_path: Path,
) -> None:
    build_catalog(tmp_path / "tables", tmp_path / "l.duckdb")
    with duckdb.connect(str(tmp_path / "l.duckdb"), read_only=True) as connection:
        for name, table in TABLES.items():
            columns = [
                row[0] for row in connection.execute(f"DESCRIBE {name}").fetchall()
            ]
            assert columns == [*table.partitioned_by, *table.names]
            assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (0,)


def test_a_damaged_file_is_refused_with_its_remedy(tmp_path: Path) -> None:
    path = partition_path(tmp_path, TERMS.name, "first")
    store_table(TERMS, terms("effusion"), path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InvalidTable, match="Delete it and materialise it again"):
        read_table(TERMS, path)
