"""The tutorial's claim about itself: every command was run, and the output is what it
printed.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import duckdb
import pytest
from commands import lunguage

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
EXPORT = "export LUNGUAGE_HOME=$PWD/"
PROGRAM = ".venv/bin/lunguage "
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_tutorial_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    home = tmp_path
    printed = ""
    example_count = 0
    for language, block in BLOCKS:
        if language == "sql":
            printed += answered(block, tmp_path / "tutorial" / "lunguage.duckdb")
        elif PROGRAM in block:
            lines = block.splitlines()
            shell_lines = [
                line for line in lines if not line.startswith((EXPORT, PROGRAM))
            ]
            subprocess.run(["bash", "-c", "\n".join(shell_lines)], check=True)
            for line in lines:
                if line.startswith(EXPORT):
                    home = tmp_path / line.removeprefix(EXPORT)
                elif line.startswith(PROGRAM):
                    done = lunguage(home, *shlex.split(line)[1:], COLUMNS="110")
                    assert done.returncode == 0, done.stderr
                    printed += done.stdout
        elif not block.startswith("make "):
            missing = [
                passage
                for passage in block.split("...\n")
                if plain(passage) not in plain(printed)
            ]
            assert missing == [], printed
            example_count += 1
    assert example_count > 6


def answered(query: str, file: Path) -> str:
    """Rows of the answer, cells parted by bars."""
    with duckdb.connect(str(file), read_only=True) as connection:
        result = connection.execute(query)
        names = [column[0] for column in result.description or ()]
        return "".join(
            " │ ".join(map(str, row)) + "\n" for row in [names, *result.fetchall()]
        )


def plain(text: str) -> str:
    """Lines without what stands around them and around the bars of a table, and without
    signs of life.
    """
    lines = (line.strip() for line in text.strip().splitlines())
    return "\n".join(
        re.sub(r" *│ *", "│", line)
        for line in lines
        if not line.startswith("still at ")
    )
