"""An archive is unpacked up to a stated limit, and never onto the disk; what was cut is no delivery."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
from landing_drops import DECLARED, Landing, csv, packed

from lunguage_assets.corpus import unpacking
from lunguage_assets.corpus.delivery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.errors import InputError
from lunguage_assets.settings import CorpusSettings

REPORT = b"FINDINGS: No effusion."


@pytest.fixture
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_UNPACKED", 3 << 20)


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as package:
        for name, content in members.items():
            package.writestr(name, content)
    return stream.getvalue()


def encrypted(package: bytes) -> bytes:
    """The members' bits that say that they have a password; whatever it is."""
    for head, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = -1
        while (start := package.find(head, start + 1)) >= 0:
            package = package[: start + place] + b"\x01" + package[start + place + 1 :]
    return package


def repeated(text: str, rows_of_it: int) -> bytes:
    """Parquet with one text many times, of which it keeps one."""
    stream = BytesIO()
    frame = pd.DataFrame({"study_id": range(rows_of_it), "report": [text] * rows_of_it})
    frame.to_parquet(stream)
    return stream.getvalue()


BOMBS = {
    "reports.parquet": repeated("x" * 4_000, 1_000),
    "a.csv.gz": packed(csv(1) + b"x" * (4 << 20)),
    "f/Lunguage.csv.gz": packed(csv(1) + b"x" * (4 << 20)),
    "many.zip": zipped({f"{number}.txt": b"x" * (1 << 20) for number in range(4)}),
    "within.zip": zipped({f"{number}.txt.gz": packed(b"x" * (9 << 20)) for number in range(4)}),
}


@pytest.mark.usefixtures("few_bytes")
@pytest.mark.parametrize("name", BOMBS)
def test_a_few_kilobytes_that_unpack_to_too_much_are_put_aside_with_the_limit(
    landing: Landing, name: str
) -> None:
    landing.drop(name, BOMBS[name])
    landing.drop("good.csv.gz", packed(csv(2)))
    outcome = landing.settle()
    assert list(outcome.registered) == ["good.csv.gz"]
    reason = outcome.quarantined[name.split("/")[0]].reason
    assert "found more than 3 MiB when unpacked; expected at most 3 MiB" in reason
    assert "in several deliveries" in reason


@pytest.mark.usefixtures("few_bytes")
def test_the_limit_is_of_all_packed_files_of_a_delivery_that_lands(landing: Landing) -> None:
    for number in range(4):
        landing.drop(f"texts/{number}.txt.gz", packed(b"x" * (1 << 20)))
    assert "more than 3 MiB" in landing.settle().quarantined["texts"].reason


def test_the_limit_holds_in_a_home_too(
    landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in BOMBS.items():
        place = tmp_path / "data" / Path(name).stem
        place.mkdir(parents=True)
        (place / ("Lunguage.csv.gz" if name.endswith(".gz") else Path(name).name)).write_bytes(content)
    monkeypatch.setattr(unpacking, "MOST_UNPACKED", 3 << 20)
    for place in sorted((tmp_path / "data").iterdir()):
        with pytest.raises(InputError, match="at most 3 MiB"):
            read(place)


def read(place: Path) -> set[str]:
    delivery = find_delivery(place)
    if delivery.texts is None:
        return set(take_in(delivery, CorpusSettings()).reports["study_id"])
    return set(receive(delivery, CorpusSettings()).report_texts["study_id"])


def test_a_package_of_too_many_files_is_put_aside(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    landing.drop("some.zip", zipped({f"{number}.txt": REPORT for number in range(4)}))
    landing.drop("many.zip", zipped({f"1{number}.txt": REPORT for number in range(5)}))
    monkeypatch.setattr("lunguage_assets.corpus.texts.members.MOST_ENTRIES", 4)
    outcome = landing.settle()
    assert list(outcome.registered) == ["some.zip"]
    assert "found 5 files in one package; expected at most 4" in outcome.quarantined["many.zip"].reason


@pytest.mark.parametrize(
    "name",
    ["/etc/1.txt", "../../../1.txt", "a/" * 300 + "1.txt", "C:\\files\\1.txt", "./1.txt", "a//1.txt"],
)
def test_names_in_a_package_are_names_and_no_places(landing: Landing, name: str) -> None:
    before = set(landing.root.parent.rglob("*"))
    landing.drop("corpus.toml", DECLARED)
    landing.drop("a.zip", zipped({name: REPORT, "2.txt": REPORT}))
    assert landing.settle().registered["a.zip"].studies == 2
    home = landing.home.root
    made = set(landing.root.parent.rglob("*")) - before
    assert {path for path in made if not path.is_relative_to(home)} == {
        landing.root / "corpus.toml",
        landing.root / "a.zip",
    }
    assert not list(home.rglob("1.txt"))


@pytest.mark.parametrize(
    "package",
    [
        encrypted(zipped({"1.txt": REPORT, "2.txt": REPORT})),
        zipped({"1.txt": REPORT, "2.txt": REPORT}, zipfile.ZIP_BZIP2),  # cannot be stopped half-way
    ],
)
def test_members_that_cannot_be_read_are_rejected_one_by_one_and_the_package_is_put_aside(
    landing: Landing, package: bytes
) -> None:
    landing.drop("a.zip", package)
    reason = landing.settle().quarantined["a.zip"].reason
    assert "2 reports of which none can be used" in reason
    assert "without password" in reason


def test_a_package_that_was_cut_is_put_aside(landing: Landing) -> None:
    landing.drop("a.zip", zipped({f"{number}.txt": REPORT for number in range(9)})[:-60])
    assert "expected a whole .zip file" in landing.settle().quarantined["a.zip"].reason


QUOTED = b'study_id,report\n1,No effusion.\n2,"FINDINGS: An effusion, small.\nDone."\n'


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "f/Lunguage.csv"])
@pytest.mark.parametrize(
    "cut",
    [
        csv(1, 2)[: csv(1, 2).rindex(b"zebrafish")],
        csv(1, 2, sentence='"Quoted", so that it ends in a quote.')[:-50],
        csv(1, 2).removesuffix(b",positive,tentative\n"),
    ],
)
def test_a_delivery_that_was_cut_in_the_middle_is_not_registered(
    landing: Landing, tmp_path: Path, name: str, cut: bytes
) -> None:
    landing.drop(name, packed(cut) if name.endswith(".gz") else cut)
    (move,) = landing.settle().quarantined.values()
    assert "row 2: found a last record that breaks off, without a line end behind it" in move.reason
    assert landing.batches == {}
    (tmp_path / "Lunguage.csv").write_bytes(cut)
    with pytest.raises(InputError, match="breaks off"):
        landing.home.register(tmp_path / "Lunguage.csv", "by-hand")


@pytest.mark.parametrize("length", [len(QUOTED) - 8, len(QUOTED) - 30])
def test_a_table_of_raw_reports_that_was_cut_is_not_registered(landing: Landing, length: int) -> None:
    landing.drop("a.csv", QUOTED[:length])
    assert "breaks off" in landing.settle().quarantined["a.csv"].reason


def test_a_whole_file_may_lack_its_last_line_end_and_a_broken_record_may_be_the_last(
    landing: Landing,
) -> None:
    landing.drop("whole.csv", csv(1).rstrip(b"\n"))
    landing.drop("broken.csv", csv(2) + b"p1,s3,find\n")
    outcome = landing.settle()
    assert {name: batch.rejected for name, batch in outcome.registered.items()} == {
        "whole.csv": 0,
        "broken.csv": 1,
    }
