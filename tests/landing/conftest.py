"""A landing folder on a disk and one on another kind of file system; what holds for one holds for the
other.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from landing_drops import Landing
from upath import UPath

from lunguage_assets.home.home import Home


@pytest.fixture(autouse=True)
def waits_for_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests kill processes and cut no power."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture(params=["disk", "memory"])
def landing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Landing]:
    url = str(tmp_path / "landing") if request.param == "disk" else f"memory://{uuid.uuid4().hex}/landing"
    UPath(url).mkdir(parents=True)
    yield Landing(url, Home(tmp_path / "home"))
    if request.param == "memory":
        UPath(url).fs.rm(UPath(url).parent.path, recursive=True)


@pytest.fixture
def on_disk(tmp_path: Path) -> Landing:
    (tmp_path / "landing").mkdir()
    return Landing(str(tmp_path / "landing"), Home(tmp_path / "home"))
