"""Tables on other storage: whose a place is, their way there and back, and reading them
from everywhere.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from stored_tables import store_table
from upath import UPath

from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.orchestration.io_manager import build_catalog
from lunguage_assets.tables import TERMS
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import is_stored, partition_path
from lunguage_assets.workspace.tables_location import TABLES_VARIABLE

SYNTHETIC = Corpus("sample", "synthetic")


def terms(*surfaces: str) -> pd.DataFrame:
    rows = [
        {column.name: "" for column in TERMS.columns} | {TERMS.key[0]: surface}
        for surface in surfaces
    ]
    return TERMS.frame(rows)


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


def fill(home: Home, *batches: str) -> None:
    for batch in batches:
        store_table(
            TERMS, terms("opacity", batch), partition_path(home.tables, "terms", batch)
        )


def test_a_home_keeps_the_place_that_it_was_made_with(
    home: Home, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TABLES_VARIABLE, bucket + "/")
    home.claim(SYNTHETIC)
    monkeypatch.delenv(TABLES_VARIABLE)
    assert str(home.tables) == bucket
    fill(home, "first")
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


@pytest.mark.usefixtures("few_views")
def test_views_over_other_storage_show_tables_that_come_later(
    home: Home, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TABLES_VARIABLE, bucket)
    home.claim(SYNTHETIC)
    build_catalog(home.tables, home.database)
    with duckdb.connect(str(home.database), read_only=True) as connection:
        connection.register_filesystem(UPath(bucket).fs)
        assert connection.execute("SELECT count(*) FROM terms").fetchone() == (0,)
        fill(home, "late.batch")
        assert connection.execute(
            "SELECT DISTINCT report_batch FROM terms"
        ).fetchall() == [("late.batch",)]
