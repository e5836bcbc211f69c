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
from upath import UPath

from lunguage_assets.landing import contents as landing_contents
from lunguage_assets.landing import entries, passes
from lunguage_assets.landing.passes import SharedFileWrong
from lunguage_assets.landing.seen import Seen


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
    "link to a device": (
        lambda path: path.symlink_to("/dev/zero"),
        "a link that leads out of the landing folder",
    ),
    "circle": (circle, "a link in a circle of links"),
    "file outside": (way_out, "a link that leads out of the landing folder"),
    "folder outside": (folder_outside, "a link that leads out of the landing folder"),
    "nothing": (nothing, "a link to nothing"),
    "own folder": (lambda path: path.symlink_to("."), "a link to something else than a file"),
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
    on_disk: Landing, name: str, kind: str
) -> None:
    make, found = ODD[kind]
    on_disk.drop("good.csv", csv(1))
    on_disk.drop("f/Lunguage.csv", csv(2))
    on_disk.drop("texts/p1/2.txt", "No effusion.")
    odd = Path(on_disk.url) / name
    make(odd)
    outcome = on_disk.settle()
    entry = name.split("/")[0]
    assert entry not in outcome.registered
    assert f"found {found}" in outcome.quarantined[entry].reason
    assert "good.csv" in outcome.registered
    assert "s00000099" not in str(on_disk.home.registered())
    assert not os.path.lexists(odd)
    assert on_disk.land(after_s=60.0).quarantined == {}
    (reason,) = (Path(on_disk.url) / "quarantine").glob("*/REASON.txt")
    moved = reason.parent / Path(name).relative_to(entry) if "/" in name else reason.parent / name
    assert os.path.lexists(moved)
    assert moved.is_symlink() == (kind not in ("FIFO", "socket"))


@pytest.mark.parametrize("name", [b"odd-\xff.csv", b"odd-\xff.note", b"f\xe9/p1/1.txt", b"f/p\xe9/1.txt"])
def test_a_name_that_is_not_utf_8_is_put_aside_and_the_rest_is_taken(on_disk: Landing, name: bytes) -> None:
    """A byte of Latin-1, as an old archive unpacks it."""
    on_disk.drop("good.csv", csv(1))
    odd = Path(on_disk.url) / os.fsdecode(name)
    odd.parent.mkdir(parents=True, exist_ok=True)
    odd.write_text("No effusion.")
    outcome = on_disk.settle()
    assert "good.csv" in outcome.registered
    (moved,) = outcome.quarantined.values()
    assert "found a name that is not UTF-8" in moved.reason
    assert not odd.exists()
    assert on_disk.land(after_s=60.0).quarantined == {}
    (reason,) = (Path(on_disk.url) / "quarantine").glob("*/REASON.txt")
    (kept,) = [
        path for path in reason.parent.rglob("*") if path.is_file() and "REASON" not in path.name.upper()
    ]
    assert kept.read_text() == "No effusion."


def test_links_to_files_inside_the_folder_are_read_and_links_to_folders_multiply_nothing(
    on_disk: Landing,
) -> None:
    on_disk.drop("a.csv", csv(1))
    (Path(on_disk.url) / "b.csv").symlink_to("a.csv")
    outcome = on_disk.settle()
    assert (list(outcome.registered), outcome.skipped) == (["a.csv"], {"b.csv": "a"})
    deep = Path(on_disk.url) / "deep"
    deep.mkdir()
    for name in ("x", "y"):  # followed, they would be two to the power of forty folders
        (deep / name).symlink_to(".")
    on_disk.drop("deep/1.txt", "No effusion.")
    assert list(on_disk.settle().quarantined) == ["deep"]


def test_an_odd_file_for_all_deliveries_blames_none(on_disk: Landing) -> None:
    on_disk.drop("a.csv", csv(1))
    fifo(Path(on_disk.url) / "corpus.toml")
    on_disk.land()
    with pytest.raises(SharedFileWrong, match=r"corpus.toml in the landing folder: found a FIFO"):
        on_disk.land(after_s=60.0)
    (Path(on_disk.url) / "corpus.toml").unlink()
    on_disk.settle()
    assert list(on_disk.batches) == ["a"]


