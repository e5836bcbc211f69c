"""The release of a finished home: the published columns, every row explained,
references that resolve.
"""

from __future__ import annotations

import json

import duckdb
import pandas as pd
import pyarrow.parquet as pq
from click.testing import CliRunner
from finished_homes import Finished
from platform_support import contents
from small_homes import SmallHome, said_of

from lunguage_assets.cli.main import commands
from lunguage_assets.packaged_data import resource


def test_every_delivered_row_is_accounted_for(finished: Finished) -> None:
    delivered = pd.concat(
        pd.read_csv(finished.deliveries / batch / "Lunguage.csv", dtype=str)
        for batch in ("first", "second")
    )
    folder = finished.restricted
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    assert rows["rows_in"] == len(delivered)
    kept = ("originals_out", "merged", "removed", "excluded", "rejected", "set_aside")
    assert rows["rows_in"] == sum(rows[name] for name in kept)
    out = pd.read_parquet(folder / "Lunguage_plus_plus.parquet")
    log = pd.read_csv(folder / "resolution_log.csv", dtype=str)
    stated = set(out.loc[out["source"] == "original", "finding_id"])
    gone = log["event"].isin(["merged", "removed", "excluded"]) & (
        log["source"] == "original"
    )
    logged = set(log.loc[gone, "finding_id"])
    assert stated | logged == {
        f"{study}:{row}"
        for study, row in zip(delivered["study_id"], delivered.iloc[:, 0], strict=True)
    }
    assert not stated & logged


def test_the_duckdb_file_opens_with_any_client_and_agrees_with_the_release(
    finished: Finished,
) -> None:
    out = pq.read_metadata(finished.restricted / "Lunguage_plus_plus.parquet").num_rows
    query = "SELECT ranker, report_batch, count(*) FROM lunguage_plus_plus GROUP BY ALL"
    file = str(finished.home / "lunguage.duckdb")
    with duckdb.connect(file, read_only=True) as client:
        counts = {
            (ranker, batch): count
            for ranker, batch, count in client.execute(query).fetchall()
        }
    assert counts.keys() == {("panel", "first"), ("panel", "second")}
    assert sum(counts.values()) == out


def test_after_a_change_no_stale_batch_is_released(small: SmallHome) -> None:
    edited = resource("pathways.yaml").read_text() + "\n# another\n"
    (small.home.root / "pathways.yaml").write_text(edited)
    small.runner().prepare()
    for table in ("expansions", "lunguage_plus_plus"):
        small.make(table, report_batch="second")
    before = contents(small.home.release)
    message = said_of(small.make("release", raise_on_error=False))
    assert "1 of 2 batches of ranker 'panel' are stale: first." in message
    assert contents(small.home.release) == before


def test_a_sealed_file_that_was_changed_is_named(small: SmallHome) -> None:
    verify = ["status", "--verify", "--home", str(small.home.root)]
    sealed = CliRunner().invoke(commands, verify).output
    assert "sealed    panel v1: as it was sealed" in sealed
    labels = small.home.release / "panel" / "v1" / "restricted" / "labels.csv"
    labels.unlink()
    result = CliRunner().invoke(commands, verify)
    assert "sealed    panel v1: changed" in result.output
    assert f"{labels}: found no file" in str(result.exception)
    (check,) = small.make("release").get_asset_check_evaluations()
    assert (check.check_name, check.passed) == ("as_sealed", False)
    assert str(labels) in str(check.description)
