"""The store: validated before it is written, replaced as a whole, readable by any
DuckDB client at any time, also on other storage, whose place is one home's. Its rows
are read without a thread that outlives the reading.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stored_tables import store_table
from upath import UPath

from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.errors import ConfigurationError, InvalidTable
from lunguage_assets.tables import REFERENCE_RANKING, TABLES, TERMS
from lunguage_assets.workspace import catalog
from lunguage_assets.workspace.catalog import build_catalog
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import (
    is_stored,
    partition_path,
    read_table,
    remove_abandoned_files,
)
from lunguage_assets.workspace.tables_location import TABLES_VARIABLE

SYNTHETIC = Corpus("sample", "synthetic")


def terms(*spellings: str) -> pd.DataFrame:
    empty = {column.name: "" for column in TERMS.columns}
    return TERMS.frame([empty | {TERMS.key[0]: word} for word in spellings])


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
    folder = tmp_path / "tables" / "terms"
    old = folder / ".a.parquet.1.tmp"
    fresh = folder / ".a.parquet.2.tmp"
    spilled = tmp_path / ".spill-1.tmp"
    store_table(TERMS, terms("opacity"), folder / "a.parquet")
    for path in (old, fresh):
        path.write_bytes(b"half")
    spilled.mkdir()
    (spilled / "rows").write_bytes(b"half")
    for path in (old, spilled):
        os.utime(path, (0, 0))
    remove_abandoned_files(Home(tmp_path))
    assert {path.name for path in folder.iterdir()} == {fresh.name, "a.parquet"}
    assert not spilled.exists()


def test_every_table_is_a_view_before_anything_is_stored(tmp_path: Path) -> None:
    build_catalog(Home(tmp_path))
    with duckdb.connect(
        str(tmp_path / "lunguage.duckdb"), read_only=True
    ) as connection:
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


@pytest.fixture
def bucket() -> Iterator[str]:
    """A place on a storage that is no file system of this machine."""
    url = f"memory://{uuid.uuid4().hex}/tables"
    yield url
    if UPath(url).exists():
        UPath(url).fs.rm(UPath(url).path, recursive=True)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_a_home_keeps_the_place_that_it_was_made_with(
    home: Home, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TABLES_VARIABLE, bucket + "/")
    home.claim(SYNTHETIC)
    monkeypatch.delenv(TABLES_VARIABLE)
    assert str(home.tables) == bucket
    store_table(TERMS, terms("opacity"), partition_path(home.tables, "terms", "first"))
    assert is_stored(TERMS, partition_path(UPath(bucket), "terms", "first"))
    assert not (home.root / "tables").exists()


@pytest.mark.parametrize("is_kept", [True, False])
def test_another_place_in_the_environment_is_refused_not_followed(
    home: Home, bucket: str, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    if is_kept:
        monkeypatch.setenv(TABLES_VARIABLE, bucket)
    home.claim(SYNTHETIC)
    monkeypatch.setenv(TABLES_VARIABLE, bucket + "-other")
    with pytest.raises(ConfigurationError, match="Unset it, or make a new home"):
        _ = home.tables
    with pytest.raises(ConfigurationError):
        home.claim(SYNTHETIC)


def test_two_homes_never_share_a_place(
    home: Home, bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(TABLES_VARIABLE, bucket)
    home.claim(SYNTHETIC)
    other_home = Home(tmp_path / "other")
    with pytest.raises(ConfigurationError, match="another home"):
        other_home.claim(SYNTHETIC)
    assert other_home.corpus() is None
    assert not (other_home.root / "tables_at.json").exists()
    home.claim(SYNTHETIC)


def test_a_place_that_nothing_can_open_is_refused_with_the_remedy(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TABLES_VARIABLE, "nowhere://tables")
    with pytest.raises(ConfigurationError, match="lunguage-assets\\[scale\\]"):
        home.claim(SYNTHETIC)


def test_views_over_other_storage_show_tables_that_come_later(
    home: Home, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TABLES_VARIABLE, bucket)
    monkeypatch.setattr(catalog, "TABLES", {"terms": TERMS})  # all views take longer
    home.claim(SYNTHETIC)
    build_catalog(home)
    with duckdb.connect(str(home.database), read_only=True) as connection:
        connection.register_filesystem(UPath(bucket).fs)
        assert connection.execute("SELECT count(*) FROM terms").fetchone() == (0,)
        path = partition_path(home.tables, "terms", "late.batch")
        store_table(TERMS, terms("opacity"), path)
        assert connection.execute(
            "SELECT DISTINCT report_batch FROM terms"
        ).fetchall() == [("late.batch",)]


CODE = """
import sys, psutil, numpy, pandas, pyarrow.compute
from lunguage_assets.workspace.parquet_rows import read_study, read_whole
before = psutil.Process().num_threads()
found = [read_study(sys.argv[1], study).to_pydict()['value'] for study in 'az']
print(found, read_whole(sys.argv[1]).num_rows, psutil.Process().num_threads() - before)
"""


def test_rows_of_a_key_are_read_without_a_thread_of_arrow(tmp_path: Path) -> None:
    """A thread that is there when the interpreter ends may abort it: so there must be
    none.
    """
    rows = pa.table({"study_id": ["a", "b", "a"], "value": [1, 2, 3]})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=2)
    command = [sys.executable, "-c", CODE, str(tmp_path / "rows.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[1, 3], []] 3 0"
