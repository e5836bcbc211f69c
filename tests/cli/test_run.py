"""`lunguage run`: Lunguage files in, Lunguage++ out; a second time there is nothing to
do.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import dagster as dg
import duckdb
import pandas as pd
import pytest
from commands import lunguage
from finished_homes import Finished, brief_analyses
from platform_support import contents

from lunguage_assets.release.context import ANALYSES


@pytest.fixture
def home(ran: tuple[Path, str], tmp_path: Path) -> Path:
    shutil.copytree(ran[0], tmp_path / "home")
    return tmp_path / "home"


def test_runs_materialisations_and_checks_are_in_the_persistent_instance(
    ran: tuple[Path, str],
) -> None:
    with dg.DagsterInstance.from_config(str(ran[0] / "dagster")) as instance:
        runs = instance.get_runs()
        stick = ["build_vocabulary", "compare", "compare", "rank"]
        jobs = ["ingest", "extract_hedges", *stick, "refit", "release"]
        assert [run.job_name for run in reversed(runs)] == jobs
        assert all(run.is_success for run in runs)
        assert all(run.remote_job_origin for run in runs), (
            "or the timeline leaves them out"
        )
        record = instance.get_latest_materialization_event(
            dg.AssetKey("lunguage_plus_plus")
        )
        assert record is not None
        assert record.asset_materialization.partition == "panel|first"


def test_a_second_run_has_nothing_to_do_and_does_nothing(
    home: Path, five: Path
) -> None:
    before = contents(home)
    done = lunguage(home, "run", "--data", five, "--batch", "first")
    assert done.stdout.startswith("Everything is current: nothing to do."), done.stderr
    assert not contents(home).items() - before.items()


@pytest.mark.lengthy
def test_bad_rows_are_set_aside_and_the_newest_study_counts(
    home: Path, tmp_path: Path, five: Path
) -> None:
    delivery = tmp_path / "messy"
    shutil.copytree(five, delivery)
    frame = pd.read_csv(
        delivery / "Lunguage.csv", dtype=str, keep_default_na=False
    ).rename(columns={"Unnamed: 0": ""})
    spoiled = {
        0: ("dx_status", "perhaps"),
        1: ("section", "appendix"),
        2: ("study_id", "unknown"),
        3: ("", frame[""].iloc[4]),
    }
    for line, (column, value) in spoiled.items():
        frame.loc[line, column] = value
    frame["surplus"] = "x"
    text = frame.to_csv(index=False) + "99999,p90000001,too few values\n"
    (delivery / "Lunguage.csv").write_text(text, encoding="utf-8-sig", newline="\r\n")
    (delivery / "Lunguage_vocab.csv").unlink()
    (delivery / "mimic-cxr-2.0.0-metadata.csv").unlink()
    done = lunguage(home, "run", "--data", delivery)
    assert done.returncode == 0, done.stderr
    assert "warns" in done.stdout
    assert "intake_accepted (messy)" in done.stdout
    released = home / "release" / "panel" / "v2" / "restricted"
    rejected = pd.read_csv(released / "rejected.csv", dtype=str)
    assert set(rejected["reason"]) == {
        "dx-status", "section", "study-id", "duplicate-row-number", "unreadable-row",
    }  # fmt: skip
    summary = json.loads((released / "summary.json").read_text())
    rows = summary["rows"]
    assert (rows["rejected"], rows["rows_in"]) == (5, len(frame) + 1)
    assert summary["reports"] == 5, "each study once, of the later batch"
    findings = pd.read_parquet(released / "Lunguage_plus_plus.parquet")
    assert set(findings["report_batch"]) == {"messy"}, "the later batch"
    with duckdb.connect(str(home / "lunguage.duckdb"), read_only=True) as client:
        reasons = client.execute("SELECT reason FROM intake_notes").fetchall()
    assert {("vocabulary-missing",), ("metadata-missing",)} <= set(reasons)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (None, "no such folder"),
        ({"notes.md": "for people"}, "Lunguage.csv"),
        ({"Lunguage.csv": "", "corpus.toml": 'data_class = "public"\n'}, "data_class"),
    ],
    ids=["no folder", "no findings file", "unknown data class"],
)
def test_an_unusable_delivery_stops_with_one_line_and_leaves_no_release(
    files: dict[str, str] | None, message: str, tmp_path: Path
) -> None:
    delivery = tmp_path / "delivery"
    if files is not None:
        delivery.mkdir()
    for name, content in (files or {}).items():
        (delivery / name).write_text(content)
    done = lunguage(tmp_path / "home", "run", "--data", delivery, "--batch", "b")
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("lunguage: ")
    assert message in line
    assert (done.returncode, (tmp_path / "home" / "release").exists()) == (1, False)


def fill_in(responses: Path) -> None:
    """Six experts who choose the first phrase, but one who leaves every other
    pair out.
    """
    rows = pd.read_csv(responses, dtype=str, keep_default_na=False)
    experts = [name for name in rows if name.startswith("expert")]
    for name in experts:
        rows[name] = rows["phrase_1"]
    rows.loc[1::2, experts[0]] = ""
    rows.to_csv(responses, index=False)


@pytest.mark.lengthy
def test_a_survey_and_analyses_become_tables_and_ask_nobody(
    finished: Finished, tmp_path: Path
) -> None:
    home = tmp_path / "finished"
    shutil.copytree(finished.home, home)
    responses = tmp_path / "responses.csv"
    making = lunguage(home, "survey", "make", "--pairs", "12", "--out", responses)
    assert making.returncode == 0, making.stderr
    fill_in(responses)
    importing = lunguage(home, "survey", "import", "--responses", responses)
    assert importing.returncode == 0, importing.stderr
    with brief_analyses():
        done = lunguage(home, "analyse")
    assert done.returncode == 0, done.stderr
    assert "pairwise agreement" in done.stdout
    assert "with ranking" in done.stdout
    with duckdb.connect(str(home / "lunguage.duckdb"), read_only=True) as connection:
        for table in ANALYSES.keys() - {"expert_agreement"}:
            rows = connection.sql(f"FROM {table} WHERE ranker = 'panel'").fetchall()
            assert rows, table
    assert not (home / "ledger.sqlite").exists()
