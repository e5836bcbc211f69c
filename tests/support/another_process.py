"""A program run twice: in this process, and in one with another hash seed."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout


def printed_here_and_elsewhere(program: str) -> tuple[str, str]:
    """What a Python program prints in this process, and in one that hashes strings
    differently.
    """
    output = io.StringIO()
    with redirect_stdout(output):
        exec(program, {})
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return output.getvalue(), done.stdout
