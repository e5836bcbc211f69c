"""Killed at any moment and run again, a run ends with the bytes of an uninterrupted
one.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import dagster as dg
import pytest
from commands import lunguage
from finished_homes import QUICK_STICK
from platform_support import contents, environment, without_expectations
from served_home import wait_for

from lunguage_assets.sample.files import write_sample

pytestmark = pytest.mark.lengthy


def new_home(folder: Path) -> Path:
    without_expectations(folder)
    (folder / "settings.toml").write_text(QUICK_STICK)
    return folder


def started(home: Path, forty: Path) -> subprocess.Popen[bytes]:
    arguments = ["run", "--data", str(forty), "--batch", "first"]
    command = [sys.executable, "-m", "lunguage_assets.cli.main", *arguments]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        command, env=environment(home), stdout=nothing, stderr=nothing
    )


def tables(home: Path) -> int:
    """How many tables are stored, or being stored."""
    return len(list((home / "tables").rglob("*.parquet*")))


def test_killed_at_any_moment_and_run_again_the_result_is_byte_identical(
    tmp_path: Path,
) -> None:
    forty = tmp_path / "forty"
    write_sample(forty, reports=40, seed=5)
    uninterrupted = new_home(tmp_path / "whole")
    home = new_home(tmp_path / "home")
    run = ("run", "--data", forty, "--batch", "first")
    assert lunguage(uninterrupted, *run, draws=True).returncode == 0
    total_count = tables(uninterrupted)
    # The second is killed further on, in what the first has not finished.
    for share in (0.3, 0.7):
        process = started(home, forty)
        are_there = partial(lambda count: tables(home) > count, share * total_count)
        wait_for(are_there, 300, "the run does not get on", every=0.02)
        process.kill()
        process.wait()
    assert started(home, forty).wait() == 0
    for folder in ("tables", "release", "batches"):
        files = contents(home / folder)
        finished = {name: files[name] for name in files if not name.endswith(".tmp")}
        assert finished == contents(uninterrupted / folder)
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        assert not [run for run in instance.get_runs() if not run.is_finished]
