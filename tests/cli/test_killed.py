"""Killed at any moment and run again, a run ends with the bytes of an uninterrupted one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest
from platform_support import contents, environment

pytestmark = pytest.mark.lengthy


@pytest.mark.parametrize("share", [0.25, 0.6, 0.92])
def test_killed_at_any_moment_and_run_again_the_result_is_byte_identical(
    share: float, run_of_sixty, quick_home: Path, sixty_reports: Path, lunguage
) -> None:
    command = [
        sys.executable,
        "-m",
        "lunguage_assets.cli.main",
        "run",
        "--data",
        str(sixty_reports),
        "--batch",
        "first",
    ]
    process = subprocess.Popen(
        command, env=environment(quick_home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(share * run_of_sixty.seconds)
    process.kill()
    process.wait()
    done = lunguage(quick_home, "run", "--data", sixty_reports, "--batch", "first")
    assert done.returncode == 0, done.stderr
    for part in ("tables", "release", "batches"):
        found = {
            name: content
            for name, content in contents(quick_home / part).items()
            if not name.endswith(".tmp")
        }
        assert found == contents(run_of_sixty.home / part)
    with dg.DagsterInstance.from_config(str(quick_home / "dagster")) as instance:
        assert not [run for run in instance.get_runs() if not run.is_finished]
