"""Versions beside each other: whole or not there, one for a content; killed, doubled,
damaged, kept.
"""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import pytest
from killed_process import killed_at
from platform_support import contents

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text
from lunguage_assets.workspace.versions import (
    LATEST,
    SUMS,
    current_version,
    file_digest,
)
from lunguage_assets.workspace.versions import publish as published

FIRST = {
    "open/a.csv": "a\n1\n",
    "restricted/b.csv": "b\n2\n",
    "restricted/only_first.csv": "x\n",
}
SECOND = {"open/a.csv": "a\n1\n", "restricted/b.csv": "b\n3\n"}


def publish(folder: Path, files: dict[str, str], keep: int = 0) -> str:
    """The name of the version with these files."""

    def build(version: Path) -> dict[str, str]:
        for path, text in files.items():
            replace_text(version / path, text)
        return {}

    return published(folder, build, keep).version


def sums_hold(folder: Path) -> bool:
    listed = dict(
        reversed(line.split("  ", 1))
        for line in (folder / SUMS).read_text().splitlines()
    )
    files = [
        path for path in folder.rglob("*") if path.is_file() and path != folder / SUMS
    ]
    return listed == {
        str(path.relative_to(folder)): file_digest(path) for path in files
    }


def modified(folder: Path) -> dict[str, tuple[int, int]]:
    files = ((path, path.stat()) for path in folder.rglob("*"))
    return {
        str(path.relative_to(folder)): (of.st_ino, of.st_mtime_ns) for path, of in files
    }


def test_the_same_content_again_leaves_the_latest_version_untouched(
    tmp_path: Path,
) -> None:
    assert publish(tmp_path, FIRST) == "v1"
    assert current_version(tmp_path) == tmp_path / "v1"
    assert all(
        sums_hold(tmp_path / folder_name)
        for folder_name in ("v1", "v1/open", "v1/restricted")
    )
    assert not any(
        path.stat().st_mode & 0o222
        for path in (tmp_path / "v1").rglob("*")
        if path.is_file()
    )
    assert {path.name for path in tmp_path.iterdir()} == {".lock", LATEST, "v1"}
    before = modified(tmp_path)
    assert publish(tmp_path, dict(reversed(FIRST.items()))) == "v1"
    assert modified(tmp_path) == before


@pytest.mark.parametrize("latest", ["v9", "../..", "v1/open", ""])
def test_a_release_without_the_version_that_it_names_is_missing(
    latest: str, tmp_path: Path
) -> None:
    publish(tmp_path, FIRST)
    (tmp_path / LATEST).write_text(latest)
    assert current_version(tmp_path) is None


@pytest.mark.parametrize("damaged", ["restricted/b.csv", f"open/{SUMS}"])
@pytest.mark.parametrize("message", ["no file", "another file"])
def test_an_edited_or_incomplete_version_is_refused_by_its_name(
    damaged: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / publish(tmp_path, FIRST) / damaged
    file.unlink()
    if message == "another file":
        file.write_text("one row more\n")
    with pytest.raises(
        ConfigurationError,
        match=rf"v1/{damaged}: found {message}; expected that of version v1",
    ):
        publish(tmp_path, FIRST)


def test_retention_keeps_the_last_and_the_current_version_and_numbers_go_on(
    tmp_path: Path,
) -> None:
    for number in range(4):
        publish(tmp_path, FIRST | {"open/a.csv": f"{number}\n"})
    publish(tmp_path, FIRST | {"open/a.csv": "0\n"}, keep=2)
    assert {path.name for path in tmp_path.glob("v*")} == {"v1", "v3", "v4"}
    assert publish(tmp_path, SECOND, keep=1) == "v5"
    assert [path.name for path in tmp_path.glob("v*")] == ["v5"]


def test_killed_anywhere_no_version_is_half_written(tmp_path: Path) -> None:
    undisturbed = tmp_path / "undisturbed"
    for files in (FIRST, SECOND):
        publish(undisturbed, files, keep=1)
    for step in itertools.count(0, 3):
        folder = tmp_path / f"{step}"
        publish(folder, FIRST)
        was_killed = killed_at(step, partial(publish, folder, SECOND, keep=1))
        versions = list(folder.glob("v*"))
        assert current_version(folder) in versions
        assert all(sums_hold(version) for version in versions)
        publish(folder, SECOND, keep=1)
        assert contents(folder) == contents(undisturbed)
        if not was_killed:
            break
    assert step > 15
