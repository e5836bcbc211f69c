"""A small delivery, and a home that the `lunguage` command finished in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from made_once import made_once
from platform_support import environment

from lunguage_assets.sample import write_sample


@pytest.fixture(scope="session")
def five_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        write_sample(folder / "five", reports=5, seed=7)

    return made_once(tmp_path_factory, "five_reports_of_faults", make) / "five"


@pytest.fixture(scope="session")
def finished_five(tmp_path_factory: pytest.TempPathFactory, five_reports: Path) -> Path:
    """A home in which the delivery went all the way, uninterrupted, as batch `first`; tests only read it."""

    def make(folder: Path) -> None:
        home = folder / "home"
        home.mkdir()
        command = [sys.executable, "-m", "lunguage_assets.cli.main", "run"]
        command += ["--data", str(five_reports), "--batch", "first"]
        subprocess.run(command, env=environment(home), check=True, capture_output=True, timeout=300)

    return made_once(tmp_path_factory, "finished_five_of_faults", make) / "home"
