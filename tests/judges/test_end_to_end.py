"""`lunguage run` with language models: the real SDK against a loopback server, through
Dagster, from reports to release.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from commands import CommandResult, lunguage
from loopback import TROUBLES, LoopbackServer, failing_share
from platform_support import environment, without_expectations
from served_home import wait_for

from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.sample import write_sample

SETTINGS = (
    "[explicit]\nreference_scale = 'published'\nrepetitions = 1\nbootstrap = 20\n"
    "patience = 3\npanel_steps = 2\n"
)
JUDGE = """
[judges.{key}]
provider = "openai-compatible"
model = "tester-{key}"
base_url = "{url}"
params = {{ max_tokens = 100, temperature = 1.0 }}
limits = {{ backoff_s = 0.01 }}
price = {{ input = 1.0, output = 2.0, as_of = 2026-11-01 }}
allowed_data = ["synthetic"]
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
    folder = tmp_path_factory.mktemp("delivered") / "eight"
    write_sample(folder, reports=8, seed=3)
    return folder


def home_for(folder: Path, server: LoopbackServer) -> Path:
    home = without_expectations(folder / "home")
    (home / "settings.toml").write_text(SETTINGS)
    judges = [JUDGE.format(key=key, url=server.openai_url) for key in ("one", "two")]
    (home / "judges.toml").write_text(PANEL + "".join(judges))
    return home


def run(home: Path, delivery: Path, *options: str) -> CommandResult:
    arguments = ("--data", delivery, "--batch", "b", *options)
    judges = home / "judges.toml"
    return lunguage(home, "run", *arguments, LUNGUAGE_JUDGES=str(judges))


def tables(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for folder_name in ("tables", "release")
        for path in sorted((home / folder_name).rglob("*.*"))
    }


def shown_with_the_partitions(home: Path) -> list[dict[str, Any]]:
    """Metadata of the latest partitions for which the two models were asked."""
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        events = [
            instance.get_latest_materialization_event(dg.AssetKey(name))
            for name in ("hedge_phrases", "fitted_probabilities")
        ]
    return [
        {
            name: value.value
            for name, value in event.asset_materialization.metadata.items()
        }
        for event in events
    ]


@pytest.mark.lengthy
def test_a_run_stopped_by_a_budget_goes_on_and_replays(
    tmp_path: Path, delivery: Path
) -> None:
    with LoopbackServer(decide=failing_share(0.2, TROUBLES, seed=1)) as server:
        home = home_for(tmp_path, server)
        stopped = run(home, delivery, "--budget", "0.02")
        assert len(stopped.stderr.splitlines()) == 1
        assert "budget of $0.02" in stopped.stderr
        assert not (home / "release").exists()
        calls = len(server.calls)
        assert run(home, delivery, "--budget", "5").returncode == 0
        assert len(server.calls) > server.answered, "some failed"
        extraction, fits = shown_with_the_partitions(home)
        extracting = sum("finding:" in call.user.lower() for call in server.calls)
        assert extraction["llm_calls"] == extracting > 0
        assert (
            fits["llm_calls"]
            == len(server.calls) - extracting
            > len(server.calls) - calls
        )
        assert fits["llm_cost_usd"] > 0 < extraction["llm_cost_usd"]
    summary = json.loads(
        (home / "release/panel/v1/restricted/summary.json").read_text()
    )
    assert summary["judges"] == ["one", "two"]
    assert summary["p_source"]["fitted"] > 0
    # the server is gone, and the models retired: what follows can only come from the
    # ledger
    before = tables(home)
    shutil.rmtree(home / "tables")
    shutil.rmtree(home / "release")
    retired = (
        (home / "judges.toml")
        .read_text()
        .replace("price = ", "retires_on = 2020-01-01\nprice = ")
    )
    (home / "judges.toml").write_text(retired)
    assert run(home, delivery, "--rebuild-ranking").returncode == 0
    assert tables(home) == before


COSTS = ("llm_calls", "llm_cost_usd", "llm_invalid", "llm_input_tokens")


def shown_costs(home: Path) -> dict[str, float]:
    """The sum of what all partitions show."""
    costs = dict.fromkeys(COSTS, 0.0)
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        for name in ("hedge_phrases", "comparison_matches", "fitted_probabilities"):
            for record in instance.fetch_materializations(
                dg.AssetKey(name), limit=20
            ).records:
                assert record.asset_materialization is not None
                metadata = record.asset_materialization.metadata
                for cost in COSTS:
                    costs[cost] += metadata[cost].value if cost in metadata else 0  # type: ignore[operator]
    return costs


@pytest.mark.lengthy
def test_after_any_kill_shown_costs_are_those_of_the_ledger(
    tmp_path: Path, delivery: Path
) -> None:
    decide = failing_share(0.2, TROUBLES, seed=1)
    with LoopbackServer(decide=decide, latency=0.02) as server:
        home = home_for(tmp_path, server)

        def started() -> subprocess.Popen[bytes]:
            arguments = ["run", "--data", str(delivery), "--batch", "b"]
            variables = {
                **environment(home),
                "LUNGUAGE_JUDGES": str(home / "judges.toml"),
            }
            command = [sys.executable, "-m", "lunguage_assets.cli.main", *arguments]
            return subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL)

        for calls in (10, 60):
            process = started()
            wait_for(
                lambda calls=calls: len(server.calls) >= calls,
                300,
                "no calls",
                every=0.01,
            )
            process.kill()
            process.wait()
        assert started().wait() == 0
    costs = shown_costs(home)
    ledger = Ledger.open(home / "ledger.sqlite").statistics()
    assert ledger["lost"].sum() > 0
    assert costs == {
        "llm_calls": ledger["attempts"].sum(),
        "llm_cost_usd": pytest.approx(ledger["cost_usd"].sum()),
        "llm_invalid": ledger["invalid"].sum(),
        "llm_input_tokens": ledger["input_tokens"].sum(),
    }


def test_credentialed_text_is_sent_to_nobody_who_may_not_receive_it(
    tmp_path: Path, delivery: Path, server: LoopbackServer
) -> None:
    home = home_for(tmp_path, server)
    text = (home / "judges.toml").read_text()
    (home / "judges.toml").write_text(text.replace('"openai-compatible"', '"openai"'))
    undeclared = tmp_path / "undeclared"
    shutil.copytree(delivery, undeclared)
    (undeclared / "corpus.toml").unlink()
    refused = run(home, undeclared)
    assert "may not receive credentialed text" in refused.stderr
    assert server.calls == []
