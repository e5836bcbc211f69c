"""Several language models of one run are asked at the same time, and store what each would store alone."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pandas as pd
import pytest
from finished_homes import Finished
from loopback import LoopbackServer
from small_homes import SmallHome

from lunguage_assets.current.plan import Stage, Wanted
from lunguage_assets.errors import LunguageError
from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.home.store import partition_path, read_table, stored_record, write_table
from lunguage_assets.judges.protocol import ComparisonQuestion
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.orchestration.resources import HomeResource
from lunguage_assets.orchestration.runs.ahead import AskingAhead, asking_ahead
from lunguage_assets.settings import ExplicitSettings
from lunguage_assets.tables import TABLES

pytest.importorskip("openai", reason="needs the extra 'llm': pip install 'lunguage-assets[llm]'")

MODELS = ("one", "two", "three")
STAGES = [Stage("compare", (key,)) for key in MODELS]
JUDGE = """
[judges.{key}]
provider = "openai-compatible"
model = "{key}-model"
base_url = "{url}"
params = {{ max_tokens = 100 }}
limits = {{ in_flight = 4, failures_per_request = 1 }}
price = {{ input = 1.0, output = 2.0, as_of = 2026-11-01 }}
"""
PRESET = """
preset = "asked"
[judges.lexicon]
provider = "lexicon"
[panels.three]
members = ["one", "two", "three"]
[presets.asked]
panel = "three"
extractor = "lexicon"
"""


def home_of(folder: Path, finished: Finished, server: LoopbackServer) -> Path:
    shutil.copytree(finished.home, folder)
    judges = "".join(JUDGE.format(key=key, url=server.openai_url) for key in MODELS)
    (folder / "judges.toml").write_text(PRESET + judges)
    keep_few_phrases(HomeResource(root=str(folder)))
    return folder


def keep_few_phrases(home: HomeResource) -> None:
    """A vocabulary of which a test can compare all pairs."""
    table, path = (
        TABLES["hedge_vocabulary"],
        partition_path(home.home.tables, "hedge_vocabulary", "lexicon"),
    )
    frame, record = read_table(table, path), stored_record(table, path)
    assert record is not None
    few = set(frame.loc[frame["retained"], "phrase"][:6]) | {a.phrase for a in home.anchor_set().anchors}
    frame["retained"] &= frame["phrase"].isin(few)
    write_table(table, frame, path, record.keys, record.made_of)


def shown(small: SmallHome, judge: str) -> dict[str, Any]:
    """What the UI shows with a judge's comparisons."""
    event = small.instance.fetch_materializations(
        dg.AssetRecordsFilter(dg.AssetKey("comparison_matches"), asset_partitions=[judge]), limit=1
    ).records[0]
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def test_judges_are_asked_at_the_same_time_and_store_what_each_would_store_alone(
    finished: Finished, tmp_path: Path
) -> None:
    with LoopbackServer(latency=0.05) as server:
        home = home_of(tmp_path / "home", finished, server)
        with SmallHome.opened(home, judges_file=str(home / "judges.toml")) as small:
            small.runner().run(Wanted("panel"), stages=STAGES)
            of_models = [shown(small, key) for key in MODELS]
            settings = small.resource.settings.explicit
        vocabulary, *stored = (
            read_table(TABLES[table], partition_path(home / "tables", table, key))
            for table, key in [
                ("hedge_vocabulary", "lexicon"),
                *(("comparison_matches", key) for key in MODELS),
            ]
        )
        firsts = {call.model: call.number for call in reversed(server.calls)}
        lasts = {call.model: call.number for call in server.calls}
    assert max(firsts.values()) < min(lasts.values()), "each was asked while the others were"
    alone = comparison_matches(vocabulary, CuesJudge.bundled("loopback"), settings)
    assert len(alone) >= 15
    for frame in stored:
        pd.testing.assert_frame_equal(frame, alone)
    assert len(firsts) == 3
    assert len(server.calls) == sum(metadata["llm_calls"] for metadata in of_models)
    for metadata in of_models:
        assert 0 < metadata["llm_calls"] == metadata["llm_questions"] <= len(alone)
        assert metadata["llm_ledger_hits"] == 0
        assert metadata["llm_cost_usd"] > 0


class Endless:
    """A judge that answers nothing until it is interrupted."""

    key = identity = "endless"

    def __init__(self) -> None:
        self.asked, self.interrupted = threading.Event(), threading.Event()

    def extract(self, questions: Sequence[Any]) -> list[Any]:
        pytest.fail("a vocabulary is compared; nothing is extracted")

    def compare(self, questions: Sequence[ComparisonQuestion]) -> list[Any]:
        self.asked.set()
        assert self.interrupted.wait(30)
        raise LunguageError("interrupted")

    def interrupt(self) -> None:
        if self.asked.is_set():
            self.interrupted.set()


@dataclass
class FakeHome:
    """As much of a home as asking ahead needs."""

    judge_of_all: Endless
    root: str = "home"

    def __post_init__(self) -> None:
        self.judges = SimpleNamespace(models=dict.fromkeys(MODELS), extractor="lexicon")
        self.settings = SimpleNamespace(explicit=ExplicitSettings(repetitions=1))

    def judge(self, key: str, progress: object) -> Endless:
        return self.judge_of_all


def test_whatever_ends_the_run_ends_the_asking_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = pd.DataFrame(
        {
            "phrase": ["likely", "may be"],
            "retained": True,
            "ruler": "own",
            "ruler_reason": "",
            "example_sentences": [["Likely <finding>."], ["There may be <finding>."]],
            "vocabulary_version": "v",
        }
    )
    monkeypatch.setattr(AskingAhead, "_vocabulary", lambda self: vocabulary)
    judge = Endless()

    def broken_off() -> None:
        with asking_ahead(FakeHome(judge)) as ahead:  # type: ignore[arg-type]
            ahead.begin([Stage("compare", ("two",)), Stage("compare", ("lexicon",))])
            assert judge.asked.wait(30)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert judge.interrupted.is_set()
