"""Several language models of one run are asked at the same time, and store what each
would store alone.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from asking_homes import MODELS, home_of
from finished_homes import Finished
from loopback import LoopbackServer
from lunguage_assets.lineage.run_plan import Stage
from lunguage_assets.orchestration.runs.runner import RunFailed
from small_homes import SmallHome

from lunguage_assets.explicit.rating.matches import comparison_matches
from lunguage_assets.judges.rules.cues import CuesJudge
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.store import partition_path, read_table

STAGES = [Stage("compare", (key,)) for key in MODELS]


def calls_shown(small: SmallHome, judge: str) -> int:
    """Calls that the UI shows with a judge's comparisons."""
    event = small.instance.fetch_materializations(
        dg.AssetRecordsFilter(
            dg.AssetKey("comparison_matches"), asset_partitions=[judge]
        ),
        limit=1,
    ).records[0]
    assert event.asset_materialization is not None
    return int(event.asset_materialization.metadata["llm_calls"].value)  # type: ignore[arg-type]


def test_models_asked_together_store_what_each_would_alone(
    finished: Finished, tmp_path: Path
) -> None:
    with LoopbackServer(latency=0.05) as server:
        home = home_of(
            tmp_path / "home", finished, dict.fromkeys(MODELS, server.openai_url)
        )
        with SmallHome.opened(home, judges_file=home / "judges.toml") as small:
            small.runner().run("panel", stages=STAGES)
            calls_by_model = [calls_shown(small, key) for key in MODELS]
            settings = small.configuration.settings.explicit
        firsts = {call.model: call.number for call in reversed(server.calls)}
        lasts = {call.model: call.number for call in server.calls}
    tables = home / "tables"
    vocabulary = read_table(
        TABLES["hedge_vocabulary"],
        partition_path(tables, "hedge_vocabulary", "lexicon"),
    )
    alone = comparison_matches(vocabulary, CuesJudge.bundled("loopback"), settings)
    assert len(firsts) == 3
    assert max(firsts.values()) < min(lasts.values()), (
        "each was asked while the others were"
    )
    assert sum(calls_by_model) == len(server.calls), (
        "what was paid is shown with the partition that it was paid for"
    )
    for key in MODELS:
        path = partition_path(tables, "comparison_matches", key)
        pd.testing.assert_frame_equal(
            read_table(TABLES["comparison_matches"], path), alone
        )


def test_an_unreachable_model_fails_in_its_own_run_alone(
    finished: Finished, tmp_path: Path
) -> None:
    with LoopbackServer() as server:
        urls = {
            "one": server.openai_url,
            "two": "http://127.0.0.1:9",
            "three": server.openai_url,
        }
        home = home_of(tmp_path / "home", finished, urls)
        with SmallHome.opened(home, judges_file=home / "judges.toml") as small:
            with pytest.raises(RunFailed, match=r"compare \(two\)"):
                small.runner().run("panel", stages=STAGES)
            calls_before = len(server.calls)
            small.runner().run("panel", stages=STAGES[2:])
    assert len(server.calls) == calls_before > 0
