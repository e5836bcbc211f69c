"""Shared by the platform tests: the environment of a process, and what a folder holds."""

from __future__ import annotations

import os
from pathlib import Path


def environment(home: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("DAGSTER_HOME", "LUNGUAGE_JUDGES")}
    return {**kept, "LUNGUAGE_HOME": str(home), "PYTHONHASHSEED": "random"}


def contents(folder: Path) -> dict[str, bytes]:
    """Bytes of every finished file below a folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
