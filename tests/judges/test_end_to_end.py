"""`lunguage run` with language models: the real SDK against a loopback server, through Dagster, from reports
to release.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from commanded import lunguage
from loopback import TROUBLES, LoopbackServer, failing_share

from lunguage_assets.errors import LunguageError
from lunguage_assets.sample import write_sample

pytest.importorskip("openai", reason="needs the extra 'llm': pip install 'lunguage-assets[llm]'")

SETTINGS = "[explicit]\nruler = 'published'\nrepetitions = 1\nbootstrap = 20\npatience = 3\npanel_steps = 2\n"
JUDGES = """
preset = "loopback"
[judges.one]
provider = "openai-compatible"
model = "tester-1"
base_url = "{url}"
params = {{ max_tokens = 100, temperature = 1.0 }}
limits = {{ backoff_s = 0.01 }}
price = {{ input = 1.0, output = 2.0, as_of = 2026-11-01 }}
allowed_data = {allowed}
[judges.two]
provider = "openai-compatible"
model = "tester-2"
base_url = "{url}"
params = {{ max_tokens = 100 }}
limits = {{ backoff_s = 0.01 }}
price = {{ input = 1.0, output = 2.0, as_of = 2026-11-01 }}
allowed_data = {allowed}
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
    home = folder / "home"
    home.mkdir(parents=True)
    (home / "settings.toml").write_text(SETTINGS)
    (home / "judges.toml").write_text(JUDGES.format(url=server.openai_url, allowed='["synthetic"]'))
    return home


def run(home: Path, delivery: Path, *options: str) -> LunguageError | None:
    return lunguage(home, "run", "--data", str(delivery), "--batch", "b", *options)


def tables(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for part in ("tables", "release")
        for path in sorted((home / part).rglob("*.*"))
    }


def shown_with_the_partitions(home: Path) -> list[dict[str, Any]]:
    """Metadata of the latest partitions for which the two models were asked."""
    with dg.DagsterInstance.from_config(str(home / "dagster")) as instance:
        events = [
            instance.get_latest_materialization_event(dg.AssetKey(name))
            for name in ("hedge_phrases", "fitted_probabilities")
        ]
    return [
        {name: value.value for name, value in event.asset_materialization.metadata.items()}
        for event in events
    ]


def test_a_run_that_a_budget_stopped_goes_on_ends_like_one_with_failing_calls_and_is_replayed_by_its_ledger(
    tmp_path: Path, delivery: Path
) -> None:
    with LoopbackServer() as clean_server:
        clean = home_for(tmp_path / "clean", clean_server)
        stopped = run(clean, delivery, "--budget", "0.02")
        assert len(str(stopped).splitlines()) == 1
        assert "budget of $0.02" in str(stopped)
        assert not (clean / "release").exists()
        paid = clean_server.answered
        assert paid == len(clean_server.calls) > 0
        assert run(clean, delivery, "--budget", "5") is None
        asked = [(call.model, call.prompt) for call in clean_server.calls]
        assert len(asked) - len(set(asked)) <= 40, "only repeated draws may be asked twice"
        extraction, fits = shown_with_the_partitions(clean)
        assert fits["llm_calls"] == len(asked) - paid > 0
        assert extraction["llm_calls"] == sum("finding:" in call.user.lower() for call in clean_server.calls)
        assert fits["llm_cost_usd"] > 0 < extraction["llm_cost_usd"]
    with LoopbackServer(decide=failing_share(0.2, TROUBLES, seed=1)) as bad_server:
        troubled = home_for(tmp_path / "troubled", bad_server)
        assert run(troubled, delivery) is None
        assert len(bad_server.calls) > bad_server.answered
    assert tables(troubled) == tables(clean)
    summary = json.loads((clean / "release/panel/v1/restricted/summary.json").read_text())
    assert summary["judges"] == ["one", "two"]
    assert summary["p_source"]["fitted"] > 0
    # both servers are gone, and the models retired: what follows can only come from the ledger
    before = tables(clean)
    shutil.rmtree(clean / "tables")
    shutil.rmtree(clean / "release")
    retired = (clean / "judges.toml").read_text().replace("price = ", "retires_on = 2020-01-01\nprice = ")
    (clean / "judges.toml").write_text(retired)
    assert run(clean, delivery, "--rebuild-ranking") is None
    assert tables(clean) == before


def test_credentialed_text_is_sent_to_nobody_who_may_not_receive_it(
    tmp_path: Path, delivery: Path, server: LoopbackServer
) -> None:
    home = home_for(tmp_path, server)
    text = JUDGES.format(url=server.openai_url, allowed='["synthetic"]').replace(
        'provider = "openai-compatible"', 'provider = "openai"'
    )
    (home / "judges.toml").write_text(text)
    undeclared = tmp_path / "undeclared"
    shutil.copytree(delivery, undeclared)
    (undeclared / "corpus.toml").unlink()
    refused = run(home, undeclared)
    assert "may not receive credentialed text" in str(refused)
    assert server.calls == []
