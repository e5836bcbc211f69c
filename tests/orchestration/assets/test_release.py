"""The release of a finished home: the published columns, every row explained, references that resolve."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from finished_homes import Finished
from platform_support import contents
from small_homes import SmallHome

from lunguage_assets.current.recipes import RECIPES
from lunguage_assets.data_files import resource
from lunguage_assets.release.bundle.versions import current_version


def release_of(finished: Finished) -> Path:
    """The part with the rows."""
    version = current_version(finished.home / "release" / "panel")
    assert version is not None
    return version / "restricted"


def test_every_delivered_row_is_accounted_for(finished: Finished) -> None:
    files = [finished.deliveries / batch / "Lunguage.csv" for batch in ("first", "second")]
    delivered = pd.concat([pd.read_csv(file, dtype=str) for file in files], ignore_index=True)
    folder = release_of(finished)
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    assert rows["rows_in"] == len(delivered)
    assert (
        rows["rows_in"]
        == rows["originals_out"]
        + rows["merged"]
        + rows["removed"]
        + rows["excluded"]
        + rows["rejected"]
        + rows["set_aside"]
    )
    out = pd.read_parquet(folder / "Lunguage_plus_plus.parquet")
    log = pd.read_csv(folder / "resolution_log.csv", dtype=str)
    stated = set(out.loc[out["source"] == "original", "finding_id"])
    logged = set(
        log.loc[
            log["event"].isin(["merged", "removed", "excluded"]) & (log["source"] == "original"), "finding_id"
        ]
    )
    assert stated | logged == {
        f"{study}:{row}" for study, row in zip(delivered["study_id"], delivered.iloc[:, 0], strict=True)
    }
    assert not stated & logged


def test_the_duckdb_file_opens_with_any_client_and_agrees_with_the_release(finished: Finished) -> None:
    out = pq.read_metadata(release_of(finished) / "Lunguage_plus_plus.parquet").num_rows
    with duckdb.connect(str(finished.home / "lunguage.duckdb"), read_only=True) as client:
        found = client.execute(
            "SELECT ranker, report_batch, count(*) FROM lunguage_plus_plus GROUP BY ALL"
        ).fetchall()
    assert {(ranker, batch) for ranker, batch, _ in found} == {("panel", "first"), ("panel", "second")}
    assert sum(rows for _, _, rows in found) == out


@pytest.mark.parametrize(
    ("change", "cause", "stale"),
    [
        ("[explicit]\nstep_limit = 17\n", "fit settings changed", ("first", "second")),
        ("[corpus]\ndefault_view = 'pa'\n", "corpus settings changed", ("first", "second")),
        (None, "pathways changed", ("first",)),
    ],
    ids=["a setting of the fit", "a setting of the intake", "pathways, and one batch expanded again"],
)
def test_after_a_change_no_stale_batch_is_released(
    change: str | None, cause: str, stale: tuple[str, ...], small: SmallHome
) -> None:
    settings, own = small.home.settings_file.read_text(), small.home.root / "pathways.yaml"
    if change is None:
        own.write_text(resource("pathways.yaml").read_text() + "\n# another\n")
        tables = [
            table
            for step in ("deduplicated_findings", "expansions", "lunguage_plus_plus")
            for table in RECIPES[step].tables
        ]
        small.make(tables, {"ranker": "panel", "report_batch": "second"})
    else:
        name = change.splitlines()[0]
        kept = settings.replace(name + "\n", "")
        small.home.settings_file.write_text(change + kept)
    before = contents(small.home.release)
    refused = small.make(["release"], "panel", raise_on_error=False)
    (failure,) = refused.get_step_failure_events()
    said = str(failure.event_specific_data.user_failure_data.description)  # type: ignore[union-attr]
    assert f"{len(stale)} of 2 batches of ranker 'panel'" in said
    assert all(f"{batch} ({cause})" in said for batch in stale)
    assert contents(small.home.release) == before
