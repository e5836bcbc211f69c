"""Whoever delivers may lay anything into the folder: only regular files inside it are opened, what is odd is
put aside, and nothing stops the rest.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from landing_drops import DECLARED, Landing, csv

from lunguage_assets.landing import folder, passes
from lunguage_assets.landing.folder import LandingUnreachable, Seen, list_entries
from lunguage_assets.landing.passes import SharedFileWrong


@pytest.fixture(autouse=True)
def blocks_never() -> Iterator[None]:
    """Whoever opens a FIFO waits for ever: an alarm ends the test."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("blocked"))
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def bound_socket(path: Path) -> None:
    with contextlib.chdir(path.parent):  # its address has room for a hundred characters
        socket.socket(socket.AF_UNIX).bind(path.name)


def circle(path: Path) -> None:
    path.symlink_to(path.name)


def way_out(path: Path) -> None:
    outside = _root(path) / "secret.csv"
    outside.write_bytes(csv(99))
    path.symlink_to(outside)


def _root(path: Path) -> Path:
    """The folder beside the landing folder."""
    return next(folder.parent for folder in path.parents if folder.name == "landing")


def folder_outside(path: Path) -> None:
    outside = _root(path) / "elsewhere"
    outside.mkdir()
    (outside / "Lunguage.csv").write_bytes(csv(99))
    path.symlink_to(outside)


def nothing(path: Path) -> None:
    path.symlink_to("gone.csv")


ODD: dict[str, tuple[Callable[[Path], None], str]] = {
    "FIFO": (fifo, "a FIFO"),
    "socket": (bound_socket, "a socket"),
    "link to a device": (lambda path: path.symlink_to("/dev/zero"), "a link"),
    "circle": (circle, "a link"),
    "file outside": (way_out, "a link"),
    "folder outside": (folder_outside, "a link"),
    "nothing": (nothing, "a link"),
    "own folder": (lambda path: path.symlink_to("."), "a link"),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("a.csv", kind) for kind in ODD),
        *(("texts/p1/1.txt", kind) for kind in ODD),
        ("f/Lunguage_vocab.csv", "FIFO"),
        ("f/reports.csv", "file outside"),
        ("bare", "folder outside"),
    ],
)
def test_what_is_no_file_inside_the_folder_is_put_aside_unopened_and_the_rest_is_taken(
    landing: Landing, name: str, kind: str
) -> None:
    make, found = ODD[kind]
    landing.drop("good.csv", csv(1))
    landing.drop("f/Lunguage.csv", csv(2))
    landing.drop("texts/p1/2.txt", "No effusion.")
    odd = landing.root / name
    make(odd)
    outcome = landing.settle()
    entry = name.split("/")[0]
    assert entry not in outcome.registered
    assert f"found {found}" in outcome.quarantined[entry].reason
    assert "good.csv" in outcome.registered
    assert "s00000099" not in str(landing.home.registered())
    assert not os.path.lexists(odd)
    assert landing.land(after_s=60.0).quarantined == {}
    (reason,) = (landing.root / "quarantine").glob("*/REASON.txt")
    moved = reason.parent / name
    assert os.path.lexists(moved)
    assert moved.is_symlink() == (kind not in ("FIFO", "socket"))


@pytest.mark.parametrize("name", [b"odd-\xff.csv", b"odd-\xff.note", b"f\xe9/p1/1.txt", b"f/p\xe9/1.txt"])
def test_a_name_that_is_not_utf_8_is_put_aside_and_the_rest_is_taken(landing: Landing, name: bytes) -> None:
    """A byte of Latin-1, as an old archive unpacks it."""
    landing.drop("good.csv", csv(1))
    odd = landing.root / os.fsdecode(name)
    odd.parent.mkdir(parents=True, exist_ok=True)
    odd.write_text("No effusion.")
    outcome = landing.settle()
    assert "good.csv" in outcome.registered
    (moved,) = outcome.quarantined.values()
    assert "found a name that is not UTF-8" in moved.reason
    assert not odd.exists()
    assert landing.land(after_s=60.0).quarantined == {}
    (reason,) = (landing.root / "quarantine").glob("*/REASON.txt")
    (kept,) = [
        path for path in reason.parent.rglob("*") if path.is_file() and "REASON" not in path.name.upper()
    ]
    assert kept.read_text() == "No effusion."


def test_links_to_folders_multiply_nothing(landing: Landing) -> None:
    deep = landing.root / "deep"
    deep.mkdir()
    for name in ("x", "y"):  # followed, they would be two to the power of forty folders
        (deep / name).symlink_to(".")
    landing.drop("deep/1.txt", "No effusion.")
    assert list(landing.settle().quarantined) == ["deep"]


