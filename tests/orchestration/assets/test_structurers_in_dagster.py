"""A language model structures raw reports inside Dagster, beside the offline
structurer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import raw_deliveries
from asked_reports import judges_file, model_like
from loopback import KEYS, LoopbackServer
from small_homes import SmallHome
from stored_tables import stored_table

from lunguage_assets.workspace.home import Home


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(answer=model_like) as started:
        yield started


@pytest.fixture
def small(
    tmp_path: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SmallHome]:
    """A home with one batch `b` of invented raw reports."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    judges = tmp_path / "judges.yaml"
    judges.write_text(json.dumps(judges_file("openai", server.url, mode="enum")))
    (tmp_path / "delivered").mkdir()
    raw_deliveries.write_table(tmp_path / "delivered")
    (tmp_path / "delivered" / "corpus.toml").write_text('data_class = "synthetic"')
    Home(tmp_path / "home").register(tmp_path / "delivered", "b")
    with SmallHome.opened(tmp_path / "home", judges_file=judges) as opened:
        yield opened


def make(small: SmallHome, table: str, **keys: str) -> dict[str, Any]:
    """Make the step of a table for the batch; its metadata."""
    small.runner().prepare()
    result = small.make(table, report_batch="b", **keys)
    (made,) = (
        event.materialization
        for event in result.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey(table)
    )
    return {name: value.value for name, value in made.metadata.items()}


def table(small: SmallHome, name: str, structurer: str = "rules") -> pd.DataFrame:
    keys = {"structurer": structurer, "report_batch": "b"}
    return stored_table(small.home.tables, name, **keys)


@pytest.mark.lengthy
def test_a_model_and_the_rules_structure_a_batch(
    small: SmallHome, server: LoopbackServer
) -> None:
    make(small, "report_texts")
    make(small, "structured_findings", structurer="rules")
    assert server.calls == []
    make(small, "structured_findings", structurer="one")
    calls_before = len(server.calls)
    assert calls_before >= len(table(small, "report_texts"))
    make(small, "structured_findings", structurer="one")
    assert len(server.calls) == calls_before
    assert not table(small, "structured_findings", "one").empty
    assert small.current().is_current("structured_findings", "b", "one")


def structured(small: SmallHome, batch: str) -> set[str]:
    """Let the model read a batch; the accounts of its sentences."""
    keys = {"structurer": "one", "report_batch": batch}
    small.make("structured_findings", **keys)
    return {*stored_table(small.home.tables, "sentence_accounts", **keys)["account"]}


def test_unreadable_answers_end_the_batch_unless_others_were_read(
    small: SmallHome, server: LoopbackServer, tmp_path: Path
) -> None:
    raw_deliveries.write_table(tmp_path / "three", reports=raw_deliveries.REPORTS[:3])
    (tmp_path / "three" / "corpus.toml").write_text('data_class = "synthetic"')
    small.register({"three": tmp_path / "three"})
    server.answer = lambda call: "I cannot help with that."
    small.make("report_texts", report_batch="three")
    with pytest.raises(dg.Failure, match="judge 'one': of 3 answers none can be read"):
        structured(small, "three")
    assert not small.current().is_current("structured_findings", "three", "one")
    server.answer = model_like
    make(small, "report_texts")
    assert "findings" in structured(small, "b")
    assert structured(small, "three") == {"unreadable"}
