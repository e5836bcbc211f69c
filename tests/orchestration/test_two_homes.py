"""Two homes that one process works on keep apart: settings, tables, staleness."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from finished_homes import Finished
from platform_support import contents
from small_homes import SmallHome

from lunguage_assets.tables import DEDUPLICATED_FINDINGS
from lunguage_assets.workspace.store import partition_path, stored_record

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
        SmallHome.opened(tmp_path / "first") as first,
        SmallHome.opened(tmp_path / "second") as second,
    ):
        yield first, second


def version(home: SmallHome) -> str:
    path = partition_path(home.home.tables, DEDUPLICATED_FINDINGS.name, *KEYS)
    record = stored_record(DEDUPLICATED_FINDINGS, path)
    assert record is not None
    return record.version


def test_each_home_is_made_by_its_own_settings(
    homes: tuple[SmallHome, SmallHome],
) -> None:
    first, second = homes
    before = version(first)
    for home in (first, second, first):
        home.make(["deduplicated_findings"], BATCH)
    assert version(first) == before
    assert version(second) != before


def test_a_step_of_one_home_leaves_the_other_as_it_is(
    homes: tuple[SmallHome, SmallHome],
) -> None:
    first, second = homes
    before = contents(first.home.root)
    second.make(["deduplicated_findings"], BATCH)
    assert contents(first.home.root) == before


def test_only_the_home_with_other_settings_is_stale(
    homes: tuple[SmallHome, SmallHome],
) -> None:
    first, second = homes
    assert first.staleness().is_current("deduplicated_findings", *KEYS)
    assert not second.staleness().is_current("deduplicated_findings", *KEYS)
