"""An archive is unpacked up to a stated limit, and never onto the disk; what was cut is
no delivery.
"""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
from landing_drops import csv, packed

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.texts import archives
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.errors import InputError
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.workspace.home import Home

REPORT = b"FINDINGS: No effusion."


def zipped(members: dict[str, bytes]) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in members.items():
            package.writestr(name, content)
    return stream.getvalue()


def encrypted(package: bytes) -> bytes:
    """The members' bits that say that they have a password; whatever it is."""
    for head, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = -1
        while (start := package.find(head, start + 1)) >= 0:
            position = start + offset
            package = package[:position] + b"\x01" + package[position + 1 :]
    return package


def repeated(text: str, rows_of_it: int) -> bytes:
    """Parquet with one text many times, of which it keeps one."""
    stream = BytesIO()
    pd.DataFrame(
        {"study_id": range(rows_of_it), "report": [text] * rows_of_it}
    ).to_parquet(stream)
    return stream.getvalue()


def studies(folder: Path, name: str, content: bytes) -> set[str]:
    """Studies that are read in a folder with one file."""
    (folder / name).write_bytes(content)
    delivery = find_delivery(folder)
    if delivery.texts is None:
        return set(take_in(delivery, CorpusSettings()).reports["study_id"])
    return set(receive(delivery).report_texts["study_id"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("reports.parquet", repeated("x" * 4_000, 1_000)),
        ("Lunguage.csv.gz", packed(csv(1) + b"x" * (4 << 20))),
        ("many.zip", zipped({f"{n}.txt": b"x" * (1 << 20) for n in range(4)})),
        (
            "within.zip",
            zipped({f"{n}.txt.gz": packed(b"x" * (9 << 20)) for n in "1234"}),
        ),
    ],
)
def test_a_decompression_bomb_is_refused_with_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    monkeypatch.setattr(archives, "MOST_UNPACKED", 3 << 20)
    message = r"expected at most 3 MiB.*in several deliveries"
    with pytest.raises(InputError, match=message):
        studies(tmp_path, name, content)


def test_two_files_of_one_name_in_a_package_are_read_once_each(tmp_path: Path) -> None:
    content = zipped({"1.txt": REPORT, "2.txt": b"Edema."})
    (tmp_path / "a.zip").write_bytes(content.replace(b"2.txt", b"1.txt"))
    received = receive(find_delivery(tmp_path))
    assert received.report_texts["report"].tolist() == [REPORT.decode()]
    assert received.rejected["reason"].tolist() == ["report-repeated"]
    assert "Edema." in received.rejected["content"][0]


def test_names_in_a_package_are_names_and_no_places(tmp_path: Path) -> None:
    names = ["/etc/1.txt", "../../../1.txt", "a/" * 300 + "1.txt", "C:\\files\\1.txt"]
    for name in names:
        content = zipped({name: REPORT, "2.txt": REPORT})
        assert len(studies(tmp_path, "a.zip", content)) == 2
        Home(tmp_path / "home").register(tmp_path / "a.zip", f"a{names.index(name)}")
    assert not list(tmp_path.rglob("1.txt"))


def test_members_that_cannot_be_read_are_rejected_one_by_one(tmp_path: Path) -> None:
    package = encrypted(zipped({"1.txt": REPORT, "2.txt": REPORT}))
    (tmp_path / "a.zip").write_bytes(package)
    received = receive(find_delivery(tmp_path))
    assert received.rejected["reason"].tolist() == ["unreadable-file"] * 2
    assert "without password" in received.rejected["expected"][0]
