"""What a landing folder takes: findings and raw reports in every packing, folders, the output of
lunguage-score; and what it passes over.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from landing_drops import DECLARED, Landing, csv, packed, parquet, score_output
from raw_deliveries import REPORTS, write_mimic_tree, write_openi_tables, write_table

from lunguage_assets.corpus.intake import take_in
from lunguage_assets.corpus.texts.receiving import receive
from lunguage_assets.home.home import Corpus
from lunguage_assets.settings import CorpusSettings

VOCABULARY = "category,target_term,normed_term\npf,opacity,opacification\n"
METADATA = "dicom_id,subject_id,study_id,ViewPosition\nd,10000001,50000001,PA\n"
STUDIES = {f"s{report.study}" for report in REPORTS}


def studies(landing: Landing, key: str) -> set[str]:
    """Studies of a batch of raw reports."""
    assert landing.home.batch(key).kind == "text"
    received = receive(landing.home.delivery(key), CorpusSettings())
    return set(received.report_texts["study_id"])


def test_csv_packed_csv_and_parquet_are_taken_and_named_after_their_file(landing: Landing) -> None:
    landing.drop("Night 1.csv", csv(1))
    landing.drop("day.CSV.gz", packed(csv(2)))
    landing.drop("week.parquet", parquet(3))
    outcome = landing.settle()
    assert {batch.key for batch in outcome.registered.values()} == {"night-1", "day", "week"}
    assert landing.batches == {"night-1": {"s00000001"}, "day": {"s00000002"}, "week": {"s00000003"}}
    assert landing.home.corpus() == Corpus("unnamed", "credentialed"), "undeclared text is patient data"
    batch = landing.home.batches / "night-1"
    assert (batch / "Lunguage.csv").read_bytes() == csv(1)
    assert json.loads((batch / "batch.json").read_text())["files"] == ["Lunguage.csv"]


def test_a_folder_of_the_published_files_is_taken_as_a_whole(landing: Landing) -> None:
    landing.drop("first/Lunguage.csv.gz", packed(csv(50000001)))
    landing.drop("first/lunguage_vocab.csv", VOCABULARY)
    landing.drop("first/mimic-cxr-2.0.0-metadata.csv.gz", packed(METADATA.encode()))
    landing.drop("first/corpus.toml", DECLARED)
    landing.drop("first/notes.txt", "for people")
    landing.settle()
    taken = take_in(landing.home.delivery("first"), CorpusSettings())
    assert taken.reports["view_information"].tolist() == ["pa"]
    assert taken.findings["name"].tolist() == ["opacification"]
    assert landing.home.corpus() == Corpus("invented", "synthetic")


def test_the_structured_output_of_lunguage_score_is_taken(landing: Landing) -> None:
    output = score_output({"find": "(1) A possible opacity.(2) Edema."})
    landing.drop("pred_SR_df.csv", output.to_csv(index=False).encode())
    landing.drop("fewer.csv", output.drop(columns="sent_idx").to_csv(index=False).encode())
    outcome = landing.settle()
    (batch,) = outcome.registered.values()
    assert (batch.studies, batch.rows, batch.rejected) == (1, 2, 0)
    assert "column 'sent_idx'" in str(outcome.quarantined["fewer.csv"])


def test_hidden_temporary_and_foreign_names_are_no_deliveries_and_lie_on(landing: Landing) -> None:
    passed_over = [".hidden.csv", "x.csv.part", "y.tmp.csv", "~z.csv", "z.csv~", "_temporary.csv"]
    passed_over += ["quarantine/old/a.csv", "old.csv.rejected.csv"]
    for name in [*passed_over, "sheet.xlsx", "mimic-cxr-2.0.0-metadata.csv"]:
        landing.drop(name, csv(1))
    before = landing.files
    outcome = landing.settle()
    assert set(outcome.others) == {"sheet.xlsx", "mimic-cxr-2.0.0-metadata.csv"}
    assert (outcome.registered, outcome.quarantined, outcome.waiting) == ({}, {}, {})
    assert landing.files == before


def test_the_landing_folders_declaration_and_vocabulary_serve_deliveries_that_bring_none(
    landing: Landing,
) -> None:
    landing.home.claim(Corpus("invented", "synthetic"))
    landing.drop("corpus.toml", DECLARED)
    landing.drop("Lunguage_vocab.csv", VOCABULARY)
    landing.drop("bare.csv", csv(1))
    landing.drop("bare.csv.done", "")
    landing.drop("own/Lunguage.csv", csv(2))
    landing.drop("own/Lunguage_vocab.csv", VOCABULARY.replace("opacification", "shadow"))
    landing.now += 1.0
    assert landing.land().waiting["bare.csv"] == "a file for all deliveries may still be written to"
    landing.settle()
    names = {
        key: take_in(landing.home.delivery(key), CorpusSettings()).findings["name"].tolist()
        for key in landing.batches
    }
    assert names == {"bare": ["opacification"], "own": ["shadow"]}


def test_a_tree_and_the_same_tree_in_a_package_are_one_batch(landing: Landing, tmp_path: Path) -> None:
    write_mimic_tree(tmp_path / "t", packed=True)
    shutil.copytree(tmp_path / "t", landing.root / "Night 1")
    landing.drop("Night 1/.done", "")
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
    assert landing.settle().skipped == {"again": "night-1"}


@pytest.mark.parametrize("name", ["monday.csv.gz", "reports.parquet", "of the web.csv"])
def test_a_table_of_any_name_is_taken_for_what_it_holds(landing: Landing, tmp_path: Path, name: str) -> None:
    made = (
        write_openi_tables(tmp_path)
        if "web" in name
        else write_table(tmp_path, name.replace("monday", "reports"))
    )
    landing.drop(name, made[0].read_bytes())
    assert set(landing.settle().registered) == {name}
    (batch,) = landing.home.registered()
    assert len(studies(landing, batch.key)) == len(REPORTS)


def test_more_reports_than_a_batch_may_have_become_several_batches_also_after_a_kill(
    landing: Landing, tmp_path: Path
) -> None:
    landing.home.create()
    landing.home.settings_file.write_text("[corpus]\nbatch_reports = 5\n")
    content = write_table(tmp_path)[0].read_bytes()
    landing.drop("year.csv", content)
    registered = landing.settle().registered
    assert list(registered) == ["year.csv (1 of 3)", "year.csv (2 of 3)", "year.csv (3 of 3)"]
    assert [batch.key for batch in landing.home.registered()] == ["year-001", "year-002", "year-003"]
    each = [studies(landing, batch.key) for batch in landing.home.registered()]
    assert set().union(*each) == STUDIES
    assert sum(map(len, each)) == len(STUDIES)
    assert [batch.studies for batch in registered.values()] == [len(part) for part in each]
    shutil.rmtree(landing.home.batches / "year-002")  # as if the pass had been killed before
    assert len(landing.settle().registered) == 3
    assert [batch.key for batch in landing.home.registered()] == ["year-001", "year-003", "year-002"]
    landing.drop("copy.csv", content)
    assert landing.settle().skipped == {"copy.csv": "year-001"}
