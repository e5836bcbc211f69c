"""`lunguage estimate` says beforehand what a run asks: calls, tokens, dollars, minutes;
and what the paper's own run cost.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from commands import lunguage
from loopback import LoopbackServer
from platform_support import without_expectations

from lunguage_assets.cli.main import commands
from lunguage_assets.judges.configuration import load_judges
from lunguage_assets.judges.estimate import (
    LABEL_TOKENS,
    PUBLISHED_STEPS,
    RecordedAsker,
    answers_per_judge,
    estimate_line,
    estimate_totals,
    expected_reasoning,
)
from lunguage_assets.judges.judge_config import LLMJudgeConfig
from lunguage_assets.judges.ledger.attempts import Attempt
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.judges.requests import Prompt
from lunguage_assets.orchestration import estimate as orchestration_estimate
from lunguage_assets.orchestration import redaction
from lunguage_assets.sample import write_sample

SETTINGS = (
    "[explicit]\nminimum_examples = 1\nreference_scale_minimum = 2\nrepetitions = 2\npanel_steps = 3\n"
    "patience = 4\nstep_limit = 15\n"
)
RATINGS = "rater,phrase,sentence,rating\n" + "".join(
    f"r{n},likely,s,{80 + n}\nr{n},versus,s,{20 + n}\n" for n in range(3)
)
JUDGE = """
[judges.{key}]
provider = "openai-compatible"
model = "{key}-model"
base_url = "{url}"
params = {{ max_tokens = 100 }}
limits = {{ in_flight = 1 }}
price = {{ input = 1.0, output = 2.0, as_of = 2026-11-01 }}
"""
PANEL = """
preset = "loopback"
[panels.both]
members = ["one", "two"]
[presets.loopback]
panel = "both"
extractor = "one"
"""


@pytest.fixture(scope="module")
def delivery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("delivered") / "ten"
    write_sample(folder, reports=10, seed=3)
    return folder


def judges_file(url: str) -> str:
    return PANEL + "".join(JUDGE.format(key=key, url=url) for key in ("one", "two"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home whose judges are nowhere."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "settings.toml").write_text(SETTINGS)
    (folder / "anchor_ratings.csv").write_text(RATINGS)
    (folder / "judges.toml").write_text(judges_file("http://127.0.0.1:9/v1"))
    for name in [
        name for name in os.environ if name.startswith(("LUNGUAGE", "DAGSTER"))
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LUNGUAGE_HOME", str(folder))
    monkeypatch.setenv("LUNGUAGE_JUDGES", str(folder / "judges.toml"))
    return folder


def estimate(delivery: Path, scratch: Path, *options: str) -> dict[str, Any]:
    file = scratch / "estimate.json"
    command = [
        "estimate",
        "--data",
        str(delivery),
        "--batch",
        "b",
        "--json",
        str(file),
        *options,
    ]
    CliRunner().invoke(commands, command, catch_exceptions=False, standalone_mode=False)
    figures: dict[str, Any] = json.loads(file.read_text())
    return figures


def contents(folder: Path) -> dict[str, bytes | None]:
    """Files and folders; of SQLite's -shm file, in which readers leave marks, only that
    it is there.
    """
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*"))}
    return {
        name: path.read_bytes()
        if path.is_file() and path.suffix != ".sqlite-shm"
        else None
        for name, path in files.items()
    }


def spent(home: Path) -> float:
    return float(Ledger.open(home / "ledger.sqlite").statistics()["cost_usd"].sum())


@pytest.mark.lengthy
def test_a_run_is_within_its_estimate_less_what_was_paid(
    home: Path, delivery: Path, tmp_path: Path
) -> None:
    with LoopbackServer() as server:
        (home / "judges.toml").write_text(judges_file(server.openai_url))

        def estimated() -> dict[str, Any]:
            before = contents(home)
            sent = len(server.arrivals)
            figures = estimate(delivery, tmp_path)
            assert contents(home) == before, "an estimate changes nothing on disk"
            assert len(server.arrivals) == sent, "and sends nothing"
            return figures

        first = estimated()
        run = ("run", "--data", str(delivery), "--batch", "b")
        models = {"LUNGUAGE_JUDGES": str(home / "judges.toml")}
        without_expectations(home)
        budget = f"{0.75 * first['total']['usd']:.4f}"
        stopped = lunguage(home, *run, "--budget", budget, **models)
        assert "budget" in stopped.stderr
        paid = server.answered
        half = spent(home)
        remaining = estimated()
        fits = remaining["lines"]
        assert {line["stage"] for line in fits} == {"fitted_probabilities"}, (
            "phrases and ranking are stored"
        )
        assert all(line["hits"] > 0 and line["basis"] == "ledger" for line in fits)
        assert lunguage(home, *run, **models).returncode == 0
        all_ = spent(home)
        remaining_usd = spent(home) - half
        assert (
            remaining["total"]["usd_at_least"]
            <= remaining_usd
            <= remaining["total"]["usd_at_most"]
        )
        assert first["total"]["usd_at_least"] <= all_ <= first["total"]["usd_at_most"]
        last = estimated()
        assert last["total"]["calls"] == 0
        assert (
            last["total"]["usd"]
            == last["total"]["usd_at_most"]
            == last["total"]["minutes"]
            == 0
        )
        assert last["pairs"] == 0, "everything is current: a run would make nothing"

        for table in (
            "comparison_matches",
            "reference_ranking",
            "fitted_probabilities",
            "hedge_phrases",
        ):
            shutil.rmtree(home / "tables" / table)
        again = estimated()
        assert {line["stage"] for line in again["lines"]} == {
            "hedge_phrases", "comparison_matches", "fitted_probabilities",
        }  # fmt: skip
        assert all(
            line["hits"] == line["questions"] > line["calls"] == 0
            for line in again["lines"]
        ), "a ledger that has everything replays it"
        before = sum(
            line["hits"]
            for line in again["lines"]
            if line["stage"] != "fitted_probabilities"
        )
        hits = sum(line["hits"] for line in fits)  # some are the ranking's own answers
        assert before < paid <= before + hits, "every answer that is paid is deducted"


def test_an_estimate_needs_no_home_no_key_no_sdk(
    delivery: Path, tmp_path: Path
) -> None:
    command = [
        "estimate",
        "--data",
        str(delivery),
        "--preset",
        "models-2025",
        "--json",
        "e.json",
    ]
    code = (
        f"import sys; from lunguage_assets.cli.main import commands\n"
        f"commands({command}, standalone_mode=False)\n"
        "assert not {'openai', 'anthropic', 'google.genai', 'transformers', 'torch'} & set(sys.modules)"
    )
    hidden = ("LUNGUAGE", "DAGSTER")
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(hidden) and "KEY" not in key
    }
    variables = {**kept, "LUNGUAGE_HOME": str(tmp_path / "none")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command,
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["e.json"]
    figures = json.loads((tmp_path / "e.json").read_text())
    assert figures["total"]["usd"] > 0
    assert figures["prices_as_of"] == ["2025-11-01"]
    assert "as of 2025-11-01" in done.stdout


def test_an_estimate_prices_the_panel_beside_a_distilled_model(
    home: Path, delivery: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orchestration_estimate, "LEARNT_FROM", 5)
    by_judges, by_model = (
        estimate(delivery, tmp_path, "--fit", fit) for fit in ("panel", "distilled")
    )
    both = by_judges["by_fit"]
    assert both == by_model["by_fit"]
    assert both["panel"]["sentences"] == both["distilled"]["scored"] + 5 > 5
    share = 5 / both["panel"]["sentences"]
    assert both["distilled"]["usd"] == pytest.approx(share * both["panel"]["usd"])
    assert [line["stage"] for line in by_judges["lines"]].count(
        "fitted_probabilities"
    ) == 2
    assert "fitted_probabilities" not in {line["stage"] for line in by_model["lines"]}


def test_without_files_an_estimate_is_of_what_is_registered(
    home: Path, delivery: Path, tmp_path: Path
) -> None:
    of_files = estimate(delivery, tmp_path, "--ranker", "two")
    assert (
        lunguage(home, "register", "--data", delivery, "--batch", "b").returncode == 0
    )
    command = ["estimate", "--json", str(tmp_path / "e.json"), "--ranker", "two"]
    CliRunner().invoke(commands, command, catch_exceptions=False, standalone_mode=False)
    of_home = json.loads((tmp_path / "e.json").read_text())
    assert of_home == of_files
    assert of_home["batches"] == ["b"]
    assert of_home["total"]["calls"] > 0


def test_a_delivery_of_several_batches_is_estimated_as_one(
    home: Path, tmp_path: Path
) -> None:
    (home / "settings.toml").write_text(SETTINGS + "[corpus]\nbatch_reports = 1\n")
    (tmp_path / "raw").mkdir()
    report = "FINDINGS: The heart is large. There may be a small effusion. No edema, nodule or fracture."
    rows = "".join(f"{number},{report}\n" for number in (50000001, 50000002)).replace(
        ",FIND", ',"FIND'
    )
    (tmp_path / "raw" / "reports.csv").write_text(
        "study_id,report\n" + rows.replace(".\n", '."\n')
    )
    figures = estimate(tmp_path / "raw", tmp_path, "--structurer", "one")
    assert figures["batches"] == ["b-001", "b-002"]
    assert (figures["reports"], figures["pairs"], figures["sentences"]) == (2, 2, 1)


def test_a_step_that_bursts_quotes_nothing_and_leaves_no_home(
    delivery: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quoted = "There may be a nodule in the left lung."

    def burst(*_: object) -> None:
        raise ValueError(quoted)

    monkeypatch.setattr(redaction, "_data_classes", set())
    monkeypatch.setattr(orchestration_estimate, "extract_phrases", burst)
    output = lunguage(
        tmp_path / "home", "estimate", "--data", delivery, "--preset", "models-2025"
    )
    assert output.returncode == 1
    assert "unexpected ValueError in" in output.stderr
    assert quoted not in output.stdout + output.stderr
    assert not (tmp_path / "home").exists()


SLOT = {
    "provider": "openai",
    "model": "m",
    "params": {"max_tokens": 100},
    "price": {"input": 1, "output": 10, "as_of": "2026-01-01"},
}


def estimated(
    ledger: Ledger | None = None, rounds: float = 1.0, **slot: Any
) -> dict[str, Any]:
    """A hundred questions that the ledger lacks."""
    judge = RecordedAsker("j", LLMJudgeConfig.model_validate({**SLOT, **slot}), ledger)
    judge.prompts.append(Prompt("", "four" * 400))
    return estimate_line(
        "comparison_matches", judge, LABEL_TOKENS, (100.0, 100.0, 100.0), rounds
    )


def test_minutes_follow_calls_in_flight_rounds_or_rates_whichever_is_slowest() -> None:
    second = 1.0 + LABEL_TOKENS / 80
    assert estimated(limits={"in_flight": 10})["minutes"] == pytest.approx(
        10 * second / 60
    )
    assert estimated(rounds=25.0, limits={"in_flight": 10})["minutes"] == pytest.approx(
        25 * second / 60
    )
    slow = {"in_flight": 100, "requests_per_minute": 10}
    assert estimated(limits=slow)["minutes"] == pytest.approx(10.0)


def test_what_the_ledger_knows_goes_before_what_is_assumed(
    tmp_path: Path,
) -> None:
    ledger = Ledger.open(tmp_path / "ledger.sqlite")
    guess = estimated()

    def answered(
        key: str, failure: str | None = None, judge: str = "j", **counts: Any
    ) -> None:
        text = None if failure == "timeout" else "sentence_1"
        ledger.record(Attempt(key * 32, judge, "compare", "m", text, failure, **counts))  # type: ignore[arg-type]

    answered("aa", judge="another", input_tokens=9, latency_s=9.0)
    answered("aa")
    assert estimated(ledger) == guess, "of unknown length, not free"
    answered("bb", "timeout")
    answered("bb", "unreadable", input_tokens=700, output_tokens=30, latency_s=4.0)
    answered("bb", input_tokens=300, output_tokens=10, latency_s=2.0)
    figures = estimated(ledger, limits={"in_flight": 1})
    assert (guess["basis"], guess["calls"], guess["output_tokens"]) == (
        "assumed",
        100,
        500,
    )
    assert (figures["basis"], figures["calls"], figures["input_tokens"], figures["output_tokens"]) == (
        "ledger", 200, 75_000, 3_000,
    )  # fmt: skip
    assert figures["minutes"] == pytest.approx(200 * 3.0 / 60)
    assert figures["usd"] == pytest.approx(1.5 * 100 * (500 * 1 + 20 * 10) / 1e6)
    assert guess["usd_at_most"] > 5 * guess["usd_at_least"] > 0


def test_a_judge_without_a_price_has_tokens_but_no_dollars() -> None:
    free = estimated(price=None)
    guess = estimated()
    assert {free[name] for name in ("usd", "usd_at_least", "usd_at_most")} == {None}
    assert free["input_tokens"] == guess["input_tokens"] > 0
    minutes, total = estimate_totals([free, guess])
    assert (total["usd"], total["usd_at_most"], total["judges_without_price"]) == (
        guess["usd"],
        None,
        ["j"],
    )
    assert total["minutes"] == minutes["comparison_matches"] == guess["minutes"]


@pytest.mark.parametrize(
    ("params", "tokens"),
    [
        (
            {"max_output_tokens": 1000, "thinking_config": {"thinking_budget": 1000}},
            100,
        ),
        ({"max_output_tokens": 1000, "thinking_config": {"thinking_budget": 0}}, 0),
        ({"max_completion_tokens": 500, "reasoning_effort": "none"}, 0),
        ({"max_output_tokens": 100}, 0),
    ],
)
def test_reasoning_is_part_of_the_output_as_far_as_parameters_tell(
    params: dict[str, Any], tokens: float
) -> None:
    assert expected_reasoning(
        LLMJudgeConfig(provider="gemini", model="m", params=params)
    ) == pytest.approx(tokens)


def test_the_papers_cost_follows_from_its_steps_and_prices() -> None:
    configuration = load_judges(preset="models-2025")
    prices = {
        key: configuration.models[key].price for key in configuration.panel_members
    }
    calls = 2066 * answers_per_judge(PUBLISHED_STEPS, panel_steps=10, judges=4)
    # a comparison prompt of the paper is about 500 tokens
    costs = {
        key: price.cost(500 * calls, LABEL_TOKENS * calls)
        for key, price in prices.items()
        if price
    }
    assert sum(costs.values()) == pytest.approx(92.16, rel=0.10)
    assert costs["gpt-4o"] == pytest.approx(39.49, rel=0.10)
    assert costs["claude-sonnet-4"] == pytest.approx(45.12, rel=0.10)
    assert costs["gemini-2.5-flash"] == pytest.approx(
        5.59, rel=0.20
    )  # answers longer than a label
    assert costs["medgemma-27b"] == 0
