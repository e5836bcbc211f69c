"""Small deliveries and homes, and the `lunguage` command as a user runs it: in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from platform_support import environment

from lunguage_assets.corpus.synthetic import write_sample

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
        command = [sys.executable, "-m", "lunguage_assets.cli", *map(str, arguments)]
        return subprocess.run(command, env=environment(home), capture_output=True, text=True, timeout=300, check=False)

    return call


@pytest.fixture(scope="session")
def sixty_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deliveries") / "sixty"
    write_sample(folder, reports=60, seed=5)
    return folder


@pytest.fixture(scope="session")
def five_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deliveries") / "five"
    write_sample(folder, reports=5, seed=7)
    return folder


@pytest.fixture
def quick_home(tmp_path: Path) -> Path:
    """An empty home whose settings make a small measuring stick."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.toml").write_text(QUICK_STICK)
    return home


@pytest.fixture(scope="session")
def finished_home(tmp_path_factory: pytest.TempPathFactory, lunguage: Lunguage, sixty_reports: Path) -> Path:
    """A home in which sixty reports went all the way, uninterrupted; tests only read it."""
    home = tmp_path_factory.mktemp("finished") / "home"
    home.mkdir()
    (home / "settings.toml").write_text(QUICK_STICK)
    done = lunguage(home, "run", "--data", sixty_reports, "--batch", "first")
    assert done.returncode == 0, done.stderr
    return home
