"""A language model structures raw reports inside Dagster, beside the offline structurer, and both are held
against each other and against rows that people coded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import raw_deliveries
from asked_reports import model_like
from loopback import LoopbackServer
from quick_instance import quick_instance
from sdk_run import KEYS

from lunguage_assets.corpus.lunguage import lunguage_frame
from lunguage_assets.current.recipes import STEP_OF
from lunguage_assets.home.home import Home
from lunguage_assets.home.store import partition_path, read_table
from lunguage_assets.judges.ledger.ledger import Ledger
from lunguage_assets.orchestration.build import build_defs
from lunguage_assets.orchestration.estimate import estimate_run
from lunguage_assets.orchestration.partitions import REPORT_BATCH, partition_key
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.tables import TABLES

pytest.importorskip("openai", reason="needs the LLM SDKs: pip install 'lunguage-assets[llm]'")

JUDGES = """
preset = "p"
[judges.lexicon]
provider = "lexicon"
[judges.one]
provider = "openai"
model = "model-1"
base_url = "{url}/v1"
mode = "enum"
params = {{ max_tokens = 900 }}
price = {{ input = 1.0, output = 2.0, as_of = 2026-01-01 }}
[panels.p]
members = ["lexicon"]
[presets.p]
panel = "p"
extractor = "lexicon"
structurer = "one"
"""


class Place:
    """A home with one batch of invented raw reports, and Dagster without its daemon."""

    def __init__(self, folder: Path, url: str) -> None:
        (folder / "judges.toml").write_text(JUDGES.format(url=url))
        delivered = folder / "delivered"
        delivered.mkdir()
        raw_deliveries.write_table(delivered)
        self.home = Home(folder / "home")
        self.home.register(delivered, "b", "invented", "synthetic")
        self.resource = HomeResource(root=str(self.home.root), judges_file=str(folder / "judges.toml"))
        self.repository = build_defs(self.resource).get_repository_def()
        self.instance = quick_instance()
        self.instance.add_dynamic_partitions(REPORT_BATCH.name, ["b"])

    def make(self, table: str, **keys: str) -> dict[str, Any]:
        """Make the step of a table; the metadata of that table."""
        made = {dg.AssetKey(STEP_OF[table])}
        job = self.repository.get_implicit_job_def_for_assets(made)
        assert job is not None
        result = job.get_subset(asset_selection=made).execute_in_process(
            partition_key=partition_key(tuple(keys), tuple(keys.values())), instance=self.instance
        )
        (event,) = [one for one in result.get_asset_materialization_events() if one.asset_key.path == [table]]
        return {name: value.value for name, value in event.materialization.metadata.items()}

    def table(self, name: str, *keys: str) -> pd.DataFrame:
        return read_table(TABLES[name], partition_path(self.home.tables, name, *keys))


def test_a_model_and_the_rules_structure_a_batch_and_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with LoopbackServer(answer=model_like) as server:
        place = Place(tmp_path, server.url)
        place.make("report_texts", report_batch="b")
        place.make("structured_findings", structurer="rules", report_batch="b")
        assert server.calls == []
        alone = place.make("structuring_agreement", report_batch="b")
        assert (alone["structurers"], len(place.table("structuring_agreement", "b"))) == ("rules", 0)
        told = place.make("structured_findings", structurer="one", report_batch="b")
        asked = len(server.calls)
        assert asked >= len(place.table("report_texts", "b"))
        place.make("structured_findings", structurer="one", report_batch="b")
        assert len(server.calls) == asked
    assert place.resource.standings().is_current("structured_findings", "one", "b")
    assert told["studies_with_findings"] > 3
    compared = place.make("structuring_agreement", report_batch="b")
    assert (compared["structurers"], compared["gold_rows"]) == ("rules, one", 0)
    table = place.table("structuring_agreement", "b").set_index("field")
    assert set(zip(table["structurer_1"], table["structurer_2"], strict=True)) == {("rules", "one")}
    assert table.loc["finding", "first"] == len(place.table("structured_findings", "rules", "b"))
    assert table.loc["finding", "second"] == len(place.table("structured_findings", "one", "b"))
    assert 0 < table.loc["finding", "agreed"] <= table.loc["finding", "second"]
    assert place.resource.standings().is_current("structuring_agreement", "b")

    rules = place.table("structured_findings", "rules", "b")
    gold = lunguage_frame(place.table("report_texts", "b"), rules)
    gold.to_csv(place.home.gold_findings, index=False)
    assert not place.resource.standings().is_current("structuring_agreement", "b")
    assert place.make("structuring_agreement", report_batch="b")["gold_rows"] == len(rules)
    table = place.table("structuring_agreement", "b").set_index(["structurer_1", "structurer_2", "field"])
    assert [table.loc[("gold", "rules", name), "f1"] for name in ("finding", "cat", "status")] == [1.0] * 3
    assert table.loc[("gold", "one", "finding"), "f1"] < 1.0


def estimated(place: Place, folder: Path) -> dict[str, Any]:
    """The line of an estimate, which has no other: the judges are rule-based."""
    registration = place.home.examine(folder / "delivered", "b", "invented", "synthetic")
    (line,) = estimate_run(place.resource, registration, "panel").values()["lines"]
    assert (line["stage"], line["judge"]) == ("structured_findings", "one")
    return dict(line)


def test_an_estimate_counts_the_reports_that_a_model_would_be_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with LoopbackServer(answer=model_like) as server:
        place = Place(tmp_path, server.url)
        before = estimated(place, tmp_path)
        assert server.calls == []
        assert (before["calls"], before["hits"]) == (before["questions"], 0)
        assert 0 < before["usd"] < before["usd_at_most"]
        place.make("report_texts", report_batch="b")
        place.make("structured_findings", structurer="one", report_batch="b")
    first = [call for call in server.calls if "You have answered this once" not in call.user]
    assert before["questions"] == len(first)
    asked = sum(len(call.prompt) for call in first) / 4
    assert before["input_tokens"] == pytest.approx(asked, rel=0.05)
    recorded = Ledger.open(place.resource.ledger_place).statistics()
    assert recorded["stage"].tolist() == ["structure"]
