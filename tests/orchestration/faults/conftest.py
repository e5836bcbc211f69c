"""Small deliveries and homes, and the `lunguage` command as a user runs it: in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from made_once import made_once
from platform_support import environment

from lunguage_assets.sample import write_sample

QUICK_STICK = """
[explicit]
minimum_examples = 1
repetitions = 1
ruler_minimum = 5
orders = 3
bootstrap = 10
"""
"""Settings with which sixty reports have a measuring stick of their own, in seconds."""

Lunguage = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def lunguage() -> Lunguage:
    """Run `lunguage ARGS` on a home."""

    def call(home: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lunguage_assets.cli.main", *map(str, arguments)]
        return subprocess.run(
            command, env=environment(home), capture_output=True, text=True, timeout=300, check=False
        )

    return call


@pytest.fixture(scope="session")
def sixty_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return (
        made_once(
            tmp_path_factory,
            "sixty_reports",
            lambda folder: write_sample(folder / "sixty", reports=60, seed=5),
        )
        / "sixty"
    )


@pytest.fixture(scope="session")
def five_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return (
        made_once(
            tmp_path_factory, "five_reports", lambda folder: write_sample(folder / "five", reports=5, seed=7)
        )
        / "five"
    )


@pytest.fixture
def quick_home(tmp_path: Path) -> Path:
    """An empty home whose settings make a small measuring stick."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.toml").write_text(QUICK_STICK)
    return home


@dataclass(frozen=True)
class Finished:
    """A home in which one batch, `first`, went all the way, uninterrupted; tests only read it."""

    home: Path
    seconds: float
    """That the run took."""
    said: str


@pytest.fixture(scope="session")
def run_of_sixty(
    tmp_path_factory: pytest.TempPathFactory, lunguage: Lunguage, sixty_reports: Path
) -> Finished:
    """Sixty reports with a measuring stick of their own."""
    return _finished(tmp_path_factory, lunguage, "run_of_sixty", sixty_reports, QUICK_STICK)


@pytest.fixture(scope="session")
def run_of_five(tmp_path_factory: pytest.TempPathFactory, lunguage: Lunguage, five_reports: Path) -> Finished:
    """Five reports with the packaged settings, which take the published phrases for so few."""
    return _finished(tmp_path_factory, lunguage, "run_of_five", five_reports, "")


@pytest.fixture(scope="session")
def finished_home(run_of_sixty: Finished) -> Path:
    return run_of_sixty.home


@pytest.fixture(scope="session")
def finished_five(run_of_five: Finished) -> Path:
    return run_of_five.home


def _finished(
    factory: pytest.TempPathFactory, lunguage: Lunguage, name: str, delivery: Path, settings: str
) -> Finished:
    def make(folder: Path) -> None:
        home = folder / "home"
        home.mkdir()
        if settings:
            (home / "settings.toml").write_text(settings)
        started = time.monotonic()
        done = lunguage(home, "run", "--data", delivery, "--batch", "first")
        assert done.returncode == 0, done.stderr
        (folder / "seconds").write_text(str(time.monotonic() - started))
        (folder / "said").write_text(done.stdout)

    folder = made_once(factory, name, make)
    return Finished(folder / "home", float((folder / "seconds").read_text()), (folder / "said").read_text())
