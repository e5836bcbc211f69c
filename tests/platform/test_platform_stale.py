"""Batches made with other settings are made again by the next run of any batch: a release never mixes
them.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from lunguage_assets.data_files import resource
from lunguage_assets.sample import write_sample

pytestmark = pytest.mark.lengthy

Lunguage = Callable[..., subprocess.CompletedProcess[str]]


def test_a_changed_setting_makes_the_other_batches_again(
    lunguage: Lunguage, finished_home: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(finished_home, home)
    with (home / "settings.toml").open("a") as stream:
        stream.write("[implicit]\nmode = 'paper'\nmerge_threshold = 0.99\n")
    write_sample(tmp_path / "more", reports=5, seed=7)
    done = lunguage(home, "run", "--data", tmp_path / "more", "--batch", "second")
    assert done.returncode == 0, done.stderr
    begun = [line.split("] ")[1] for line in done.stdout.splitlines() if line.startswith("[")]
    assert [line for line in begun if "first" in line] == [
        "expand (panel x first), changed: implicit settings, pathways or blacklist"
    ]
    assert {"ingest (second)", "fit (panel x second)", "expand (panel x second)"} < set(begun)
    released = pd.read_parquet(
        home / "release" / "panel" / "v2" / "restricted" / "Lunguage_plus_plus.parquet"
    )
    assert set(released["report_batch"]) == {"first", "second"}
    assert set(released["mode"]) == {"paper"}


def test_pathways_in_the_home_replace_the_packaged_ones_and_an_error_in_them_names_its_line(
    lunguage: Lunguage, finished_home: Path, sixty_reports: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(finished_home, home)
    packaged = resource("pathways.yaml").read_text(encoding="utf-8")
    (home / "pathways.yaml").write_text(
        packaged.replace("finding: hyperinflation", "finding: hyperexpansion"), encoding="utf-8"
    )
    done = lunguage(home, "run", "--data", sixty_reports, "--batch", "first")
    assert done.returncode == 0, done.stderr
    released = pd.read_parquet(
        home / "release" / "panel" / "v2" / "restricted" / "Lunguage_plus_plus.parquet"
    )
    implied = set(released.loc[released["source"] == "expansion", "name"])
    assert "hyperexpansion" in implied
    assert "hyperinflation" not in implied
    (home / "pathways.yaml").write_text(
        packaged.replace("finding: hyperinflation, status: dp", "finding: hyperinflation, status: yes")
    )
    line = next(n for n, text in enumerate(packaged.splitlines(), 1) if "finding: hyperinflation" in text)
    failed = lunguage(home, "run", "--data", sixty_reports, "--batch", "first")
    assert failed.returncode == 1
    assert f"line {line}" in failed.stderr
    assert "pathways.yaml" in failed.stderr
