"""Two homes that one process works on keep apart: settings, tables, what is current."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from finished_homes import Finished
from platform_support import contents
from small_homes import SmallHome

TABLE = "deduplicated_findings"
BATCH = {"ranker": "panel", "report_batch": "second"}
KEYS = ("panel", "second")


@pytest.fixture
def homes(finished: Finished, tmp_path: Path) -> Iterator[tuple[SmallHome, SmallHome]]:
    """Two copies of a finished home, of which the second merges more."""
    for name in ("first", "second"):
        shutil.copytree(finished.home, tmp_path / name)
    settings = tmp_path / "second" / "settings.toml"
    settings.write_text(settings.read_text() + "[implicit]\nmerge_threshold = 0.5\n")
    with (
        SmallHome.opened(tmp_path / "first", finished.events) as first,
        SmallHome.opened(tmp_path / "second", finished.events) as second,
    ):
        yield first, second


def stored(home: SmallHome) -> dict[str, bytes]:
    return contents(home.home.root / "tables")


def test_each_home_is_made_by_its_own_settings_and_leaves_the_other(
    homes: tuple[SmallHome, SmallHome],
) -> None:
    first, second = homes
    before = stored(first)
    for home in (first, second, first):
        home.make([TABLE], BATCH)
    assert stored(first) == before
    assert stored(second) != before


def test_only_the_home_with_other_settings_is_stale(
    homes: tuple[SmallHome, SmallHome],
) -> None:
    first, second = homes
    assert first.current().is_current(TABLE, *KEYS)
    assert not second.current().is_current(TABLE, *KEYS)
