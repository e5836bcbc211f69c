"""`lunguage run`: Lunguage files in, Lunguage++ out, every row explained, through the persistent Dagster
instance.
"""

from __future__ import annotations

import csv
import itertools
import json
import shutil
from pathlib import Path

import dagster as dg
import duckdb
import pandas as pd
import pyarrow.parquet as pq
from platform_support import contents

from lunguage_assets.release.bundle.versions import current_version
from lunguage_assets.sample import write_sample
from lunguage_assets.tables import PUBLISHED_COLUMNS, RELEASE


def release_of(home: Path, ranker: str = "panel") -> Path:
    version = current_version(home / "release" / ranker)
    assert version is not None
    return version / "restricted"


def test_the_csv_has_exactly_the_published_columns_in_order(finished_home: Path) -> None:
    with (release_of(finished_home) / "Lunguage_plus_plus.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    assert tuple(rows[0]) == PUBLISHED_COLUMNS
    assert all(len(row) == 30 for row in rows)


def test_every_delivered_row_is_accounted_for(finished_home: Path, sixty_reports: Path) -> None:
    delivered = pd.read_csv(sixty_reports / "Lunguage.csv", dtype=str)
    folder = release_of(finished_home)
    rows = json.loads((folder / "summary.json").read_text())["rows"]
    assert rows["rows_in"] == len(delivered)
    assert (
        rows["rows_in"]
        == rows["originals_out"] + rows["merged"] + rows["removed"] + rows["excluded"] + rows["rejected"]
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


def test_references_in_the_csv_point_to_rows_of_the_same_study(finished_home: Path) -> None:
    published = pd.read_csv(
        release_of(finished_home) / "Lunguage_plus_plus.csv", dtype=str, keep_default_na=False
    )
    assert published.groupby("study_id")["idx"].nunique().sum() == len(published)
    by_number = {
        (study, idx): ent
        for study, idx, ent in zip(published["study_id"], published["idx"], published["ent"], strict=True)
    }
    checked = 0
    for study, evidence, associate in zip(
        published["study_id"], published["evidence"], published["associate"], strict=True
    ):
        for cell in (evidence, associate):
            tokens = [token.strip() for token in cell.split(",") if token.strip()]
            for name, number in itertools.pairwise(tokens):
                if number.startswith("idx"):
                    assert by_number[study, number.removeprefix("idx")].endswith(name)
                    checked += 1
    assert checked > 100


def test_probabilities_say_what_the_status_says(finished_home: Path) -> None:
    out = pd.read_parquet(release_of(finished_home) / "Lunguage_plus_plus.parquet")
    original = out[out["source"] == "original"]
    assert set(original.loc[original["status"] == "dp", "prob"]) == {1.0}
    assert set(original.loc[original["status"] == "dn", "prob"]) == {0.0}
    tentative = original[original["status"].isin(["tp", "tn"])]
    assert tentative["prob"].between(0.01, 0.99).all()
    assert (out["p_low"] <= out["prob"]).all()
    assert (out["prob"] <= out["p_high"]).all()


def test_the_parquet_has_the_released_schema_with_provenance(finished_home: Path) -> None:
    assert pq.read_schema(release_of(finished_home) / "Lunguage_plus_plus.parquet").equals(RELEASE.arrow)


def test_the_duckdb_file_opens_with_any_client_and_agrees_with_the_release(finished_home: Path) -> None:
    out = pq.read_metadata(release_of(finished_home) / "Lunguage_plus_plus.parquet").num_rows
    with duckdb.connect(str(finished_home / "lunguage.duckdb"), read_only=True) as client:
        found = client.execute(
            "SELECT ranker, report_batch, count(*) FROM lunguage_plus_plus GROUP BY ALL"
        ).fetchall()
    assert found == [("panel", "first", out)]


def test_runs_materializations_and_checks_are_in_the_persistent_dagster_instance(finished_home: Path) -> None:
    with dg.DagsterInstance.from_config(str(finished_home / "dagster")) as instance:
        runs = instance.get_runs()
        assert {run.job_name for run in runs} >= {
            "ingest",
            "extract_hedges",
            "build_vocabulary",
            "compare",
            "rank",
            "fit",
            "expand",
            "release",
        }
        assert all(run.is_success for run in runs)
        record = instance.get_latest_materialization_event(dg.AssetKey("lunguage_plus_plus"))
        assert record is not None
        assert record.asset_materialization.partition == "panel|first"


def test_a_folder_of_five_reports_goes_through_with_the_published_ruler(run_of_five) -> None:
    assert "the published phrases" in run_of_five.said
    summary = json.loads((release_of(run_of_five.home) / "summary.json").read_text())
    assert summary["ruler"] == "published"
    assert summary["phrases_ranked"] == 42
    assert summary["reports"] == 5
    assert summary["rows_out"] > 0


def test_the_release_goes_where_it_is_wanted(
    finished_five: Path, tmp_path: Path, lunguage, five_reports: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(finished_five, home)
    done = lunguage(home, "run", "--data", five_reports, "--batch", "first", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "out") in done.stdout
    assert contents(tmp_path / "out" / "release") == contents(finished_five / "release")


def test_bad_rows_are_set_aside_with_their_reasons_and_the_good_ones_go_through(
    tmp_path: Path, lunguage, five_reports: Path
) -> None:
    delivery = tmp_path / "messy"
    shutil.copytree(five_reports, delivery)
    frame = pd.read_csv(delivery / "Lunguage.csv", dtype=str, keep_default_na=False).rename(
        columns={"Unnamed: 0": ""}
    )
    spoiled = {
        0: ("dx_status", "perhaps"),
        1: ("section", "appendix"),
        2: ("study_id", "unknown"),
        3: ("", frame[""].iloc[4]),
    }
    for line, (column, value) in spoiled.items():
        frame.loc[line, column] = value
    frame["surplus"] = "x"
    text = frame.to_csv(index=False, lineterminator="\r\n")
    broken = "99999,p90000001,too few values\r\n"
    (delivery / "Lunguage.csv").write_bytes(b"\xef\xbb\xbf" + (text + broken).encode())
    (delivery / "Lunguage_vocab.csv").unlink()
    (delivery / "mimic-cxr-2.0.0-metadata.csv").unlink()
    home = tmp_path / "home"
    done = lunguage(home, "run", "--data", delivery)
    assert done.returncode == 0, done.stderr
    rejected = pd.read_csv(release_of(home) / "rejected.csv", dtype=str, keep_default_na=False)
    assert sorted(rejected["reason"]) == sorted(
        ["dx-status", "section", "study-id", "duplicate-row-number", "wrong-number-of-values"]
    )
    assert rejected["remedy"].str.len().min() > 0
    assert set(rejected["file"]) == {"Lunguage.csv"}
    rows = json.loads((release_of(home) / "summary.json").read_text())["rows"]
    assert rows["rejected"] == 5
    assert rows["rows_in"] == len(frame) + 1
    with duckdb.connect(str(home / "lunguage.duckdb"), read_only=True) as client:
        noted = {row[0] for row in client.execute("SELECT DISTINCT reason FROM intake_notes").fetchall()}
    assert {"vocabulary-missing", "metadata-missing", "column-ignored"} <= noted


def test_a_single_judge_is_a_ranker_of_its_own(
    finished_home: Path, tmp_path: Path, lunguage, sixty_reports: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(finished_home, home)
    before = contents(home / "release" / "panel")
    done = lunguage(home, "run", "--data", sixty_reports, "--batch", "first", "--ranker", "cues")
    assert done.returncode == 0, done.stderr
    assert json.loads((release_of(home, "cues") / "summary.json").read_text())["judges"] == ["cues"]
    assert contents(home / "release" / "panel") == before


def test_a_second_batch_keeps_the_measuring_stick_and_a_study_that_comes_again_is_taken_from_it(
    finished_home: Path, tmp_path: Path, lunguage, sixty_reports: Path
) -> None:
    home, again = tmp_path / "home", tmp_path / "again"
    shutil.copytree(finished_home, home)
    write_sample(again, reports=8, seed=5)
    amended = pd.read_csv(sixty_reports / "Lunguage.csv", dtype=str, keep_default_na=False)
    study = amended["study_id"].iloc[0]
    amended[amended["study_id"] == study].rename(
        columns=lambda name: "" if name.startswith("Unnamed") else name
    ).to_csv(again / "Lunguage.csv", index=False)
    ranking = (home / "tables" / "reference_ranking" / "panel.parquet").read_bytes()
    done = lunguage(home, "run", "--data", again, "--batch", "second")
    assert done.returncode == 0, done.stderr
    assert (home / "tables" / "reference_ranking" / "panel.parquet").read_bytes() == ranking
    summary = json.loads((release_of(home) / "summary.json").read_text())
    assert summary["batches"] == ["first", "second"]
    assert summary["studies_superseded"] == 1
    assert summary["reports"] == 60
    out = pd.read_parquet(release_of(home) / "Lunguage_plus_plus.parquet")
    assert set(out.loc[out["study_id"] == study, "report_batch"]) == {"second"}
    assert out["finding_id"].is_unique


def test_running_again_changes_no_byte(
    finished_home: Path, tmp_path: Path, lunguage, sixty_reports: Path
) -> None:
    home = tmp_path / "home"
    shutil.copytree(finished_home, home)
    done = lunguage(home, "run", "--data", sixty_reports, "--batch", "first", "--rebuild-ranking")
    assert done.returncode == 0, done.stderr
    for part in ("tables", "release"):
        assert contents(home / part) == contents(finished_home / part)
