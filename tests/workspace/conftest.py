"""The finished home, copied."""

from __future__ import annotations

import pytest
from finished_homes import finished, small  # noqa: F401

from lunguage_assets.tables import TABLES


@pytest.fixture
def few_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables have views, instead of all, which takes a third of a second."""
    tables = {name: TABLES[name] for name in ("terms", "lunguage_plus_plus")}
    monkeypatch.setattr("lunguage_assets.workspace.catalog.TABLES", tables)