def test_an_odd_file_for_all_deliveries_blames_none(landing: Landing) -> None:
    landing.drop("a.csv", csv(1))
    fifo(landing.root / "corpus.toml")
    with pytest.raises(SharedFileWrong, match=r"corpus.toml in the landing folder: found a FIFO"):
        landing.land(after_s=60.0)
    (landing.root / "corpus.toml").unlink()
    landing.settle()
    assert list(landing.batches) == ["a"]


@pytest.mark.parametrize("make", [fifo, way_out])
def test_lists_of_rejected_rows_and_reasons_are_written_through_no_link(
    landing: Landing, make: Callable[[Path], None]
) -> None:
    make(landing.root / "bad.csv.rejected.csv")
    (landing.root / "bad.csv.done").symlink_to("bad.csv.done")
    landing.drop("bad.csv", csv(1, section="none"))
    landing.settle()
    (listed,) = (landing.root / "quarantine").glob("*/bad.csv.rejected.csv")
    assert listed.is_file()
    assert not listed.is_symlink()
    secret = _root(listed) / "secret.csv"
    assert not secret.exists() or secret.read_bytes() == csv(99)


def test_a_file_that_turns_into_a_fifo_or_a_link_after_the_look_is_left_for_later(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = folder._copy
    for number, make in enumerate((fifo, way_out)):
        name = f"{number}.csv"
        landing.drop(name, csv(number))

        def exchanged(file: Seen, target: Path, make: Callable[[Path], None] = make) -> None:
            file.path.unlink()
            make(file.path)
            copy(file, target)

        with monkeypatch.context() as patch:
            patch.setattr(folder, "_copy", exchanged)
            assert name in landing.settle().waiting
        landing.land()
    assert landing.home.registered() == []


def test_where_a_file_for_all_deliveries_cannot_be_read_at_present_all_wait(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.csv", "b.csv"):
        landing.drop(name, csv(1))
    landing.drop("corpus.toml", DECLARED)
    opened = folder._opened

    def refused(path: Path) -> object:
        if str(path).endswith("/landing/corpus.toml"):
            raise OSError
        return opened(path)

    with monkeypatch.context() as patch:
        patch.setattr(folder, "_opened", refused)
        waiting = landing.settle().waiting
    assert waiting == dict.fromkeys(("a.csv", "b.csv"), "it cannot be read at present (OSError)")
    assert landing.land().registered.keys() == {"a.csv"}


@pytest.mark.parametrize("step", ["fetch", "_examined", "_renamed"])
@pytest.mark.parametrize("name", ["a.csv", "f/Lunguage.csv"])
def test_a_delivery_that_is_removed_while_it_is_read_stops_nothing(
    landing: Landing, monkeypatch: pytest.MonkeyPatch, step: str, name: str
) -> None:
    landing.drop(name, csv(1, section="none") if step == "_renamed" else csv(1))
    landing.drop("good.csv", csv(2))
    original = getattr(passes, step)

    def removing(*arguments: object) -> object:
        path = landing.root / name
        path.unlink(missing_ok=True)
        if "/" in name:
            path.parent.rmdir() if path.parent.exists() else None
        return original(*arguments)

    monkeypatch.setattr(passes, step, removing)
    outcome = landing.settle()
    assert "good.csv" in {*outcome.registered} or step != "fetch"
    monkeypatch.undo()
    landing.settle()
    assert "good" in landing.batches


def test_a_folder_that_goes_while_it_is_looked_into_is_no_empty_one(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("f/Lunguage.csv", csv(1))
    looked_into = folder._inside

    def removing(path: Path) -> list[Seen]:
        if path.name in gone:
            shutil.rmtree(path)
        return looked_into(path)

    monkeypatch.setattr(folder, "_inside", removing)
    gone = {"f"}
    assert [entry.hindrance for entry in list_entries(landing.root).entries] == ["it cannot be read"]
    gone = {landing.root.name}
    with pytest.raises(LandingUnreachable, match="there is no such folder"):
        list_entries(landing.root)


def test_a_folder_of_thousands_of_files_lands_in_seconds(landing: Landing) -> None:
    folder = landing.root / "year" / "files"
    for number in range(2_000):
        place = folder / f"p{number % 10:08d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"s{number}.txt").write_text(f"FINDINGS: No effusion, {number}.")
    assert landing.settle().registered["year"].studies == 2_000
