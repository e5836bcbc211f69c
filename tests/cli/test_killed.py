"""Killed at any moment and run again, a run ends with the bytes of an uninterrupted one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest
from commands import lunguage
from finished_homes import QUICK_STICK
from platform_support import contents, environment

from lunguage_assets.sample import write_sample

pytestmark = pytest.mark.lengthy


def new_home(folder: Path) -> Path:
    folder.mkdir()
    (folder / "settings.toml").write_text(QUICK_STICK)
    return folder


def started(home: Path, sixty: Path) -> subprocess.Popen[bytes]:
    arguments = ["run", "--data", str(sixty), "--batch", "first"]
    command = [sys.executable, "-m", "lunguage_assets.cli.main", *arguments]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, env=environment(home), stdout=nothing, stderr=nothing)


@pytest.fixture(scope="module")
def sixty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deliveries") / "sixty"
    write_sample(folder, reports=60, seed=5)
    return folder


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, sixty: Path) -> tuple[Path, float]:
    """A home after a run, and the seconds that it took."""
    home = new_home(tmp_path_factory.mktemp("uninterrupted") / "home")
    begun = time.monotonic()
    assert started(home, sixty).wait() == 0
    return home, time.monotonic() - begun


@pytest.mark.parametrize("share", [0.3, 0.85])
def test_killed_at_any_moment_and_run_again_the_result_is_byte_identical(
    share: float, uninterrupted: tuple[Path, float], sixty: Path, tmp_path: Path
) -> None:
    whole, seconds = uninterrupted
    home = new_home(tmp_path / "home")
    process = started(home, sixty)
    time.sleep(share * seconds)
    process.kill()
    process.wait()
    done = lunguage(home, "run", "--data", sixty, "--batch", "first", draws=True)
    assert done.returncode == 0, done.stderr
    for part in ("tables", "release", "batches"):
        there = contents(home / part)
        assert {name: there[name] for name in there if not name.endswith(".tmp")} == contents(whole / part)
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        assert not [run for run in instance.get_runs() if not run.is_finished]
