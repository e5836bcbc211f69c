"""`make run` on a machine that lacks something says what, in one line, before anything is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
@pytest.mark.parametrize(
    ("python", "said"),
    [
        (
            'case "$1" in --version) echo Python 3.9.2;; *) exit 1;; esac',
            ("3.11 or newer", "Python 3.9.2", "make run PYTHON=python3.12"),
        ),
        ("exit 127", ("3.11 or newer", "not there")),
        ('case "$2" in *ensurepip*) exit 1;; *) exit 0;; esac', ("apt-get install python3-venv",)),
    ],
    ids=["an old Python", "no Python", "Debian without venv"],
)
def test_what_is_missing_is_said_in_one_line(python: str, said: tuple[str, ...], tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    played = tmp_path / "played-python"
    played.write_text(f"#!/bin/sh\n{python}\n")
    played.chmod(0o755)
    command = ["make", "run", f"PYTHON={played}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    line, *others = done.stderr.splitlines()
    assert all(part in line for part in said), line
    assert all(other.startswith("make") for other in others), others
    assert "Installing" not in done.stdout
    assert not (tmp_path / ".venv").exists()
