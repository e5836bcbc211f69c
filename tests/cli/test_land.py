"""`lunguage land`: one pass without a daemon, told to a person."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner, Result
from landing_drops import DECLARED, Landing, csv

from lunguage_assets.cli.main import commands
from lunguage_assets.errors import LunguageError
from lunguage_assets.orchestration.partitions import REPORT_BATCH
from lunguage_assets.workspace.home import Home


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Landing:
    for name in ("landing", "instance"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "instance"))
    # The command names its home to the processes that it starts.
    monkeypatch.setenv("LUNGUAGE_HOME", "")
    return Landing(tmp_path / "landing", Home(tmp_path / "home"))


def lunguage_land(landing: Landing, *arguments: str) -> Result:
    environment = {"LUNGUAGE_LANDING": str(landing.root)}
    return CliRunner(env=environment).invoke(
        commands, ["land", "--home", str(landing.home.root), *arguments]
    )


def test_deliveries_are_registered_or_put_aside_with_status_one(
    on_disk: Landing,
) -> None:
    on_disk.drop("corpus.toml", DECLARED)
    on_disk.drop("a\nlunguage: all is well \x1b[32m.csv", csv(1))
    on_disk.drop("bad.csv", b"x,y\n1,2\n")
    waiting = lunguage_land(on_disk)
    assert "waiting      bad.csv: it may still be written to" in waiting.output
    result = lunguage_land(on_disk, "--now")
    *lines, summary = result.output.splitlines()
    assert sorted(line.split()[0] for line in lines) == ["quarantined", "registered"]
    assert all(line.isprintable() for line in lines)
    assert summary == "Landing folder: 1 quarantined, 1 registered."
    assert isinstance(result.exception, LunguageError)
    assert "REASON.txt" in str(result.exception)
    with dg.DagsterInstance.get() as instance:
        assert len(instance.get_dynamic_partitions(REPORT_BATCH.name)) == 1
    assert lunguage_land(on_disk).output == "Landing folder: 1 landed before.\n"
