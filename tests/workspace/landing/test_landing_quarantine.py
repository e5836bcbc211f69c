"""Whoever delivers may lay anything into the folder: only regular files in it are
opened, what cannot be used is put aside with the reason, and nothing stops the rest.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from landing_drops import DECLARED, SPOKEN, Landing, csv, packed, rows

from lunguage_assets.corpus import records
from lunguage_assets.corpus.declaration import Corpus
from lunguage_assets.errors import KeyTaken, LunguageError
from lunguage_assets.workspace import delivery_copy
from lunguage_assets.workspace import landing as module
from lunguage_assets.workspace.home import Home, Registration

UNUSABLE = {
    "empty": b"",
    "header only": csv(),
    "not text": f"a possible {SPOKEN},x\n".encode("utf-16"),
    "no header": csv(1, 2).split(b"\n", 1)[1],
    "missing column": rows(1).drop(columns="dx_status").to_csv(index=False).encode(),
    "no usable row": csv(1, 2, dx_status=f"some {SPOKEN}"),
    "one column": f"A possible {SPOKEN}\n".encode(),
}


@pytest.fixture(autouse=True)
def blocks_never() -> Iterator[None]:
    """Whoever opens a FIFO waits for ever: an alarm ends the test."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("blocked"))
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def reasons(landing: Landing) -> dict[str, dict[str, str]]:
    """Folder in quarantine -> the parts of its reason."""
    return {
        path.parent.name: dict(
            re.findall(r"^(\w+): +(.*)$", path.read_text(), re.MULTILINE)
        )
        for path in (landing.root / "quarantine").glob("*/REASON.txt")
    }


@pytest.mark.parametrize("fault", UNUSABLE)
def test_an_unusable_file_is_quarantined_with_its_reason(
    landing: Landing, fault: str
) -> None:
    landing.drop("bad.csv", UNUSABLE[fault])
    landing.drop("bad.csv.done", "")
    landing.drop("good.csv", csv(1))
    message = landing.land().of("quarantined")["bad.csv"]
    landing.land(after_s=60.0)
    assert list(landing.batches) == ["good"]
    assert not {"bad.csv", "bad.csv.done"} & landing.files
    ((folder, reason),) = reasons(landing).items()
    assert (landing.root / "quarantine" / folder / "bad.csv").read_bytes() == UNUSABLE[
        fault
    ]
    assert re.fullmatch(r"bad\.csv-[0-9a-f]{8}", folder)
    assert reason["file"] == "bad.csv"
    assert all(reason[field] for field in ("found", "expected", "remedy"))
    assert SPOKEN not in (
        landing.root / "quarantine" / folder / "REASON.txt"
    ).read_text() + str(message)


def test_a_delivery_without_a_usable_row_says_of_one_what_is_wrong(
    landing: Landing,
) -> None:
    landing.drop("bad.csv", UNUSABLE["no usable row"])
    landing.settle()
    (reason,) = reasons(landing).values()
    assert (reason["row"], reason["column"]) == ("1", "dx_status")
    landing.drop(
        "good.csv", pd.concat([rows(1, 2), rows(3, dx_status="?")]).to_csv(index=False)
    )
    message = landing.settle().of("registered")["good.csv"]
    assert message == "batch good, 3 studies, 3 rows (1 rejected)"


@pytest.mark.parametrize(
    ("files", "file", "column"),
    [
        ({"Lunguage.csv.gz": packed(csv(1))[:-9]}, "Lunguage.csv.gz", None),
        ({"Lunguage.parquet": b"PAR1 no"}, "Lunguage.parquet", None),
        ({"Lunguage.csv": csv(1), "Lunguage.csv.gz": packed(csv(1))}, "Lunguage.csv.gz", None),
        ({"Lunguage.csv": csv(1), "Lunguage.parquet": b""}, "f", None),
        ({"lunguage.CSV": csv(1), "lunguage_vocab.CSV": b"a,b\n1,2\n"}, "lunguage_vocab.CSV", "category"),
        ({"Lunguage.csv": csv(1), "corpus.toml": b"data_class = 'secret'"}, "corpus.toml", "data_class"),
    ],
)  # fmt: skip
def test_a_folder_is_quarantined_whole_for_the_file_that_is_named(
    landing: Landing, files: dict[str, bytes], file: str, column: str | None
) -> None:
    for name, content in files.items():
        landing.drop(f"f/{name}", content)
    landing.drop("f/deeper/note.md", "kept")
    landing.drop("f/.done", "")
    landing.land()
    ((folder, reason),) = reasons(landing).items()
    assert (reason["file"], reason.get("column")) == (file, column)
    assert landing.files == {
        f"quarantine/{folder}/REASON.txt",
        *(
            f"quarantine/{folder}/f/{name}"
            for name in [*files, "deeper/note.md", ".done"]
        ),
    }
    assert not (landing.root / "f").exists()


