"""What cannot be used is put aside with the reason, and the rest goes on."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from landing_drops import DECLARED, SPOKEN, Landing, csv, packed, rows
from upath.implementations.local import PosixUPath

from lunguage_assets.home.home import Corpus
from lunguage_assets.landing import contents, passes
from lunguage_assets.landing.record import record_folder
from lunguage_assets.landing.seen import Seen

UNUSABLE = {
    "empty": b"",
    "header only": csv(),
    "not text": f"a possible {SPOKEN},x\n".encode("utf-16"),
    "no header": csv(1, 2).split(b"\n", 1)[1],
    "missing column": rows(1).drop(columns="dx_status").to_csv(index=False).encode(),
    "no usable row": csv(1, 2, dx_status=f"some {SPOKEN}"),
    "one column": f"A possible {SPOKEN}\n".encode(),
}


def reasons(landing: Landing) -> dict[str, dict[str, object]]:
    """Folder in quarantine -> its reason, for programs."""
    found = {Path(name).parent.name for name in landing.files if name.endswith("/reason.json")}
    return {
        folder: json.loads((landing.root / "quarantine" / folder / "reason.json").read_text())
        for folder in found
    }


@pytest.mark.parametrize("kind", UNUSABLE)
def test_an_unusable_file_is_put_aside_with_its_reason_and_the_others_are_taken(
    landing: Landing, kind: str
) -> None:
    landing.drop("bad.csv", UNUSABLE[kind])
    landing.drop("bad.csv.done", "")
    landing.drop("good.csv", csv(1))
    told = landing.land().quarantined["bad.csv"]
    landing.land(after_s=60.0)
    assert list(landing.batches) == ["good"]
    assert not {"bad.csv", "bad.csv.done"} & landing.files
    ((folder, reason),) = reasons(landing).items()
    assert (landing.root / "quarantine" / folder / "bad.csv").read_bytes() == UNUSABLE[kind]
    assert re.fullmatch(r"bad\.csv-[0-9a-f]{8}", folder)
    assert reason["file"] == "bad.csv"
    assert all(reason[part] for part in ("found", "expected", "remedy"))
    readable = (landing.root / "quarantine" / folder / "REASON.txt").read_text()
    assert all(str(value) in readable for value in reason.values() if value is not None)
    assert SPOKEN not in " ".join([readable, json.dumps(reason), told.reason])
    assert "bad.csv" not in told.reason_without_names


def test_a_file_without_a_usable_row_brings_the_list_of_what_is_wrong(landing: Landing) -> None:
    landing.drop("bad.csv", UNUSABLE["no usable row"])
    landing.drop("bad.csv.done", "")
    landing.land()
    ((folder, reason),) = reasons(landing).items()
    assert (reason["row"], reason["column"]) == (1, "dx_status")
    readable = (landing.root / "quarantine" / folder / "REASON.txt").read_text()
    assert "row:       1\ncolumn:    dx_status\n" in readable
    listed = (landing.root / "quarantine" / folder / "bad.csv.rejected.csv").read_text()
    assert "bad.csv.rejected.csv" not in landing.files
    assert [line.split(",")[:3] for line in listed.splitlines()[1:]] == [
        ["bad.csv", "1", "s00000001"],
        ["bad.csv", "2", "s00000002"],
    ]
    assert SPOKEN not in listed


@pytest.mark.parametrize(
    ("files", "file", "column"),
    [
        ({"Lunguage.csv.gz": packed(csv(1))[:-9]}, "Lunguage.csv.gz", None),
        ({"Lunguage.parquet": b"PAR1 no"}, "Lunguage.parquet", None),
        ({"Lunguage.csv": csv(1), "Lunguage.csv.gz": packed(csv(1))}, "Lunguage.csv.gz", None),
        ({"Lunguage.csv": csv(1), "Lunguage.parquet": b""}, "f", None),
        ({"lunguage.CSV": csv(1), "lunguage_vocab.CSV": b"a,b\n1,2\n"}, "lunguage_vocab.CSV", "category"),
        ({"Lunguage.csv": csv(1), "corpus.toml": b"data_class = 'secret'"}, "corpus.toml", "data_class"),
        ({"Lunguage_vocab.csv": b"x"}, "f", None),
    ],
)
def test_a_folder_is_put_aside_as_a_whole_and_the_reason_names_its_file(
    landing: Landing, files: dict[str, bytes], file: str, column: str | None
) -> None:
    for name, content in files.items():
        landing.drop(f"f/{name}", content)
    landing.drop("f/deeper/note.md", "kept")
    landing.drop("f/.done", "")
    landing.land()
    ((folder, reason),) = reasons(landing).items()
    assert (reason["file"], reason["column"]) == (file, column)
    assert landing.files == {
        f"quarantine/{folder}/{name}"
        for name in [*files, "deeper/note.md", ".done", "REASON.txt", "reason.json"]
    }
    assert not landing.root.fs.exists(f"{landing.root.path}/f")


@pytest.mark.parametrize(
    ("declared", "column"), [("", "data_class"), ('name = "other"\ndata_class = "synthetic"\n', "name")]
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


def test_a_mended_delivery_may_come_again_under_its_name(landing: Landing) -> None:
    for _ in range(2):
        landing.drop("a.csv", UNUSABLE["missing column"])
        landing.settle()
    landing.drop("a.csv", csv(1))
    landing.settle()
    assert list(landing.batches) == ["a"]
    assert len(reasons(landing)) == 2


def test_an_unexpected_error_of_one_delivery_stops_no_other_and_quotes_nothing(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("a.csv", csv(1))
    landing.drop("b.csv", csv(2))
    read_files = contents.examine.__globals__["read_files"]

    def failing(delivery: object, log: object) -> object:
        read = read_files(delivery, log)
        if "s00000001" in read.studies:
            raise ValueError(f"cannot make sense of {SPOKEN}")
        return read

    monkeypatch.setitem(contents.examine.__globals__, "read_files", failing)
    landing.settle()
    (reason,) = reasons(landing).values()
    assert (reason["file"], reason["found"]) == (
        "a.csv",
        "something that the readers do not expect (ValueError)",
    )
    assert list(landing.batches) == ["b"]


def test_a_full_disk_is_nobodys_fault(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    landing.drop("a.csv", csv(1))
    with monkeypatch.context() as patch:
        patch.setattr(
            shutil, "copyfile", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
        )
        with pytest.raises(OSError, match="No space left"):
            landing.settle()
    assert landing.files == {"a.csv"}
    assert [batch.key for batch in landing.land().registered.values()] == ["a"]


def test_where_nothing_may_be_written_the_reason_is_kept_in_the_home(
    on_disk: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read only")

    on_disk.drop("bad.csv", UNUSABLE["missing column"])
    on_disk.drop("mixed.csv", pd.concat([rows(1), rows(2, section="none")]).to_csv(index=False))
    for method in ("write_bytes", "mkdir", "unlink"):
        written = getattr(PosixUPath, method)
        monkeypatch.setattr(PosixUPath, method, refuse if method != "mkdir" else written)
    outcome = on_disk.settle()
    assert list(outcome.registered) == ["mixed.csv"]
    assert {name for name in on_disk.files if not name.startswith("quarantine")} == {"bad.csv", "mixed.csv"}
    (kept,) = (record_folder(on_disk.home) / "quarantine").glob("bad.csv-*/REASON.txt")
    assert "dx_status" in kept.read_text()
    monkeypatch.setattr(passes, "fetch", lambda *_: pytest.fail("read again"))
    again = on_disk.land()
    assert (list(again.quarantined), again.known) == (["bad.csv"], 1)


def fail(*_: object) -> None:
    raise TimeoutError


def test_a_move_that_fails_for_now_is_made_later(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    landing.drop("bad.csv", UNUSABLE["missing column"])
    with monkeypatch.context() as patch:
        patch.setattr(passes, "carry_out", fail)
        assert landing.settle().waiting == {"bad.csv": "it cannot be put aside at present (TimeoutError)"}
        assert landing.land().waiting == {"bad.csv": "it cannot be put aside at present (TimeoutError)"}
    landing.land()
    assert "bad.csv" not in landing.files


def test_a_file_that_was_replaced_before_it_could_be_moved_stays_and_is_taken(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("a.csv", UNUSABLE["missing column"])
    with monkeypatch.context() as patch:
        patch.setattr(passes, "carry_out", fail)
        landing.settle()
    landing.drop("a.csv", csv(1))
    landing.settle()
    assert list(landing.batches) == ["a"]
    assert "a.csv" in landing.files


def test_a_file_that_may_not_be_read_waits_and_holds_nothing_up(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = contents.open_seen

    def guarded(file: Seen) -> object:
        if file.name == "a.csv":
            raise PermissionError
        return opened(file)

    landing.drop("a.csv", csv(1))
    landing.drop("b.csv", csv(2))
    monkeypatch.setattr(contents, "open_seen", guarded)
    assert landing.settle().waiting == {"a.csv": "it cannot be read at present (PermissionError)"}
    assert list(landing.batches) == ["b"]


def test_declared_in_the_landing_folder_a_delivery_fits_a_synthetic_home(landing: Landing) -> None:
    landing.home.claim(Corpus("invented", "synthetic"))
    landing.drop("corpus.toml", DECLARED)
    landing.drop("a.csv", csv(1))
    landing.settle()
    assert list(landing.batches) == ["a"]


def test_odd_names_are_put_aside_too(landing: Landing) -> None:
    names = ["a[1] #2 50%?*.csv", "f[1] #2 50%?*/Lunguage.csv", "Überweisung 病.csv"]
    for name in names:
        landing.drop(name, UNUSABLE["missing column"])
    landing.settle()
    assert len(reasons(landing)) == 3
    assert {name.split("/")[0] for name in landing.files} == {"quarantine"}


def test_a_list_of_rejected_rows_from_an_earlier_delivery_of_the_same_name_is_removed(
    landing: Landing,
) -> None:
    landing.drop("a.csv", pd.concat([rows(1), rows(2, section="none")]).to_csv(index=False))
    landing.settle()
    assert "a.csv.rejected.csv" in landing.files
    landing.drop("a.csv", UNUSABLE["missing column"])
    landing.settle()
    assert not any(name.endswith("rejected.csv") for name in landing.files)


def test_the_list_of_rejected_rows_holds_no_formula(landing: Landing) -> None:
    landing.drop("=cmd.csv", pd.concat([rows(1), rows(2, section="none")]).to_csv(index=False))
    landing.settle()
    (listed,) = [name for name in landing.files if name.endswith("rejected.csv")]
    assert (landing.root / listed).read_text().splitlines()[1].startswith("'=cmd.csv,2,")
