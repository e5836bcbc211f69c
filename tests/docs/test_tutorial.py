"""The tutorial's claim about itself: every command was run, and the output is what it printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

pytestmark = pytest.mark.lengthy

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COLUMNS = "110"
PROGRAM = """
import sys
from contextlib import nullcontext
sys.argv[0] = "lunguage"
if sys.argv[1] == "run":
    from blank_pictures import blank_pictures
from lunguage_assets.cli.main import main
with blank_pictures() if sys.argv[1] == "run" else nullcontext():
    main()
"""
"""The command, whose pictures nobody looks at."""


def test_the_commands_of_the_tutorial_print_what_it_shows(tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "lunguage"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{PROGRAM}' \"$@\"\n")
    program.chmod(0o755)
    exports, printed, shown = "", "", 0
    for language, block in BLOCKS:
        if language == "sql":
            printed += answered(block, tmp_path / "tutorial" / "lunguage.duckdb")
        elif ".venv/bin/" in block:
            exports += "".join(line for line in block.splitlines(keepends=True) if line.startswith("export "))
            printed += run(exports + block, tmp_path)
        elif not block.startswith("make "):
            assert [part for part in block.split("...\n") if plain(part) not in plain(printed)] == [], printed
            shown += 1
    assert shown > 7


def run(script: str, folder: Path) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LUNGUAGE", "DAGSTER"))}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**kept, "COLUMNS": COLUMNS, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests' / 'support'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def answered(query: str, file: Path) -> str:
    """Rows of the answer, cells parted by bars."""
    with duckdb.connect(str(file), read_only=True) as connection:
        result = connection.execute(query)
        names = [column[0] for column in result.description or ()]
        return "".join(" │ ".join(map(str, row)) + "\n" for row in [names, *result.fetchall()])


def plain(text: str) -> str:
    """Lines without what stands around them and around the bars of a table, and without signs of life."""
    lines = (line.strip() for line in text.strip().splitlines())
    return "\n".join(re.sub(r" *│ *", "│", line) for line in lines if not line.startswith("still at "))
