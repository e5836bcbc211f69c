"""The page on adding shows of its cue what the program prints, before and after."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lunguage_assets.cli.main import commands
from lunguage_assets.errors import LunguageError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## A cue") : PAGE.index("## A diagnosis")]
BLOCKS = re.findall(r"^```\w*\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
REPORT, ROW_BEFORE, CUE, ROW_AFTER, MESSAGE = BLOCKS


def printed(*options: str) -> str:
    """What `lunguage read` prints of the page's report, on one line."""
    result = CliRunner(env={"COLUMNS": "110"}).invoke(
        commands, ["read", "-", *options], input=REPORT, catch_exceptions=False
    )
    return " ".join(result.output.split())


@pytest.fixture
def cue_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's cue in a file of the name that the page gives it."""
    monkeypatch.chdir(tmp_path)
    file = Path("assertion.yaml")
    file.write_text(CUE, encoding="utf-8")
    return file


def test_the_finding_is_open_without_the_cue_and_absent_with_it(cue_file: Path) -> None:
    assert " ".join(ROW_BEFORE.split()) in printed()
    assert " ".join(ROW_AFTER.split()) in printed("--cues", str(cue_file))


def test_an_example_that_the_cue_does_not_give_is_refused(cue_file: Path) -> None:
    wrong = CUE.replace("Pneumothorax: negated", "Pneumothorax: hedged")
    cue_file.write_text(wrong, encoding="utf-8")
    message = " ".join(MESSAGE.split()).removeprefix("lunguage: ")
    with pytest.raises(LunguageError, match=re.escape(message)):
        printed("--cues", str(cue_file))