@pytest.mark.parametrize("make", [fifo, way_out])
def test_lists_of_rejected_rows_and_reasons_are_written_through_no_link(
    on_disk: Landing, make: Callable[[Path], None]
) -> None:
    make(Path(on_disk.url) / "bad.csv.rejected.csv")
    (Path(on_disk.url) / "bad.csv.done").symlink_to("bad.csv.done")
    on_disk.drop("bad.csv", csv(1, section="none"))
    on_disk.settle()
    (listed,) = (Path(on_disk.url) / "quarantine").glob("*/bad.csv.rejected.csv")
    assert listed.is_file()
    assert not listed.is_symlink()
    secret = _root(listed) / "secret.csv"
    assert not secret.exists() or secret.read_bytes() == csv(99)


def test_a_file_that_turns_into_a_fifo_after_the_look_is_left_for_later(
    on_disk: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk.drop("a.csv", csv(1))
    opened = landing_contents.open_seen

    def exchanged(file: Seen) -> object:
        Path(file.path).unlink()
        fifo(Path(file.path))
        return opened(file)

    monkeypatch.setattr(landing_contents, "open_seen", exchanged)
    assert on_disk.settle().waiting == {"a.csv": "it changed while it was read"}


def test_where_a_file_for_all_deliveries_cannot_be_read_at_present_all_wait(
    on_disk: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.csv", "b.csv"):
        on_disk.drop(name, csv(1))
    on_disk.drop("corpus.toml", DECLARED)
    opened = landing_contents.open_seen

    def refused(file: Seen) -> object:
        if file.name == "corpus.toml":
            raise OSError
        return opened(file)

    with monkeypatch.context() as patch:
        patch.setattr(landing_contents, "open_seen", refused)
        waiting = on_disk.settle().waiting
    assert waiting == dict.fromkeys(("a.csv", "b.csv"), "it cannot be read at present (OSError)")
    assert on_disk.land().registered.keys() == {"a.csv"}


@pytest.mark.parametrize("step", ["fetch", "examine", "plan_move"])
@pytest.mark.parametrize("name", ["a.csv", "f/Lunguage.csv"])
def test_a_delivery_that_is_removed_while_it_is_read_stops_nothing(
    on_disk: Landing, monkeypatch: pytest.MonkeyPatch, step: str, name: str
) -> None:
    on_disk.drop(name, csv(1, section="none") if step == "plan_move" else csv(1))
    on_disk.drop("good.csv", csv(2))
    original = getattr(passes, step)

    def removing(*arguments: object) -> object:
        path = Path(on_disk.url) / name
        path.unlink(missing_ok=True)
        if "/" in name:
            path.parent.rmdir() if path.parent.exists() else None
        return original(*arguments)

    monkeypatch.setattr(passes, step, removing)
    outcome = on_disk.settle()
    assert "good.csv" in {*outcome.registered} or step != "fetch"
    monkeypatch.undo()
    on_disk.settle()
    assert "good" in on_disk.batches


def test_a_folder_that_goes_while_it_is_looked_into_is_no_empty_one(
    on_disk: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk.drop("f/Lunguage.csv", csv(1))
    looked_into = entries.inside

    def removing(folder: UPath, place: UPath) -> list[Seen]:
        if folder.name in gone:
            shutil.rmtree(folder.path)
        return looked_into(folder, place)

    monkeypatch.setattr(entries, "inside", removing)
    gone = {"f"}
    assert [entry.hindrance for entry in entries.list_entries(on_disk.url).entries] == ["it cannot be read"]
    gone = {Path(on_disk.url).name}
    with pytest.raises(entries.LandingUnreachable, match=r"cannot be read \(FileNotFoundError\)"):
        entries.list_entries(on_disk.url)


def test_the_look_at_files_of_another_kind_compares_them_not_all_with_all(
    on_disk: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    monkeypatch.setattr(Seen, "__eq__", lambda one, other: bool(compared.append(one)) or one is other)
    for number in range(100):
        (Path(on_disk.url) / f"{number}.jpg").touch()
    on_disk.drop("corpus.toml", DECLARED)
    assert len(entries.list_entries(on_disk.url).others) == 100
    assert len(compared) <= 100


def test_a_folder_of_thousands_of_files_lands_in_seconds(on_disk: Landing) -> None:
    folder = Path(on_disk.url) / "year" / "files"
    for number in range(2_000):
        place = folder / f"p{number % 10:08d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"s{number}.txt").write_text(f"FINDINGS: No effusion, {number}.")
    assert on_disk.settle().registered["year"].studies == 2_000
