"""What cannot be used is put aside with the reason, and the rest goes on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from landing_drops import DECLARED, SPOKEN, Landing, csv, packed, rows

from lunguage_assets.home.home import Corpus
from lunguage_assets.landing import folder, passes

UNUSABLE = {
    "empty": b"",
    "header only": csv(),
    "not text": f"a possible {SPOKEN},x\n".encode("utf-16"),
    "no header": csv(1, 2).split(b"\n", 1)[1],
    "missing column": rows(1).drop(columns="dx_status").to_csv(index=False).encode(),
    "no usable row": csv(1, 2, dx_status=f"some {SPOKEN}"),
    "one column": f"A possible {SPOKEN}\n".encode(),
}


def reasons(landing: Landing) -> dict[str, dict[str, str]]:
    """Folder in quarantine -> the parts of its reason."""
    return {
        path.parent.name: dict(re.findall(r"^(\w+): +(.*)$", path.read_text(), re.MULTILINE))
        for path in (landing.root / "quarantine").glob("*/REASON.txt")
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
    assert SPOKEN not in readable + told.reason
    assert "bad.csv" not in told.reason_without_names


def test_a_file_without_a_usable_row_brings_the_list_of_what_is_wrong(landing: Landing) -> None:
    landing.drop("bad.csv", UNUSABLE["no usable row"])
    landing.drop("bad.csv.done", "")
    landing.land()
    ((folder, reason),) = reasons(landing).items()
    assert (reason["row"], reason["column"]) == ("1", "dx_status")
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
    assert (reason["file"], reason.get("column")) == (file, column)
    assert landing.files == {
        f"quarantine/{folder}/REASON.txt",
        *(f"quarantine/{folder}/f/{name}" for name in [*files, "deeper/note.md", ".done"]),
    }
    assert not (landing.root / "f").exists()


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
    read_files = passes.read_files

    def failing(delivery: object, log: object) -> object:
        read = read_files(delivery, log)
        if "s00000001" in read.studies:
            raise ValueError(f"cannot make sense of {SPOKEN}")
        return read

    monkeypatch.setattr(passes, "read_files", failing)
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


def test_where_nothing_may_be_written_the_delivery_stays_and_the_reason_is_told(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.drop("bad.csv", UNUSABLE["missing column"])
    landing.drop("mixed.csv", pd.concat([rows(1), rows(2, section="none")]).to_csv(index=False))

    def refuse(*_: object) -> None:
        raise PermissionError("read only")

    with monkeypatch.context() as patch:
        patch.setattr(passes, "_put", refuse)
        outcome = landing.settle()
        assert list(outcome.registered) == ["mixed.csv"]
        reason = landing.land().quarantined["bad.csv"].reason
    assert "dx_status" in reason
    assert "It stays where it lies (PermissionError" in reason
    assert {"bad.csv", "mixed.csv"} <= landing.files
    landing.land()
    assert "bad.csv" not in landing.files


def test_a_file_that_may_not_be_read_waits_and_holds_nothing_up(
    landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = folder._opened

    def guarded(path: Path) -> object:
        if str(path).endswith("/landing/a.csv"):
            raise PermissionError
        return opened(path)

    landing.drop("a.csv", csv(1))
    landing.drop("b.csv", csv(2))
    monkeypatch.setattr(folder, "_opened", guarded)
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