@pytest.mark.parametrize(
    ("declared", "column"),
    [("", "data_class"), ('name = "other"\ndata_class = "synthetic"\n', "name")],
)
def test_a_delivery_that_contradicts_the_homes_corpus_is_put_aside(
    landing: Landing, declared: str, column: str
) -> None:
    landing.home.claim(Corpus("invented", "synthetic"))
    landing.drop("f/Lunguage.csv", csv(1))
    if declared:
        landing.drop("f/corpus.toml", declared)
    landing.settle()
    (reason,) = reasons(landing).values()
    assert (reason["file"], reason["column"]) == ("corpus.toml", column)
    assert reason["expected"] == "corpus 'invented' (synthetic), which the home holds"
    assert landing.batches == {}


def test_an_unexpected_error_of_one_delivery_stops_no_other_and_quotes_nothing(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("a.csv", csv(1))
    landing.drop("b.csv", csv(2))
    read_files = module.read_files

    def failing(delivery: object, log: object) -> object:
        read_unharmed = read_files(delivery, log)
        if "s00000001" in read_unharmed[0]:
            raise ValueError(f"cannot make sense of {SPOKEN}")
        return read_unharmed

    monkeypatch.setattr(module, "read_files", failing)
    landing.settle()
    (reason,) = reasons(landing).values()
    assert (reason["file"], reason["found"]) == (
        "a.csv",
        "something that the readers do not expect (ValueError)",
    )
    assert list(landing.batches) == ["b"]


@pytest.mark.parametrize(
    "failure",
    [
        RecursionError(SPOKEN),
        MemoryError(SPOKEN),
        OSError(SPOKEN),
        UnicodeError(SPOKEN),
    ],
)
def test_whatever_fails_in_registering_one_delivery_stops_no_other(
    landing: Landing, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    landing.drop("a.csv", csv(1))
    landing.drop("b.csv", csv(2))
    register = Home.register

    def failing(home: Home, folder: Path, key: str, **options: Any) -> Any:
        if key == "a":
            raise failure
        return register(home, folder, key, **options)

    monkeypatch.setattr(Home, "register", failing)
    landing.settle()
    (reason,) = reasons(landing).values()
    failure_name = type(failure).__name__
    assert (reason["file"], reason["found"]) == (
        "a.csv",
        f"something that the readers do not expect ({failure_name})",
    )
    assert list(landing.batches) == ["b"]


def test_a_name_of_which_no_batch_key_is_free_is_put_aside(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("a.csv", csv(1))

    def taken(*_: object, **__: object) -> None:
        raise KeyTaken("other content")

    monkeypatch.setattr(Home, "examine", taken)
    landing.settle()
    assert next(iter(reasons(landing).values()))["remedy"] == "Give it another name."


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_no_delivery_is_blamed_for_a_home_that_cannot_take_it(
    landing: Landing, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    landing.drop("a.csv", csv(1))

    def full(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(landing.home.batches))

    with monkeypatch.context() as patch:
        patch.setattr(Home, "register", full)
        with pytest.raises(OSError, match=os.strerror(number)):
            landing.settle()
    assert "a.csv" in landing.files
    assert landing.settle().of("registered").keys() == {"a.csv"}


@pytest.mark.parametrize(
    "name", ["a" * 247 + ".csv", "a" * 251 + "/Lunguage.csv", "f/" + "a" * 251 + ".csv"]
)
def test_a_name_with_no_room_for_that_of_its_marker_is_taken(
    landing: Landing, name: str
) -> None:
    landing.drop(name, csv(1))
    landing.settle()
    assert len(landing.batches) == 1


@pytest.mark.parametrize(
    "letters", [b"a" * 251, b"\xff" * 251, "\u00e9".encode() * 125]
)
def test_a_name_of_full_length_is_quarantined_under_a_shorter_one(
    landing: Landing, letters: bytes
) -> None:
    landing.drop("good.csv", csv(1))
    landing.drop(os.fsdecode(letters + b".csv"), UNUSABLE["missing column"])
    landing.settle()
    ((folder, _),) = reasons(landing).items()
    assert len([*(landing.root / "quarantine" / folder).iterdir()]) == 2
    assert list(landing.batches) == ["good"]


def nested(folder: Path, folders: int, name: str) -> None:
    """Folders inside each other with a report in the last; their path may be longer
    than one can be.
    """
    folder.mkdir()
    with contextlib.chdir(folder):
        for _ in range(folders):
            Path(name).mkdir()
            os.chdir(name)
        Path("s50000001.txt").write_text("No effusion.")


@pytest.mark.parametrize(
    ("folders", "name", "fault"),
    [
        (60, "a" * 90, "a path that is too long"),
        (16, "a" * 250, "a path that is too long"),
        (150, "a", "more than 100 folders inside each other"),
    ],
)
def test_a_tree_that_is_too_deep_is_quarantined(
    landing: Landing, folders: int, name: str, fault: str
) -> None:
    landing.drop("good.csv", csv(1))
    nested(landing.root / "tree", folders, name)
    landing.settle()
    (reason,) = reasons(landing).values()
    assert reason["found"] == fault
    assert list(landing.batches) == ["good"]
    assert not (landing.root / "tree").exists()


def test_two_too_deep_trees_of_one_name_are_both_quarantined(
    landing: Landing,
) -> None:
    for _ in range(2):
        nested(landing.root / "tree", 150, "a")
        landing.settle()
    assert len(reasons(landing)) == 2


def test_a_tree_of_sixty_folders_is_taken(landing: Landing) -> None:
    nested(landing.root / "tree", 60, "a")
    assert landing.settle().of("registered").keys() == {"tree"}


def test_an_unreadable_folder_is_quarantined_and_the_others_taken(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is closed to the account of a test, which may be root's: the system's
    answer is planted.
    """
    landing.drop("good.csv", csv(1))
    landing.drop("f/Lunguage.csv", csv(2))
    landing.drop("f/closed/note.txt", "for somebody else")
    listed = os.scandir

    def scandir(folder: Any = ".") -> Any:
        if str(folder).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return listed(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    landing.settle()
    (reason,) = reasons(landing).values()
    assert (reason["file"], reason["found"]) == (
        "closed",
        "a file or folder that may not be read",
    )
    assert list(landing.batches) == ["good"]


def test_an_unreadable_file_is_quarantined_and_the_others_taken(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("good.csv", csv(1))
    landing.drop("closed.csv", csv(2))
    opened = os.open

    def refusing(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).endswith("closed.csv"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refusing)
    landing.settle()
    (reason,) = reasons(landing).values()
    assert (reason["file"], reason["found"]) == (
        "closed.csv",
        "a file or folder that may not be read",
    )
    assert list(landing.batches) == ["good"]


def test_a_file_that_a_network_does_not_give_now_waits(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("a.csv", csv(1))
    opened = os.open

    def refusing(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).endswith("a.csv"):
            raise OSError(errno.EIO, "Input/output error", path)
        return opened(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refusing)
        assert (
            landing.settle().of("waiting")["a.csv"]
            == "it cannot be read at present (OSError)"
        )
    assert landing.settle().of("registered").keys() == {"a.csv"}


def test_of_two_names_that_are_told_alike_both_are_dealt_with(landing: Landing) -> None:
    landing.drop("odd-\\udcff.csv", csv(1))
    landing.drop(os.fsdecode(b"odd-\xff.csv"), csv(2))
    outcomes = landing.settle().outcomes
    assert sorted(state for state, _, _ in outcomes) == ["quarantined", "registered"]


def test_a_reason_cannot_be_written_by_the_name_of_a_file(landing: Landing) -> None:
    landing.drop("a\nremedy: run \x1b[31mthis.csv", UNUSABLE["missing column"])
    ((name, message),) = landing.settle().of("quarantined").items()
    ((_, reason),) = reasons(landing).items()
    assert reason["file"] == "a\\nremedy: run \\x1b[31mthis.csv" == name
    assert not reason["remedy"].startswith("run")
    assert message.isprintable()


DECLARATIONS = {
    "brackets": "x = " + "[" * 60_000,
    "tables": "a." * 30_000 + "a = 1",
    "digits": "name = " + "9" * 5_000,
    "a word of pydantic": "__dataclass_self__ = 1",
}


@pytest.mark.parametrize("declared", DECLARATIONS.values(), ids=[*DECLARATIONS])
def test_a_declaration_of_any_form_costs_its_delivery_alone(
    landing: Landing, declared: str
) -> None:
    landing.drop("good.csv", csv(1))
    landing.drop("f/Lunguage.csv", csv(2))
    landing.drop("f/corpus.toml", declared)
    landing.settle()
    (reason,) = reasons(landing).values()
    assert reason["file"] == "corpus.toml"
    assert list(landing.batches) == ["good"]


def test_where_nothing_may_be_written_the_delivery_stays(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("bad.csv", UNUSABLE["missing column"])

    def refuse(*_: object) -> None:
        raise PermissionError("read only")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        outcome = landing.settle()
    assert "It stays where it lies (PermissionError" in str(
        outcome.of("quarantined")["bad.csv"]
    )
    assert "bad.csv" in landing.files
    landing.land()
    assert "bad.csv" not in landing.files


def bound_socket(path: Path) -> None:
    with contextlib.chdir(path.parent):  # its address has room for a hundred characters
        socket.socket(socket.AF_UNIX).bind(path.name)


def way_out(path: Path) -> None:
    outside = (
        next(folder.parent for folder in path.parents if folder.name == "landing")
        / "secret.csv"
    )
    outside.write_bytes(csv(99))
    path.symlink_to(outside)


ODD: dict[str, Callable[[Path], None]] = {
    "FIFO": os.mkfifo,
    "socket": bound_socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "file outside": way_out,
    "own folder": lambda path: path.symlink_to("."),
    "nothing": lambda path: path.symlink_to("gone.csv"),
}


@pytest.mark.parametrize(
    ("file_kind", "name"),
    [
        *((file_kind, "texts/p1/1.txt") for file_kind in ODD),
        ("FIFO", "a.csv"),
        ("own folder", "a.csv"),
        ("file outside", "f/Lunguage_vocab.csv"),
    ],
)
def test_special_files_are_quarantined_unopened_and_the_others_taken(
    landing: Landing, name: str, file_kind: str
) -> None:
    landing.drop("good.csv", csv(1))
    landing.drop("f/Lunguage.csv", csv(2))
    landing.drop("texts/p1/2.txt", "No effusion.")
    ODD[file_kind](landing.root / name)
    outcome = landing.settle()
    assert "a link, a FIFO or the like" in str(
        outcome.of("quarantined")[name.split("/")[0]]
    )
    assert "good.csv" in outcome.of("registered")
    assert "s00000099" not in str(landing.home.registered())
    assert not os.path.lexists(landing.root / name)
    (reason,) = (landing.root / "quarantine").glob("*/REASON.txt")
    assert os.path.lexists(reason.parent / name)


@pytest.mark.parametrize("name", [b"odd-\xff.csv", b"f/p\xe9/1.txt"])
def test_a_name_that_is_not_utf_8_is_quarantined(landing: Landing, name: bytes) -> None:
    """A byte of Latin-1, as an old archive unpacks it."""
    landing.drop("good.csv", csv(1))
    odd = landing.root / os.fsdecode(name)
    odd.parent.mkdir(parents=True, exist_ok=True)
    odd.write_text("No effusion.")
    outcome = landing.settle()
    assert "good.csv" in outcome.of("registered")
    (moved,) = outcome.of("quarantined").values()
    assert "a name that is not UTF-8" in str(moved)
    assert not odd.exists()
    assert landing.land(after_s=60.0).of("quarantined") == {}


@pytest.mark.parametrize("make", [os.mkfifo, way_out])
def test_a_file_that_becomes_a_fifo_or_link_is_left_for_later(
    landing: Landing, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    copy = delivery_copy.copy_file
    landing.drop("a.csv", csv(1))

    def exchanged(path: Path, target: Path) -> None:
        path.unlink()
        make(path)
        copy(path, target)

    monkeypatch.setattr(delivery_copy, "copy_file", exchanged)
    assert "a.csv" in landing.settle().of("waiting")
    assert landing.home.registered() == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("corpus.toml", "neither TOML,nor\na,vocabulary"),
        ("corpus.toml", "x = " + "[" * 60_000),
        ("Lunguage_vocab.csv", "neither TOML,nor\na,vocabulary"),
        ("corpus.toml", None),
    ],
)
def test_no_delivery_is_blamed_for_a_wrong_file_that_serves_all(
    landing: Landing, name: str, wrong: str | None
) -> None:
    os.mkfifo(landing.root / name) if wrong is None else landing.drop(name, wrong)
    landing.drop("good.csv", csv(1))
    with pytest.raises(LunguageError, match=f"{name}.* in the landing folder"):
        landing.settle()
    (landing.root / name).unlink()
    assert "good.csv" in landing.files
    landing.drop("corpus.toml", DECLARED)
    landing.settle()
    assert list(landing.batches) == ["good"]


def test_the_limit_of_unpacked_bytes_counts_all_files_together(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_UNPACKED", 3 << 20)
    for number in range(4):
        landing.drop(f"texts/{number}.txt.gz", packed(b"x" * (1 << 20)))
    landing.drop("one.csv.gz", packed(csv(1) + b"x" * (4 << 20)))
    quarantined = landing.settle().of("quarantined")
    assert all(
        "more than 3 MiB" in str(quarantined[name]) for name in ("texts", "one.csv.gz")
    )


def deep(root: Path) -> None:
    """A tree whose paths are longer than any system call takes."""
    folder = os.open(root, os.O_RDONLY)
    for _ in range(60):
        name = "folder-" + "x" * 100
        os.mkdir(name, dir_fd=folder)
        below = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("Lunguage.csv", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)


def long_name(root: Path) -> None:
    (root / ("n" * 247 + ".csv")).write_bytes(b"no findings\n")


def deep_tree(root: Path) -> None:
    (root / "deep").mkdir()
    deep(root / "deep")


def brackets(root: Path) -> None:
    (root / "nested").mkdir()
    (root / "nested" / "Lunguage.csv").write_bytes(csv(7))
    (root / "nested" / "corpus.toml").write_text("name = " + "[" * 60_000)


def line_breaks(root: Path) -> None:
    (root / "a\nb\x1b[31m.csv").write_bytes(b"no findings\n")


HOSTILE = {"a": long_name, "b": deep_tree, "c": brackets, "d": line_breaks}


@pytest.mark.parametrize(
    "lay", HOSTILE.values(), ids=["long name", "deep tree", "brackets", "line breaks"]
)
def test_one_hostile_entry_is_put_aside_and_the_next_delivery_is_taken(
    landing: Landing, lay: Callable[[Path], None]
) -> None:
    lay(landing.root)
    landing.drop("z-good.csv", csv(1))
    landing.settle()
    assert list(landing.batches) == ["z-good"]
    (reason,) = reasons(landing).values()
    assert all(reason[field] for field in ("found", "expected", "remedy"))
    assert {path.name for path in landing.root.iterdir()} == {
        "quarantine",
        "z-good.csv",
    }


def test_an_unreadable_folder_is_quarantined_and_the_next_delivery_taken(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As another account would see it: root reads everything."""
    landing.drop("closed/Lunguage.csv", csv(1))
    landing.drop("good.csv", csv(2))
    list_folder = os.scandir

    def refuse(path: str | os.PathLike[str] | int) -> object:
        if str(path) == str(landing.root / "closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", refuse)
    landing.settle()
    assert list(landing.batches) == ["good"]
    (reason,) = reasons(landing).values()
    assert "may not be read" in reason["found"]


def test_names_are_told_on_one_line_and_command_no_terminal(landing: Landing) -> None:
    line_breaks(landing.root)
    outcome = landing.settle()
    ((name, why),) = outcome.of("quarantined").items()
    assert name.isprintable()
    assert why.isprintable()


def test_whatever_a_reader_stumbles_over_costs_its_delivery_alone(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("a-odd.csv", csv(1))
    landing.drop("b-good.csv", csv(2))
    look = module._counts

    def stumble(registrations: Sequence[Registration]) -> str:
        if registrations[0].batch.key == "a-odd":
            raise RecursionError(SPOKEN)
        return look(registrations)

    monkeypatch.setattr(module, "_counts", stumble)
    outcome = landing.settle()
    assert list(landing.batches) == ["b-good"]
    assert SPOKEN not in str(outcome.outcomes)
