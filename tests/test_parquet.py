"""Parquet read without Arrow's scanner: the same rows, and no thread that outlives the reading."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from lunguage_assets.parquet import read_rows

ROWS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), max_size=12)


def stored(rows: list[tuple[str, int]], group: int) -> BytesIO:
    table = pa.table(
        {"key": pa.array([row[0] for row in rows], pa.string()), "value": [row[1] for row in rows]},
        schema=pa.schema([("key", pa.string()), ("value", pa.int64())]),
    )
    stream = BytesIO()
    pq.write_table(table, stream, row_group_size=group)
    stream.seek(0)
    return stream


@given(ROWS, st.integers(1, 5), st.sets(st.sampled_from("abcde")))
def test_rows_of_a_key_are_found_in_whatever_groups_they_lie(
    rows: list[tuple[str, int]], group: int, keys: set[str]
) -> None:
    found = read_rows(stored(rows, group), "key", keys)
    assert [(row["key"], row["value"]) for row in found.to_pylist()] == [
        row for row in rows if row[0] in keys
    ]
    narrow = read_rows(stored(rows, group), "key", keys, ["value"])
    assert narrow.column_names == ["value"]
    assert narrow.column(0).to_pylist() == found.column("value").to_pylist()


def test_reading_starts_no_thread_of_arrow(tmp_path: Path) -> None:
    """A thread that is there when the interpreter ends may abort it: so there must be none."""
    path = tmp_path / "rows.parquet"
    path.write_bytes(stored([("a", 1)] * 9, 2).getvalue())
    code = (
        "import sys, psutil, numpy, pandas, pyarrow.compute\n"
        "from lunguage_assets.parquet import read_columns, read_rows\n"
        "before = psutil.Process().num_threads()\n"
        "with open(sys.argv[1], 'rb') as stream: read_rows(stream, 'key', {'a'}, ['value']).to_pylist()\n"
        "with open(sys.argv[1], 'rb') as stream: read_columns(stream)\n"
        "print(psutil.Process().num_threads() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
