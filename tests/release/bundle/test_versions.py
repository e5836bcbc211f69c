"""Versions beside each other: whole or not there, one for a content; killed, doubled, damaged, kept."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from killed_process import killed_at, looked_at
from platform_support import contents

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.files import replace_text
from lunguage_assets.release.bundle.versions import LATEST, SUMS, current_version, writing

FIRST = {"open/a.csv": "a\n1\n", "restricted/b.csv": "b\n2\n", "restricted/only_first.csv": "x\n"}
SECOND = {"open/a.csv": "a\n1\n", "restricted/b.csv": "b\n3\n"}


def publish(folder: Path, files: dict[str, str], keep: int = 0) -> str:
    """As a release does it: build, seal, make current, retire."""
    with writing(folder) as versions, versions.staging() as staging:
        for path, text in files.items():
            replace_text(staging / path, text)
        version = versions.seal(staging)
        versions.make_current(version)
        versions.retire(keep)
    return version.name


def sums_hold(folder: Path) -> bool:
    listed = dict(reversed(line.split("  ", 1)) for line in (folder / SUMS).read_text().splitlines())
    found = {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path != folder / SUMS
    }
    return set(listed) == found and all(
        hashlib.sha256((folder / path).read_bytes()).hexdigest() == digest for path, digest in listed.items()
    )


def modified(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
    }


def test_a_version_is_whole_and_named_by_latest(tmp_path: Path) -> None:
    name = publish(tmp_path, FIRST)
    assert name == "v1"
    assert current_version(tmp_path) == tmp_path / "v1"
    assert sums_hold(tmp_path / name)
    assert sums_hold(tmp_path / name / "open")
    assert sums_hold(tmp_path / name / "restricted")
    assert not any(path.stat().st_mode & 0o222 for path in (tmp_path / name).rglob("*") if path.is_file())
    assert {path.name for path in tmp_path.iterdir()} == {".lock", LATEST, name}


def test_the_same_content_again_touches_nothing(tmp_path: Path) -> None:
    name = publish(tmp_path, FIRST)
    before = modified(tmp_path)
    assert publish(tmp_path, dict(reversed(FIRST.items()))) == name
    after = modified(tmp_path)
    assert {path: when for path, when in after.items() if path != "."} == before


def test_the_number_counts_contents_and_an_earlier_content_is_its_version_again(tmp_path: Path) -> None:
    assert (publish(tmp_path, FIRST), publish(tmp_path, SECOND)) == ("v1", "v2")
    assert publish(tmp_path, FIRST) == "v1"
    assert current_version(tmp_path) == tmp_path / "v1"
    assert publish(tmp_path, SECOND | {"open/a.csv": "new\n"}) == "v3"


@pytest.mark.parametrize("lost", ["restricted/b.csv", "open/a.csv", f"open/{SUMS}"])
def test_a_sealed_version_that_lost_a_file_is_refused_by_its_name(lost: str, tmp_path: Path) -> None:
    name = publish(tmp_path, FIRST)
    (tmp_path / name / lost).unlink()
    with pytest.raises(
        ConfigurationError, match=rf"{name}/{lost}: found no file; expected that of version {name}"
    ):
        publish(tmp_path, FIRST)


def test_a_sealed_version_that_somebody_edited_is_refused_by_its_name(tmp_path: Path) -> None:
    name = publish(tmp_path, FIRST)
    edited = tmp_path / name / "restricted/b.csv"
    edited.chmod(0o644)
    edited.write_text("one row more\n")
    with pytest.raises(ConfigurationError, match=r"restricted/b\.csv: found another file"):
        publish(tmp_path, FIRST)


def test_retention_keeps_the_last_and_the_current_version_and_numbers_go_on(tmp_path: Path) -> None:
    for number in range(4):
        publish(tmp_path, FIRST | {"open/a.csv": f"{number}\n"})
    publish(tmp_path, FIRST | {"open/a.csv": "0\n"}, keep=2)
    assert {path.name for path in tmp_path.glob("v*")} == {"v1", "v3", "v4"}
    assert publish(tmp_path, SECOND, keep=1) == "v5"
    assert [path.name for path in tmp_path.glob("v*")] == ["v5"]


def test_killed_before_any_step_no_version_is_half_and_the_next_run_ends_the_same(tmp_path: Path) -> None:
    folder, undisturbed, left = (tmp_path / name for name in ("folder", "undisturbed", "left"))
    for begun in (folder, undisturbed):
        first = publish(begun, FIRST)
    publish(undisturbed, SECOND, keep=1)
    looked_at(lambda step: shutil.copytree(folder, left / f"{step}"), lambda: publish(folder, SECOND, keep=1))
    states = sorted(left.iterdir())
    for state in states:
        versions = list(state.glob("v*"))
        assert versions
        assert all(sums_hold(path) for path in versions)
        assert current_version(state) in versions
        publish(state, SECOND, keep=1)
        assert contents(state) == contents(undisturbed)
    assert len(states) > 15
    assert first not in {path.name for path in folder.glob("v*")}


@pytest.mark.parametrize("step", [8, 12])
def test_what_is_seen_before_a_change_is_what_a_process_killed_there_leaves(
    step: int, tmp_path: Path
) -> None:
    """So that one run may stand for as many killed ones."""
    seen, killed, kept = (tmp_path / name for name in ("seen", "killed", "kept"))
    for folder in (seen, killed):
        publish(folder, FIRST)
    looked_at(
        lambda number: shutil.copytree(seen, kept) if number == step else None,
        lambda: publish(seen, SECOND, keep=1),
    )
    assert killed_at(step, lambda: publish(killed, SECOND, keep=1))
    assert any(path.startswith(".version.tmp") for path in contents(killed)), "it was half-made"
    assert sorted(contents(killed).values()) == sorted(contents(kept).values())


def test_two_writers_take_turns_and_every_content_has_a_number_of_its_own(tmp_path: Path) -> None:
    def write(who: str) -> int:
        child = os.fork()
        if child:
            return child
        try:
            names = [
                publish(tmp_path / "release", FIRST | {"open/a.csv": f"{who} {number}"})
                for number in range(6)
            ]
            (tmp_path / who).write_text(" ".join(names))
            os._exit(0)
        finally:
            os._exit(1)

    writers = [write("one"), write("two")]
    assert [os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) for writer in writers] == [0, 0]
    names = [name for who in ("one", "two") for name in (tmp_path / who).read_text().split()]
    assert sorted(int(name[1:]) for name in names) == list(range(1, 13))
    found = list((tmp_path / "release").glob("v*"))
    assert {path.name for path in found} == set(names)
    assert all(sums_hold(path) for path in found)
