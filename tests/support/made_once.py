"""What several test processes need and only one of them makes."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]
) -> Path:
    """A folder that the first process filled with `make(folder)`, and that no test
    changes.
    """
    own_folder = factory.getbasetemp()
    shared = (
        own_folder.parent if "PYTEST_XDIST_WORKER" in os.environ else own_folder
    )  # of one pytest run, in any case
    folder = shared / name
    done = shared / f"{name}.made"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
