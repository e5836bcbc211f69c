"""The notebook runs from top to bottom, and prints what it shows.

`LUNGUAGE_WRITE_GOLDEN=1 CI=true` writes what it prints into it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from blank_pictures import blank_pictures
from commands import lunguage

WRITES = bool(os.environ.get("LUNGUAGE_WRITE_GOLDEN"))
NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"


COMMAND = [sys.executable, "-m", "lunguage_assets.cli.main"]


def run_here(
    command: list[str], *, run: Callable[..., Any] = subprocess.run, **options: Any
) -> Any:
    """As `subprocess.run`, a command of `lunguage` in this process."""
    if command[: len(COMMAND)] != COMMAND:
        return run(command, **options)
    done = lunguage(Path("none"), *command[len(COMMAND) :])
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.lengthy
def test_the_notebook_prints_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", run_here)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {
        "__name__": "__main__"
    }  # of all cells, as a kernel runs them
    printed = []
    for number, cell in enumerate(cells):
        with blank_pictures(), contextlib.redirect_stdout(io.StringIO()) as stream:
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        printed.append(stream.getvalue().splitlines(keepends=True))
    if WRITES:
        for number, (cell, lines) in enumerate(
            zip(cells, printed, strict=True), start=1
        ):
            cell["execution_count"] = number
            output = {"name": "stdout", "output_type": "stream", "text": lines}
            cell["outputs"] = [output] if lines else []
        NOTEBOOK.write_text(
            json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    shown_lines: list[list[str]] = []
    for cell in cells:
        shown_lines.append([])
        for output in cell["outputs"]:
            shown_lines[-1] += output["text"]
    assert printed == shown_lines
    assert sum(map(bool, shown_lines)) >= 5
