"""Raw reports land as findings do: complete, once, and put aside when none can be used."""

from __future__ import annotations

import shutil
import zipfile
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
from landing_drops import DECLARED, Landing, packed
from raw_deliveries import REPORTS, write_mimic_tree, write_openi_tables, write_table

from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.settings import CorpusSettings

STUDIES = {f"s{report.study}" for report in REPORTS}


@pytest.fixture(autouse=True)
def declared(landing: Landing) -> None:
    landing.drop("corpus.toml", DECLARED)


def drop(landing: Landing, folder: Path, name: str) -> None:
    """Everything in a local folder as a delivery that is a folder, with its marker."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        landing.drop(f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())
    landing.drop(f"{name}/.done", "")


def studies(landing: Landing, key: str) -> set[str]:
    assert landing.home.batch(key).kind == "text"
    received = receive(landing.home.delivery(key), CorpusSettings())
    return set(received.report_texts["study_id"])


def test_a_tree_and_the_same_tree_in_a_package_are_one_batch(landing: Landing, tmp_path: Path) -> None:
    write_mimic_tree(tmp_path / "t", packed=True)
    drop(landing, tmp_path / "t", "Night 1")
    outcome = landing.settle()
    assert outcome.registered["Night 1"].studies == len(REPORTS)
    assert studies(landing, "night-1") == STUDIES
    assert landing.home.delivery("night-1").metadata is not None
    plain = tmp_path / "plain"
    write_mimic_tree(plain)
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        for path in sorted((plain / "files").rglob("*.txt")):
            package.write(path, path.relative_to(plain))
    landing.drop("again/mimic-cxr-reports.zip", stream.getvalue())
    landing.drop("again/mimic-cxr-2.0.0-metadata.csv", (plain / "mimic-cxr-2.0.0-metadata.csv").read_bytes())
    landing.drop("again/.done", "")
    assert landing.land().skipped == {"again": "night-1"}


def test_a_table_of_any_name_is_taken_for_what_it_holds(landing: Landing, tmp_path: Path) -> None:
    content = write_table(tmp_path)[0].read_bytes()
    landing.drop("monday.csv", content)
    landing.drop("tuesday.csv.gz", packed(content))
    outcome = landing.settle()
    assert set(outcome.registered) | set(outcome.skipped) == {"monday.csv", "tuesday.csv.gz"}
    assert len(outcome.skipped) == 1
    assert studies(landing, next(iter(landing.home.registered())).key) == STUDIES


@pytest.mark.parametrize("name", ["reports.csv", "reports.parquet", "of the web.csv"])
def test_reports_at_the_top_are_a_delivery(landing: Landing, tmp_path: Path, name: str) -> None:
    made = write_openi_tables(tmp_path) if "web" in name else write_table(tmp_path, name)
    landing.drop(name, made[0].read_bytes())
    assert set(landing.settle().registered) == {name}
    (batch,) = landing.home.registered()
    assert len(studies(landing, batch.key)) == len(REPORTS)


def test_a_tree_that_still_grows_is_not_taken(landing: Landing, tmp_path: Path) -> None:
    write_mimic_tree(tmp_path / "t")
    drop(landing, tmp_path / "t", "f")
    (landing.root / "f" / ".done").unlink()
    landing.now += 60.0
    landing.drop("f/files/p10/p10000032/s50000099.txt", "FINDINGS: No effusion.")
    assert landing.land().waiting == {"f": "it may still be written to"}
    assert landing.land(after_s=60.0).registered["f"].studies == len(REPORTS) + 1


def test_rejected_reports_are_listed_and_none_usable_is_put_aside(landing: Landing) -> None:
    landing.drop("some.csv", "study_id,report\n1,No effusion.\n2,\n1,An effusion.\n")
    assert landing.settle().registered["some.csv"].rejected == 2
    listed = pd.read_csv(BytesIO((landing.root / "some.csv.rejected.csv").read_bytes()))
    assert listed["reason"].tolist() == ["report-empty", "report-repeated"]
    assert "effusion" not in listed.to_csv()
    assert set(listed["file"]) == {"some.csv"}
    landing.drop("none/1.txt", " ")
    landing.drop("none/.done", "")
    assert set(landing.land().quarantined) == {"none"}
    (reason,) = [path for path in landing.files if path.endswith("REASON.txt")]
    assert "none can be used" in (landing.root / reason).read_text()


def write_settings(landing: Landing, batch_reports: int) -> None:
    landing.home.create()
    landing.home.settings_file.write_text(f"[corpus]\nbatch_reports = {batch_reports}\n")


def test_more_reports_than_a_batch_may_have_become_several_batches(landing: Landing, tmp_path: Path) -> None:
    write_settings(landing, 5)
    content = write_table(tmp_path)[0].read_bytes()
    landing.drop("year.csv", content)
    registered = landing.settle().registered
    assert list(registered) == ["year.csv (1 of 3)", "year.csv (2 of 3)", "year.csv (3 of 3)"]
    assert [batch.key for batch in landing.home.registered()] == ["year-001", "year-002", "year-003"]
    each = [studies(landing, batch.key) for batch in landing.home.registered()]
    assert set().union(*each) == STUDIES
    assert sum(map(len, each)) == len(STUDIES)
    assert [batch.studies for batch in registered.values()] == [len(part) for part in each]
    landing.drop("copy.csv", content)
    assert landing.settle().skipped == {"copy.csv": "year-001"}
    landing.drop("year.csv", write_table(tmp_path, reports=REPORTS[::-1])[0].read_bytes())
    again = [batch.key for batch in landing.settle().registered.values()]
    assert len(again) == 3
    assert all(key.startswith("year-") and key not in ("year-001", "year-002", "year-003") for key in again)


def test_a_delivery_of_several_batches_that_a_kill_interrupted_is_completed(
    landing: Landing, tmp_path: Path
) -> None:
    write_settings(landing, 5)
    landing.drop("year.csv", write_table(tmp_path)[0].read_bytes())
    landing.settle()
    shutil.rmtree(landing.home.batches / "year-002")
    shutil.rmtree(landing.home.batches / "year-003")
    assert len(landing.settle().registered) == 3
    keys = [batch.key for batch in landing.home.registered()]
    assert keys == ["year-001", "year-002", "year-003"]
    assert landing.settle().registered == {}
