"""Parquet read without Arrow's scanner: no thread outlives the reading."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

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
