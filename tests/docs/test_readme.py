"""The first page a stranger reads: its rows and picture are what the program prints."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from lunguage_assets.cli.main import commands

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COLUMNS = 96


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """`docs/pictures/example.py`, which reads the sentence of the README."""
    spec = importlib.util.spec_from_file_location(
        "example", ROOT / "docs" / "pictures" / "example.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_the_rows_of_the_readme_are_what_the_program_prints(
    example: ModuleType,
) -> None:
    assert f"```\n{rows_printed(example.SENTENCE)}\n```" in README
    assert example.SENTENCE in " ".join(README.split())


def test_the_picture_of_the_readme_is_what_the_script_draws(
    example: ModuleType,
) -> None:
    assert example.PICTURE.read_text(encoding="utf-8") == example.picture(), (
        "run: python docs/pictures/example.py"
    )


def test_the_python_of_the_readme_runs() -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert ["possible"] in names["annotation"].findings["phrases"].tolist()
