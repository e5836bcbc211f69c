"""Killed at any moment and run again, a run ends with the bytes of an uninterrupted one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest
from finished_homes import QUICK_STICK
from platform_support import contents, environment, without_expectations

from lunguage_assets.sample import write_sample

pytestmark = pytest.mark.lengthy


def new_home(folder: Path) -> Path:
    without_expectations(folder)
    (folder / "settings.toml").write_text(QUICK_STICK)
    return folder


def started(home: Path, forty: Path) -> subprocess.Popen[bytes]:
    arguments = ["run", "--data", str(forty), "--batch", "first"]
    command = [sys.executable, "-m", "lunguage_assets.cli.main", *arguments]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, env=environment(home), stdout=nothing, stderr=nothing)


def test_killed_at_any_moment_and_run_again_the_result_is_byte_identical(tmp_path: Path) -> None:
    forty = tmp_path / "forty"
    write_sample(forty, reports=40, seed=5)
    whole = new_home(tmp_path / "whole")
    begun = time.monotonic()
    assert started(whole, forty).wait() == 0
    seconds = time.monotonic() - begun
    home = new_home(tmp_path / "home")
    for share in (0.3, 0.6):  # the second is killed further on, in what the first has not finished
        process = started(home, forty)
        time.sleep(share * seconds)
        process.kill()
        process.wait()
    assert started(home, forty).wait() == 0
    for part in ("tables", "release", "batches"):
        there = contents(home / part)
        assert {name: there[name] for name in there if not name.endswith(".tmp")} == contents(whole / part)
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        assert not [run for run in instance.get_runs() if not run.is_finished]
