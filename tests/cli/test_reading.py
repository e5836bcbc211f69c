"""`lunguage read` and `lunguage annotate` from the command line."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result
from read_reports import HEDGED

import lunguage_assets
from lunguage_assets.annotation import method
from lunguage_assets.cli.main import commands
from lunguage_assets.errors import InputError


def _run(command: str, *arguments: str, standard_input: str | None = None) -> Result:
    return CliRunner().invoke(
        commands, [command, *arguments], input=standard_input, standalone_mode=False
    )


_read = partial(_run, "read")
_annotate = partial(_run, "annotate")


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "report.txt"
    file.write_text(HEDGED)
    return file


def test_a_report_is_shown_from_a_file_and_from_standard_input(report: Path) -> None:
    of_file = _read(str(report))
    of_input = _read("-", standard_input=HEDGED)
    assert "pneumothorax" in of_file.output
    assert of_file.output.split(" ─")[1:] == of_input.output.split(" ─")[1:]


def test_several_files_are_several_reports(report: Path, tmp_path: Path) -> None:
    second_report = tmp_path / "windows.txt"
    second_report.write_bytes(b"There is a 5\xb0 scoliosis. No pneumothorax.")
    files = [str(report), str(second_report)]
    first, second = json.loads(_read("--json", "--views", "AP", *files).output)[
        "reports"
    ]
    assert [first["study_id"], second["study_id"]] == files
    assert first["view_information"] == "ap"
    assert "5°" in second["report"]


def test_the_page_is_readable_by_its_owner_only(report: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    printed = _read(str(report), "--html", str(page)).output
    assert "may represent" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert "may represent" not in printed


def test_cues_of_a_file_are_read_with_the_bundled_ones(tmp_path: Path) -> None:
    cues, report, reports = (
        tmp_path / name for name in ("assertion.yaml", "report.txt", "reports.csv")
    )
    entry = 'examples: [{text: "Nix edema.", edema: negated}]'
    cues.write_text(
        f"- {{id: negated.nix, category: negated, patterns: [nix], {entry}}}\n"
    )
    report.write_text("Nix pneumothorax.")
    reports.write_text("study_id,report\na,Nix pneumothorax.\n")

    def status(*options: str) -> str:
        document = json.loads(_read(str(report), "--json", *options).output)
        return str(document["reports"][0]["findings"][0]["status"])

    def p_of_label(*options: str) -> float:
        output = _annotate(str(reports), *options).output
        labels = pd.read_csv(io.StringIO(output)).set_index("label")
        return float(labels.loc["pneumothorax", "p"])

    assert (status(), status("--cues", str(cues))) == ("dp", "dn")
    assert p_of_label() > 0.5 > p_of_label("--cues", str(cues))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "found nothing"), (b" \n", "found nothing"), (b"\x7fELF\x01\x00\x02\x03" * 9, "no text"),
     (b"x" * 1_000_001, "more than a million bytes"), (None, "no such file")],
)  # fmt: skip
def test_what_is_no_report_is_one_line_with_a_remedy(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    file = tmp_path / "bad.txt"
    if content is not None:
        file.write_bytes(content)
    error = _read(str(file)).exception
    assert isinstance(error, InputError)
    assert message in str(error)
    assert str(error).startswith(str(file))


def test_without_a_file_there_is_nothing_to_read() -> None:
    assert "Name a file" in str(_read().exception)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three reports, and between them a row with a value too many."""
    file = tmp_path / "mine.csv"
    rows = [
        'A-1,"FINDINGS: Possible\nedema.",x',
        "B 2,too,many,values",
        "C,No effusion.,y",
        "D,,z",
    ]
    file.write_text("\n".join(["Accession,Narrative,other", *rows, ""]))
    return file


def test_a_table_is_labelled_in_one_command_under_its_own_ids(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(method, "REPORTS_AT_ONCE", 1)
    printed = _annotate(
        str(table), "--text-column", "narrative", "--id-column", "accession"
    )
    assert "1 rows that cannot be read (2)" in str(printed.exception)
    texts = pd.Series(
        {"A-1": "FINDINGS: Possible\nedema.", "C": "No effusion.", "D": ""},
        name="report",
    )
    expected = lunguage_assets.annotate(texts.to_frame()).labels
    assert printed.output == expected.to_csv(index=False)
    printed = _annotate(str(table), "--text-column", "Narrative", "--wide")
    wide = pd.read_csv(io.StringIO(printed.output))
    assert wide["study_id"].tolist() == [1, 3, 4]
    assert wide["fracture"].isna().all()
    assert wide["pleural effusion"].tolist()[1] == 0


@pytest.mark.parametrize("column", ["report", "accession_number"])
def test_a_column_that_is_not_there_is_named_beside_those_that_are(
    table: Path, column: str
) -> None:
    message = str(_annotate(str(table), "--text-column", column).exception)
    for words in (column, "'Accession', 'Narrative', 'other'", "--text-column"):
        assert words in message
