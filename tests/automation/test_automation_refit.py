"""A new ranking makes batches stale; the checks say so beside ranking and fits, and the job `refit` mends
it.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
import pytest
from acted_out import defined
from lunguage_assets.orchestration.checks.stale import FITS_CURRENT, RANKING_CURRENT
from PIL import Image
from small_homes import SmallHome, write_deliveries

import lunguage_assets.explicit.rating.ranking as ranking
import lunguage_assets.orchestration.assets.explicit as explicit
from lunguage_assets.orchestration.automation.conditions import CARRIED

OF_RANKER = [table for table in CARRIED if table != "hedge_phrases"]


@pytest.fixture
def fitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallHome]:
    """One batch of five reports, fitted with the published ruler; nothing is drawn."""
    dot = io.BytesIO()
    Image.new("P", (1, 1)).save(dot, "png")
    for plot in ("vocabulary_histogram", "ranking_plot", "probability_histogram", "calibration_plot"):
        monkeypatch.setattr(explicit, plot, lambda *_: dot.getvalue())
    with SmallHome.opened(tmp_path) as small:
        small.compare(write_deliveries(tmp_path / "deliveries", batches=("first",)))
        assert rank(small).passed
        assert refit(small).passed
        yield small


def run(
    small: SmallHome, tables: Sequence[str], partition: str | dg.MultiPartitionKey, check: dg.AssetCheckKey
) -> dg.AssetCheckEvaluation:
    """Make tables with one check, and what it says; the other checks have tests of their own."""
    keys = {dg.AssetKey(table) for table in tables}
    whole = small.definitions.get_repository_def().get_implicit_job_def_for_assets(keys)
    assert whole is not None
    made_with_them = {
        found
        for key in keys
        for found in small.definitions.resolve_asset_graph().assets_def_for_key(key).check_keys
    }
    job = whole.get_subset(asset_selection=keys, asset_check_selection={check, *made_with_them})
    result = job.execute_in_process(instance=small.instance, partition_key=partition)
    (told,) = (
        evaluation
        for evaluation in result.get_asset_check_evaluations()
        if evaluation.asset_check_key == check
    )
    return told


def refit(small: SmallHome) -> dg.AssetCheckEvaluation:
    return run(
        small, OF_RANKER, dg.MultiPartitionKey({"ranker": "panel", "report_batch": "first"}), RANKING_CURRENT
    )


def rank(small: SmallHome) -> dg.AssetCheckEvaluation:
    return run(small, ["reference_ranking"], "panel", FITS_CURRENT)


def marked(small: SmallHome, batch: str) -> str:
    """What the grid shows of `ranking_current` on the batch's fits as they are."""
    log = small.instance.event_log_storage
    (info,) = log.get_asset_check_partition_info([RANKING_CURRENT], partition_keys=[f"panel|{batch}"])
    return info.latest_execution_status.value if info.is_current else "not evaluated"


def test_a_new_ranking_marks_every_fitted_batch_stale_and_refitting_mends_it(
    fitted: SmallHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = [dataclasses.replace(entry, mu=entry.mu + 0.01) for entry in ranking.published_ranking()]
    monkeypatch.setattr(ranking, "published_ranking", lambda: moved)
    told = rank(fitted)
    assert (told.passed, told.severity, told.metadata["stale"].value) == (
        False,
        dg.AssetCheckSeverity.WARN,
        1,
    )
    assert marked(fitted, "first") == "FAILED"
    assert dg.evaluate_automation_conditions(fitted.definitions, fitted.instance).total_requested == 0, (
        "a person decides"
    )
    assert refit(fitted).passed
    assert marked(fitted, "first") == "SUCCEEDED"
    assert rank(fitted).passed


def test_the_jobs_are_made_for_it() -> None:
    definitions = defined().definitions
    refits = definitions.resolve_job_def("refit").asset_layer
    assert {key.path[-1] for key in refits.executable_asset_keys} == set(OF_RANKER)
    releases = definitions.resolve_job_def("release").asset_layer
    assert FITS_CURRENT in releases.asset_graph.asset_check_keys, "told again every night"
