"""`lunguage read` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from read_reports import HEDGED

from lunguage_assets.cli.main import commands
from lunguage_assets.errors import InputError


def _read(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(commands, ["read", *arguments], input=given, standalone_mode=False)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "report.txt"
    file.write_text(HEDGED)
    return file


def test_a_report_is_shown_from_a_file_and_from_standard_input(report: Path) -> None:
    of_file, of_input = _read(str(report)), _read("-", given=HEDGED)
    assert "pneumothorax" in of_file.output
    assert of_file.output.split(" ─")[1:] == of_input.output.split(" ─")[1:]


def test_several_files_are_several_reports(report: Path, tmp_path: Path) -> None:
    other = tmp_path / "windows.txt"
    other.write_bytes("There is a 5\xb0 scoliosis. No pneumothorax.".encode("cp1252"))
    document = json.loads(_read("--json", "--views", "AP", str(report), str(other)).output)
    assert [one["study_id"] for one in document["reports"]] == [str(report), str(other)]
    assert document["reports"][0]["view_information"] == "ap"
    assert "5°" in document["reports"][1]["report"]


def test_the_page_is_readable_by_its_owner_only(report: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    said = _read(str(report), "--html", str(page)).output
    assert "may represent" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert "may represent" not in said


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "found nothing"), (b" \n", "found nothing"), (b"\x7fELF\x01\x00\x02\x03" * 9, "no text"),
     (b"x" * 1_000_001, "more than a million bytes"), (None, "no such file")],
)  # fmt: skip
def test_what_is_no_report_is_one_line_with_a_remedy(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "bad.txt"
    if content is not None:
        file.write_bytes(content)
    error = _read(str(file)).exception
    assert isinstance(error, InputError)
    assert said in str(error)
    assert str(error).startswith(str(file))


@pytest.mark.parametrize("arguments", [[], ["--serve", "x.txt"], ["--json", "--html", "x.html", "x.txt"]])
def test_options_that_do_not_go_together_are_refused(arguments: list[str]) -> None:
    assert _read(*arguments).exception is not None
