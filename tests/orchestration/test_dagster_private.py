"""What the package needs of Dagster's private modules is in one file, which says why at each import."""

from __future__ import annotations

import re
from pathlib import Path

from lunguage_assets.orchestration import dagster_private

FILE = Path(dagster_private.__file__)
PRIVATE = re.compile(r"^\s*(?:from|import) dagster\._", re.MULTILINE)


def test_no_other_module_imports_what_is_private() -> None:
    package = FILE.parents[1]
    found = {file for file in package.rglob("*.py") if PRIVATE.search(file.read_text(encoding="utf-8"))}
    assert found == {FILE}
