"""What is packed is read like what is not, and never unpacked onto the disk."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.errors import InputError
from lunguage_assets.workspace.home import Home

REPORT = b"FINDINGS: No effusion."


def zipped(members: dict[str, bytes]) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in members.items():
            package.writestr(name, content)
    return stream.getvalue()


def test_two_files_of_one_name_in_a_package_are_read_once_each(tmp_path: Path) -> None:
    content = zipped({"1.txt": REPORT, "2.txt": b"Edema."})
    (tmp_path / "a.zip").write_bytes(content.replace(b"2.txt", b"1.txt"))
    received = receive(find_delivery(tmp_path))
    assert received.report_texts["report"].tolist() == [REPORT.decode()]
    assert received.rejected["reason"].tolist() == ["report-repeated"]
    assert "Edema." in received.rejected["content"][0]


def test_names_in_a_package_are_names_and_no_places(tmp_path: Path) -> None:
    names = ["/etc/1.txt", "../../../1.txt", "a/" * 300 + "1.txt", "C:\\files\\1.txt"]
    for number, name in enumerate(names):
        content = zipped({name: REPORT, "2.txt": REPORT})
        (tmp_path / "a.zip").write_bytes(content)
        assert len(receive(find_delivery(tmp_path)).report_texts) == 2
        Home(tmp_path / "home").register(tmp_path / "a.zip", f"a{number}")
    assert not list(tmp_path.rglob("1.txt"))


def test_a_packed_table_says_so_by_its_name(tmp_path: Path) -> None:
    content = zipped({"export.csv": b"study_id,report\n1,No effusion.\n"})
    (tmp_path / "reports.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"reports\.zip.*expected.*\.csv\.zip"):
        find_delivery(tmp_path)
    (tmp_path / "reports.zip").rename(tmp_path / "reports.csv.zip")
    texts = receive(find_delivery(tmp_path)).report_texts
    assert texts["report"].tolist() == ["No effusion."]
