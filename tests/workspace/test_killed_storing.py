"""`expand` killed before any of its changes of the disk: of each of its tables a reader sees the old one or
the new one, whole, and the same step again stores the same bytes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from invented_reports import Said, dictionary, run, said
from killed_process import killed_at
from platform_support import contents
from stored_tables import store_table

from lunguage_assets.implicit.expansion.expand import expand
from lunguage_assets.tables import EXPANSIONS, PATHWAY_MATCHES
from lunguage_assets.workspace.catalog import create_catalog
from lunguage_assets.workspace.store import (
    partition_path,
    read_table,
    stored_partitions,
)

Frames = tuple[pd.DataFrame, ...]
OLD = [said("nodule")]
NEW = [
    said("CHF", "tp", p=0.6, view="pa"),
    said("pneumonia", "tp", p=0.4),
    said("nodule"),
]
TABLES = (PATHWAY_MATCHES, EXPANSIONS)


def expanded(rows: list[Said]) -> Frames:
    found = expand(run(rows).deduplicated, dictionary())
    return found.matches, found.expansions


def store(root: Path, frames: Frames) -> None:
    for table, frame in zip(TABLES, frames, strict=True):
        store_table(
            table, frame, partition_path(root, table.name, "panel", "b"), ("panel", "b")
        )


def seen(root: Path) -> tuple[int, ...]:
    """Rows of both tables, as the next step and as a person with DuckDB read them."""
    database = duckdb.connect()
    create_catalog(database, root)
    found = []
    for table in TABLES:
        assert stored_partitions(root, table.name) == [("panel", "b")]
        rows = len(read_table(table, partition_path(root, table.name, "panel", "b")))
        assert database.execute(f"SELECT count(*) FROM {table.name}").fetchone() == (
            rows,
        )
        found.append(rows)
    return tuple(found)


def test_expand_killed_anywhere_ends_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "lunguage_assets.workspace.catalog.TABLES",
        {table.name: table for table in TABLES},
    )
    before, whole, root = (tmp_path / name for name in ("before", "whole", "root"))
    made = expanded(NEW)
    store(before, expanded(OLD))
    old = seen(before)
    shutil.copytree(before, whole)
    store(whole, made)
    new = seen(whole)
    places = set()
    killed = True
    step = 0
    while killed:
        shutil.copytree(before, root)
        killed = killed_at(step, lambda: store(root, made))
        places.add(seen(root))
        if killed:
            assert not killed_at(-1, lambda: store(root, made))
        left = {
            path: content
            for path, content in contents(root).items()
            if not path.endswith(".tmp")
        }
        assert left == contents(whole), f"killed before change {step}"
        shutil.rmtree(root)
        step += 1
    assert places == {old, (new[0], old[1]), new}
    assert step >= 7, "this test kills at too few places"
