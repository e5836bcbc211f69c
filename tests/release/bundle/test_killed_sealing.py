"""A release that is killed before any of its changes of the disk: what there was stays whole and named, and
the same command again comes to the same bytes.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from killed_process import looked_at
from platform_support import contents
from small_release import Made

from lunguage_assets.release.bundle.bundle import write_bundle
from lunguage_assets.release.bundle.versions import SUMS, current_version, file_digest

OFTEN = 30
"""Of what is half-made, and no reader sees, every so manyth state is gone on from."""


def write(made: Made, folder: Path) -> None:
    """A release that keeps one version, so that the older one is retired by it."""
    origin = made.origin()
    one = origin.settings.release.model_copy(update={"keep": 1})
    kept = origin.settings.model_copy(update={"release": one})
    write_bundle(made.release(), folder, replace(origin, settings=kept), {}, made.examples)


def require_whole(folder: Path) -> str:
    """Every version in the folder has the files and bytes that were sealed; the name of the newest."""
    for version in folder.glob("v*"):
        listed = [line.split("  ", 1) for line in (version / SUMS).read_text().splitlines()]
        assert len(listed) > 10
        assert all(file_digest(version / path) == digest for digest, path in listed)
    newest = current_version(folder)
    assert newest is not None
    assert newest.is_dir()
    return newest.name


def visible_files(folder: Path) -> frozenset[tuple[str, int, int]]:
    """What a reader may look at: by path, time and size."""
    files = ((path.relative_to(folder), path.stat()) for path in folder.rglob("*") if path.is_file())
    return frozenset((str(path), of.st_mtime_ns, of.st_size) for path, of in files if path.parts[0][0] != ".")


@pytest.mark.lengthy
@pytest.mark.usefixtures("unreported")
def test_a_killed_release_is_invisible_and_the_next_one_has_the_same_bytes(
    begun: Path, invented: Made, tmp_path: Path
) -> None:
    folder, whole, left = (tmp_path / name for name in ("folder", "whole", "left"))
    for copy in (folder, whole):
        shutil.copytree(begun, copy)
    write(invented, whole)
    expected, seen = contents(whole), set()

    def look(step: int) -> None:
        """What a process that is killed here leaves is whole; what a reader has not seen before is kept."""
        visible = visible_files(folder)
        if visible not in seen or step % OFTEN == 0:
            seen.add(visible)
            shutil.copytree(folder, left / f"{step}-{require_whole(folder)}")

    looked_at(look, lambda: write(invented, folder))
    assert contents(folder) == expected
    states = {int(state.name.partition("-")[0]): state for state in left.iterdir()}
    assert any((state / ".v1.tmp").exists() for state in states.values()), "the older one half retired"
    assert {state.name.partition("-")[2] for state in states.values()} == {"v1", "v2"}
    assert max(states) > 170, "this test looks at too few places"
    for step, state in states.items():
        write(invented, state)
        assert contents(state) == expected, f"left before change {step}"
