"""Dagster's own `dg` finds the project by the lines in pyproject.toml."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DG = Path(sys.executable).with_name("dg")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DG.exists() and shutil.which("dg") is None, reason="needs the extra dev (dg)"),
]


def dg(*arguments: str, home: Path) -> str:
    own = {"LUNGUAGE_HOME": str(home), "VIRTUAL_ENV": sys.prefix}
    if home.exists():
        own["DAGSTER_HOME"] = str(home / "dagster")
    environment = {**os.environ, **own}
    command = [str(DG) if DG.exists() else "dg", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.lengthy
def test_dg_checks_the_definitions_and_lists_every_asset_and_makes_no_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert "loaded successfully" in dg("check", "defs", home=home)
    listed = json.loads(dg("list", "defs", "--json", home=home))
    assets = {asset["asset_key"] for asset in listed["assets"]}
    assert {"structured_findings", "hedge_vocabulary", "lunguage_plus_plus", "release"} <= assets
    assert not home.exists()
