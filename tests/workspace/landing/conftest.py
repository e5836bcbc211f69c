"""A landing folder and a home that takes from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from landing_drops import Landing

from lunguage_assets.workspace.home import Home


@pytest.fixture(autouse=True)
def waits_for_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests kill processes and cut no power."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    (tmp_path / "landing").mkdir()
    return Landing(tmp_path / "landing", Home(tmp_path / "home"))
