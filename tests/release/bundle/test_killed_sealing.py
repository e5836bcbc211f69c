"""A release that is killed before any of its changes of the disk: what there was stays whole and named, and
the same command again comes to the same bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from killed_process import killed_at
from platform_support import contents
from small_release import Made

from lunguage_assets.release.bundle import bundle
from lunguage_assets.release.bundle.bundle import write_bundle
from lunguage_assets.release.bundle.versions import LATEST, SUMS, current_version, file_digest

EVERY = 3
"""All changes were tried once, in minutes (docs/security.md); of later ones every third is enough."""


@pytest.fixture(autouse=True)
def undrawn() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "report_sections", lambda _: [])
        yield


def write(made: Made, folder: Path, *keys: str) -> None:
    """A release that keeps one version, so that the older one is retired by it."""
    origin = made.origin()
    one = origin.settings.release.model_copy(update={"keep": 1})
    kept = origin.settings.model_copy(update={"release": one})
    write_bundle(made.release(*keys), folder, replace(origin, settings=kept), {}, made.examples)


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


@pytest.mark.lengthy
def test_a_killed_release_is_invisible_and_the_next_one_has_the_same_bytes(
    invented: Made, tmp_path: Path
) -> None:
    before, whole, folder = (tmp_path / name for name in ("before", "whole", "folder"))
    write(invented, before, "first")
    shutil.copytree(before, whole)
    assert not killed_at(-1, lambda: write(invented, whole))
    expected = contents(whole)
    seen, left, step, killed = set(), set(), 0, True
    while killed:
        shutil.copytree(before, folder)
        killed = killed_at(step, lambda: write(invented, folder))
        seen.add(require_whole(folder))
        # each state that a reader can see is gone on from, and every tenth of what is half-made beside it
        visible = frozenset(path for path in contents(folder) if not path.startswith(".version.tmp"))
        if killed and (visible not in left or step % (10 * EVERY) == 0):
            left.add(visible)
            killed_again = killed_at(-1, lambda: write(invented, folder))
            assert not killed_again
            assert contents(folder) == expected, f"killed before change {step}"
        shutil.rmtree(folder)
        step += EVERY
    assert seen == {"v1", "v2"}
    assert len(left) >= 4, "sealed and not named; named; the older one half retired"
    assert step > 60, "this test kills at too few places"
    assert (whole / LATEST).read_text() == "v2\n"
