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
def on_disk(tmp_path: Path) -> Landing:
    (tmp_path / "landing").mkdir()
    return Landing(tmp_path / "landing", Home(tmp_path / "home"))


@pytest.fixture(autouse=True)
def own_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "instance").mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "instance"))
    monkeypatch.setenv(
        "LUNGUAGE_HOME", ""
    )  # the command names its home to the processes that it starts


def lunguage_land(landing: Landing, *arguments: str) -> Result:
    environment = {"LUNGUAGE_LANDING": str(landing.root)}
    return CliRunner(env=environment).invoke(
        commands, ["land", "--home", str(landing.home.root), *arguments]
    )


def test_deliveries_are_registered_or_put_aside_with_status_one(
    on_disk: Landing,
) -> None:
    on_disk.drop("corpus.toml", DECLARED)
    on_disk.drop("a.csv", csv(1, 2))
    on_disk.drop("same.csv", csv(1, 2))
    on_disk.drop("bad.csv", b"x,y\n1,2\n")
    on_disk.drop("notes.txt", "for people")
    on_disk.drop("f/Lunguage_vocab.csv", "")
    result = lunguage_land(on_disk, "--now")
    *lines, summary = (line.split("  ")[0] for line in result.output.splitlines())
    assert sorted(lines) == [
        "passed over",
        "quarantined",
        "registered",
        "skipped",
        "waiting",
    ]
    assert summary.startswith("Landing folder: 1 registered, 1 skipped, 1 quarantined")
    assert isinstance(result.exception, LunguageError)
    assert "REASON.txt" in str(result.exception)
    with dg.DagsterInstance.get() as instance:
        assert instance.get_dynamic_partitions(REPORT_BATCH.name) == ["a"]


def test_a_name_breaks_no_line_and_colours_no_terminal(on_disk: Landing) -> None:
    on_disk.drop("a\nlunguage: all is well \x1b[32m.csv", csv(1))
    on_disk.drop("b\x1b[31m/corpus.toml", "x")
    on_disk.drop("b\x1b[31m/Lunguage\r.csv", csv(2))
    printed = lunguage_land(on_disk, "--now").output
    assert sorted(line.split()[0] for line in printed.splitlines()) == [
        "Landing",
        "quarantined",
        "registered",
    ]
    assert all(line.isprintable() for line in printed.splitlines())


def test_without_now_it_waits_for_the_marker(on_disk: Landing) -> None:
    on_disk.home.create()
    on_disk.home.settings_file.write_text("[landing]\nstable_s = 30\n")
    on_disk.drop("a.csv", csv(1))
    assert (
        "waiting      a.csv: it may still be written to"
        in lunguage_land(on_disk).output
    )
    on_disk.drop("a.csv.done", "")
    assert "registered   a.csv: batch a, 1 studies" in lunguage_land(on_disk).output
    assert lunguage_land(on_disk).output == "Landing folder: 1 landed before.\n"
