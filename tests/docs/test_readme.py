"""Pages that show what there is: rows, code and pictures of the README, rooms and
tables on the page on architecture.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lunguage_assets.cli.main import commands
from lunguage_assets.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COLUMNS = 96


EXAMPLE = runpy.run_path(str(ROOT / "docs" / "pictures" / "example.py"))
"""It reads the sentence of the README."""


def rows_printed(report: str) -> str:
    """What `lunguage read` prints of a report, from the table of findings on."""
    result = CliRunner(env={"COLUMNS": str(COLUMNS)}).invoke(
        commands, ["read", "-"], input=report
    )
    assert result.exit_code == 0
    lines = [line.rstrip() for line in result.output.split("\n")]
    head = next(
        number for number, line in enumerate(lines) if line.startswith("   finding")
    )
    return "\n".join(lines[head:]).rstrip()


def test_the_rows_of_the_readme_are_what_the_program_prints() -> None:
    assert f"```\n{rows_printed(EXAMPLE['SENTENCE'])}\n```" in README
    assert EXAMPLE["SENTENCE"] in " ".join(README.split())


@pytest.mark.parametrize("script", ["example", "architecture"])
def test_a_picture_is_what_its_script_draws(script: str) -> None:
    names = runpy.run_path(str(ROOT / "docs" / "pictures" / f"{script}.py"))
    assert names["PICTURE"].read_text(encoding="utf-8") == names["picture"](), (
        f"run: python docs/pictures/{script}.py"
    )


def test_the_page_on_architecture_shows_every_table_and_module_at_the_root() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = (ROOT / "docs" / "assets.svg").read_text(encoding="utf-8")
    words = " ".join(re.findall(r">([^<>]+)</text>", picture))
    assert [name for name in TABLES if not re.search(rf"\b{name}\b", words)] == []
    modules = [file.name for file in (ROOT / "lunguage_assets").glob("[!_]*.py")]
    assert [name for name in modules if f"`{name}`" not in page] == []


def test_the_python_of_the_readme_runs() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert ["possible"] in names["annotation"].findings["phrases"].tolist()
