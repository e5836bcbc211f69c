"""The command as a process: how it ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys
from lunguage_assets.cli import main as module

def main():
    atexit.register(print, "tidied up")
    print("said", end=" ")
    {end}

module.main = main
module.process()
"""


@pytest.mark.parametrize(
    ("end", "status"), [("return", 0), ("sys.exit(3)", 3), ("sys.exit('why')", 1), ("1 / 0", 1)]
)
def test_a_process_says_everything_tidies_up_and_ends_with_its_status(end: str, status: int) -> None:
    command = [sys.executable, "-c", PROGRAM.format(end=end)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("said tidied up\n", status)
    assert ("ZeroDivisionError" in ended.stderr) == (end == "1 / 0")
