"""`lunguage doctor` tells how a judge's latest calls went, before anything is sent or spent."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lunguage_assets.cli.main import commands
from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.ledger.ledger import Ledger

JUDGES = """
preset = "one"
presets.one = { panel = "one", extractor = "model" }
panels.one = { members = ["model"] }
judges.model = { provider = "openai", model = "model-1", retires_on = 2199-01-01 }
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "judges.toml").write_text(JUDGES)
    monkeypatch.setenv("LUNGUAGE_JUDGES", str(tmp_path / "judges.toml"))
    monkeypatch.setenv("OPENAI_API_KEY", "invented")
    return tmp_path / "home"


def told(home: Path) -> str:
    done = CliRunner().invoke(commands, ["doctor", "--home", str(home), "--data-class", "synthetic"])
    assert done.exit_code == 0, done.output
    return done.output


def test_calls_that_fail_are_told_with_what_to_do_and_nothing_is_told_of_a_judge_that_was_never_asked(
    home: Path,
) -> None:
    assert "failed calls" not in told(home)
    assert not (home / "ledger.sqlite").exists()
    ledger = Ledger.open(home / "ledger.sqlite")
    answered = Attempt(
        key="a" * 64, judge="model", stage="compare", model="model-1", time="2026-11-20T00:00:00.000000Z",
        answer="sentence_1", returned_model="model-1",
    )  # fmt: skip
    ledger.record_all([answered])
    assert "ok       judge 'model': failed calls: 0 of the last 1 (0.0%)." in told(home)
    failed = [
        Attempt(
            key=f"{number:064x}", judge="model", stage="compare", model="model-1",
            time=f"2026-11-21T00:00:0{number}.000000Z", failure="server",
        )
        for number in range(3)
    ]  # fmt: skip
    ledger.record_all(failed)
    said = told(home)
    assert (
        "warning  judge 'model': failed calls: 3 of the last 4 (75.0%). See `lunguage ledger stats`." in said
    )


def test_a_ledger_that_cannot_be_read_is_a_warning(home: Path) -> None:
    home.mkdir()
    (home / "ledger.sqlite").write_text("no database")
    assert "warning  ledger" in told(home)
