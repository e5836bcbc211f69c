"""`lunguage run` with language models, through Dagster, from reports to release: a good
judge's is released, is kept through budgets and kills and asks nothing twice; a judge
that knows nothing gets no number released, a real small model too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import CommandResult, lunguage
from judges_files import judges_file
from loopback import TROUBLES, LoopbackServer, failing_share
from model_libraries import needs_small_models
from platform_support import contents, environment, without_expectations
from served_home import wait_for

from lunguage_assets.judges.ledger import Ledger
from lunguage_assets.judges.model_judge import load_prompts
from lunguage_assets.sample.files import write_sample

SETTINGS = (
    "[explicit]\nreference_scale = 'published'\nrepetitions = 1\nbootstrap = 20\n"
    "patience = 3\npanel_steps = 2\n"
)
MORE = 'limits = { backoff_s = 0.01, in_flight = 8 }\nallowed_data = ["synthetic"]\norder = "one"'


@pytest.fixture(scope="module")
def delivery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("delivered") / "five"
    write_sample(folder, reports=5, seed=3)
    return folder


def home_for(folder: Path, server: LoopbackServer, extractor: str = "one") -> Path:
    home = without_expectations(folder / "home")
    (home / "settings.toml").write_text(SETTINGS)
    judges = judges_file(server.openai_url, ("one", "two"), MORE, extractor)
    (home / "judges.toml").write_text(judges)
    return home


def run(home: Path, delivery: Path, *options: str, **variables: str) -> CommandResult:
    arguments = ("--data", delivery, "--batch", "b", *options)
    variables = {"LUNGUAGE_JUDGES": str(home / "judges.toml"), **variables}
    return lunguage(home, "run", *arguments, **variables)


def made(home: Path) -> list[dict[str, bytes]]:
    return [contents(home / folder) for folder in ("tables", "release")]


@pytest.mark.lengthy
def test_a_good_judges_run_stopped_by_a_budget_and_a_kill_goes_on_and_replays(
    tmp_path: Path, delivery: Path
) -> None:
    decide = failing_share(0.2, TROUBLES, seed=1)
    with LoopbackServer(decide=decide, latency=0.01) as server:
        home = home_for(tmp_path, server)
        file = tmp_path / "estimate.json"
        judges = str(home / "judges.toml")
        options = ("--data", delivery, "--json", file)
        lunguage(home, "estimate", *options, LUNGUAGE_JUDGES=judges)
        assert server.arrivals == []
        estimated = json.loads(file.read_text())[-1]
        stopped = run(home, delivery, "--budget", "0.02")
        assert len(stopped.stderr.splitlines()) == 1
        assert "budget of $0.020" in stopped.stderr
        assert not (home / "release").exists()
        command = [sys.executable, "-m", "lunguage_assets.cli.main", "run"]
        variables = environment(home) | {"LUNGUAGE_JUDGES": str(home / "judges.toml")}
        calls = len(server.calls)
        process = subprocess.Popen(
            [*command, "--data", str(delivery), "--batch", "b"],
            env=variables,
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: len(server.calls) >= calls + 60, 300, "no calls", every=0.01)
        process.kill()
        process.wait()
        assert run(home, delivery, "--budget", "5").returncode == 0
        # Each question is answered once, but for those in flight at the kill.
        ledger = Ledger.open(home / "ledger.sqlite")
        statistics = ledger.statistics()
        assert statistics["valid"].tolist() <= statistics["questions"].tolist()
        spent_usd = statistics["cost_usd"].sum()
        assert estimated["usd_at_least"] <= spent_usd <= estimated["usd_at_most"]
        assert 0 <= len(server.calls) - statistics["attempts"].sum() <= 2 * 8
    summary = json.loads(
        (home / "release/panel/v1/restricted/summary.json").read_text()
    )
    assert summary["judges"] == ["one", "two"]
    assert summary["p_source"]["fitted"] > 0
    # The server is gone: what follows can only come from the ledger.
    before = made(home)
    shutil.rmtree(home / "tables")
    shutil.rmtree(home / "release")
    assert run(home, delivery, "--rebuild-ranking").returncode == 0
    assert made(home) == before


@pytest.mark.lengthy
def test_a_judge_that_knows_nothing_is_refused_or_named_in_the_release(
    tmp_path: Path, delivery: Path
) -> None:
    def one_sided(call: object) -> str:
        return "[]" if "finding:" in call.user.lower() else "sentence_1"  # type: ignore[attr-defined]

    with LoopbackServer(answer=one_sided) as server:
        home = home_for(tmp_path, server, extractor="lexicon")
        shutil.rmtree(home / "expectations")
        refused = run(home, delivery)
        assert refused.returncode == 1
        (message,) = refused.stderr.splitlines()
        assert "did not pass its trial" in message
        assert not (home / "release").exists()
        assert len(server.calls) == 2 * 60
        rules = (home / "judges.toml").read_text()
        let_in = rules.replace("order =", 'let_in = "to see"\norder =')
        (home / "judges.toml").write_text(let_in)
        done = run(home, delivery)
        assert done.returncode == 0, done.stderr
    release = home / "release/panel/v1/open"
    provenance = json.loads((release / "provenance.json").read_text())
    assert provenance["judges"]["one"]["let_in"] == "to see"
    assert provenance["prompts"] == load_prompts().version
    assert "Judge one was let in" in (release / "report.html").read_text()


@pytest.mark.lengthy  # a real model answers its trial
@needs_small_models
def test_the_small_real_model_is_refused_at_its_trial(tmp_path: Path) -> None:
    write_sample(tmp_path / "three", reports=3, seed=5)
    home = without_expectations(tmp_path / "home")
    (home / "settings.toml").write_text(SETTINGS)
    arguments = ("run", "--data", tmp_path / "three", "--preset", "local-small")
    refused = lunguage(home, *arguments)
    assert refused.returncode == 1
    assert "did not pass its trial" in refused.stderr
    assert "agreed with itself in 0 of 30 pairs" in refused.stderr
    ledger = Ledger.open(home / "ledger.sqlite")
    assert ledger.statistics()["attempts"].tolist() == [60]
    assert not (home / "release").exists()
    again = lunguage(home, *arguments)
    assert "did not pass its trial" in again.stderr
    assert ledger.statistics()["attempts"].tolist() == [60]


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
