"""The steps of an estimate run without Dagster: what bursts in them is told without its words."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import lunguage

from lunguage_assets.orchestration import estimate, withheld

QUOTED = "There may be a nodule in the left lung."


def test_a_step_that_bursts_ends_the_estimate_quotes_nothing_and_leaves_no_home(
    five: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def burst(*_: object) -> None:
        raise ValueError(QUOTED)

    monkeypatch.setattr(withheld, "_at_work", [None])
    monkeypatch.setattr(estimate, "hedge_phrases", burst)
    home = tmp_path / "home"
    said = lunguage(home, "estimate", "--data", five, "--preset", "models-2025")
    assert said.returncode == 1
    assert "unexpected ValueError in" in said.stderr
    assert QUOTED not in said.stdout + said.stderr
    assert not home.exists()
