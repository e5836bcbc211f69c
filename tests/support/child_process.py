"""Programs of the tests in processes of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

SUPPORT = Path(__file__).parent
ROOT = SUPPORT.parents[1]
"""The repository: the package that is tested is imported from here, also where another
one is installed.
"""


def environment(around: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables with which a process imports the package and what supports its
    tests.
    """
    variables = dict(os.environ if around is None else around)
    path = os.pathsep.join(
        [str(SUPPORT), str(ROOT), *filter(None, [variables.get("PYTHONPATH")])]
    )
    return {**variables, "PYTHONPATH": path}


def program(name: str, *arguments: str) -> list[str]:
    """The command that runs a program of this folder."""
    return [sys.executable, str(SUPPORT / name), *arguments]
