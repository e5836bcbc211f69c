"""`expand` killed before any of its changes of the disk: of each of its tables a reader
sees the old one or the new one, whole, and the same step again stores the same bytes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from invented_reports import StatedFinding, dictionary, run, stated
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
OLD = [stated("nodule")]
NEW = [
    stated("CHF", "tp", p=0.6, view="pa"),
    stated("pneumonia", "tp", p=0.4),
    stated("nodule"),
]
TABLES = (PATHWAY_MATCHES, EXPANSIONS)


def expanded(rows: list[StatedFinding]) -> Frames:
    expansion = expand(run(rows).deduplicated, dictionary())
    return expansion.matches, expansion.expansions


def store(root: Path, frames: Frames) -> None:
    for table, frame in zip(TABLES, frames, strict=True):
        store_table(table, frame, partition_path(root, table.name, "panel", "b"))


def seen(root: Path) -> tuple[int, ...]:
    """Rows of both tables, as the next step and as a person with DuckDB read them."""
    database = duckdb.connect()
    create_catalog(database, root)
    row_counts = []
    for table in TABLES:
        assert stored_partitions(root, table.name) == [("panel", "b")]
        rows = len(read_table(table, partition_path(root, table.name, "panel", "b")))
        assert database.execute(f"SELECT count(*) FROM {table.name}").fetchone() == (
            rows,
        )
        row_counts.append(rows)
    return tuple(row_counts)


def test_expand_killed_anywhere_ends_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "lunguage_assets.workspace.catalog.TABLES",
        {table.name: table for table in TABLES},
    )
    before, undisturbed, root = (
        tmp_path / name for name in ("before", "whole", "root")
    )
    new_tables = expanded(NEW)
    store(before, expanded(OLD))
    counts_before = seen(before)
    shutil.copytree(before, undisturbed)
    store(undisturbed, new_tables)
    counts_after = seen(undisturbed)
    counts_seen = set()
    killed = True
    step = 0
    while killed:
        shutil.copytree(before, root)
        killed = killed_at(step, lambda: store(root, new_tables))
        counts_seen.add(seen(root))
        if killed:
            assert not killed_at(-1, lambda: store(root, new_tables))
        stored_files = {
            path: content
            for path, content in contents(root).items()
            if not path.endswith(".tmp")
        }
        assert stored_files == contents(undisturbed), f"killed before change {step}"
        shutil.rmtree(root)
        step += 1
    assert counts_seen == {
        counts_before,
        (counts_after[0], counts_before[1]),
        counts_after,
    }
    assert step >= 7, "this test kills at too few places"
