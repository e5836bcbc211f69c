"""`lunguage estimate` says beforehand what a run asks and costs, with a range;
and what the paper's own run cost.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from commands import lunguage
from judges_files import judges_file

from lunguage_assets.cli.main import commands
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.estimate import (
    ANSWER_TOKENS,
    PUBLISHED_STEPS,
    answers_per_judge,
    price_of,
)
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger import Attempt, Ledger
from lunguage_assets.judges.requests import Reply
from lunguage_assets.sample.files import write_sample

SETTINGS = (
    "[explicit]\nminimum_examples = 1\nreference_scale_minimum = 2\nrepetitions = 2\npanel_steps = 3\n"
    "patience = 4\nstep_limit = 15\n"
)
RATINGS = "rater,phrase,sentence,rating\n" + "".join(
    f"r{n},likely,s,{80 + n}\nr{n},versus,s,{20 + n}\n" for n in range(3)
)


@pytest.fixture(scope="module")
def delivery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("delivered") / "ten"
    write_sample(folder, reports=10, seed=3)
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home whose judges are nowhere."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "settings.toml").write_text(SETTINGS)
    (folder / "anchor_ratings.csv").write_text(RATINGS)
    nowhere = "http://127.0.0.1:9/v1"
    judges = judges_file(nowhere, ("one", "two"), "limits = { in_flight = 1 }", "one")
    (folder / "judges.toml").write_text(judges)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setenv("LUNGUAGE_HOME", str(folder))
    monkeypatch.setenv("LUNGUAGE_JUDGES", str(folder / "judges.toml"))
    return folder


def estimate(folder: Path, *options: str | Path) -> list[dict[str, Any]]:
    command = ["estimate", "--ranker", "two", "--json", folder / "e.json", *options]
    CliRunner().invoke(
        commands, [*map(str, command)], catch_exceptions=False, standalone_mode=False
    )
    lines: list[dict[str, Any]] = json.loads((folder / "e.json").read_text())
    return lines


def test_without_files_an_estimate_is_of_what_is_registered(
    home: Path, delivery: Path, tmp_path: Path
) -> None:
    of_files = estimate(tmp_path, "--data", delivery, "--batch", "b")
    registered = lunguage(home, "register", "--data", delivery, "--batch", "b")
    assert registered.returncode == 0
    of_home = estimate(tmp_path)
    assert of_home == of_files
    assert [line["task"] for line in of_home] == ["extract", "compare", "total"]
    assert not (home / "tables").exists(), "an estimate makes nothing"
    total = of_home[-1]
    assert total["usd_at_most"] > total["usd"] > total["usd_at_least"] > 0


SLOT = {
    "provider": "openai",
    "model": "m",
    "params": {"max_tokens": 100},
    "price": {"input": 1, "output": 10, "as_of": "2026-01-01"},
}


def estimated(ledger: Ledger | None = None) -> list[float]:
    """Of a hundred questions."""
    record: dict[Any, Any] = {}
    if ledger is not None:
        record = ledger.statistics().query("judge == 'j'").to_dict("records")[0]
    config = LLMJudgeConfig.model_validate(SLOT)
    return [*price_of(config, "compare", np.full(3, 100), record)]


def test_what_the_ledger_knows_goes_before_what_is_assumed(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    guess = estimated()

    def answered(key: str, failure: str | None = None, **counts: Any) -> None:
        answer = {"input_tokens": 0, "output_tokens": 0, **counts}
        reply = Reply("sentence_1", "m", **answer)
        ledger.record(Attempt(key * 32, "j", "compare", "m", reply, failure))  # type: ignore[arg-type]

    answered("aa")
    assert estimated(ledger) == guess, "of unknown length, not free"
    answered("bb", "timeout")
    answered("bb", "unreadable", input_tokens=700, output_tokens=30)
    answered("bb", input_tokens=300, output_tokens=10)
    assert estimated(ledger)[1] == pytest.approx(1.5 * 100 * (500 + 20 * 10) / 1e6)
    at_least, usd, at_most = guess
    assert at_most > 5 * at_least > 0
    assert usd >= at_least


def test_the_papers_cost_follows_from_its_steps_and_prices() -> None:
    configuration = load_judges(preset="models-2025")
    members = configuration.panel_members
    prices = {key: configuration.models[key].price for key in members}
    calls = 2066 * answers_per_judge(PUBLISHED_STEPS, panel_steps=10, judges=4)
    # a comparison prompt of the paper is about 500 tokens
    tokens = (500 * calls, ANSWER_TOKENS["compare"] * calls)
    costs = {key: price.cost(*tokens) for key, price in prices.items() if price}
    assert sum(costs.values()) == pytest.approx(92.16, rel=0.10)
    assert costs["gpt-4o"] == pytest.approx(39.49, rel=0.10)
    assert costs["claude-sonnet-4"] == pytest.approx(45.12, rel=0.10)
    # Its answers are longer than a label.
    assert costs["gemini-2.5-flash"] == pytest.approx(5.59, rel=0.20)
    assert costs["medgemma-27b"] == 0
