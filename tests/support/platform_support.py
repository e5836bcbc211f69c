"""Shared by tests that start processes: their environment, and what a folder holds."""

from __future__ import annotations

import os
from pathlib import Path

from lunguage_assets.packaged_data import expectation


def environment(home: Path) -> dict[str, str]:
    ours = ("DAGSTER_HOME", "LUNGUAGE_JUDGES", "DAGSTER_REDACT_USER_CODE_ERRORS")
    kept = {key: value for key, value in os.environ.items() if key not in ours}
    return {**kept, "LUNGUAGE_HOME": str(home), "PYTHONHASHSEED": "random"}


def without_expectations(home: Path) -> Path:
    """A home whose suites are empty: Great Expectations costs each process six seconds
    of imports.
    """
    (home / "expectations").mkdir(parents=True)
    for suite in expectation().glob("*.yaml"):
        (home / "expectations" / suite.name).write_text("expectations: []\n")
    return home


def contents(folder: Path) -> dict[str, bytes]:
    """Bytes of every finished file below a folder, by relative path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
