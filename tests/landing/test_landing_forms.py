"""What a landing folder takes: the Lunguage form in every packing, folders, the output of lunguage-score; and
what it passes over.
"""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from landing_drops import DECLARED, Landing, csv, packed, parquet, rows, score_output

from lunguage_assets.corpus.columns import numbered_sentences
from lunguage_assets.corpus.intake import take_in
from lunguage_assets.home.home import Corpus
from lunguage_assets.landing.passes import SharedFileWrong
from lunguage_assets.settings import CorpusSettings

VOCABULARY = "category,target_term,normed_term\npf,opacity,opacification\n"
METADATA = "dicom_id,subject_id,study_id,ViewPosition\nd,10000001,50000001,PA\n"


def test_csv_packed_csv_and_parquet_are_taken_and_named_after_their_file(landing: Landing) -> None:
    landing.drop("Night 1.csv", csv(1))
    landing.drop("day.CSV.gz", packed(csv(2)))
    landing.drop("week.parquet", parquet(3))
    outcome = landing.settle()
    assert {batch.key for batch in outcome.registered.values()} == {"night-1", "day", "week"}
    assert landing.batches == {"night-1": {"s00000001"}, "day": {"s00000002"}, "week": {"s00000003"}}


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


def test_the_structured_output_of_lunguage_score_is_read_sentence_by_sentence(landing: Landing) -> None:
    passages = {
        "find": "(1) A possible opacity.(2) There is edema, type (2).",
        "impr": "(1) Opacity may be there.(2) Edema.",
    }
    output = score_output(passages)
    landing.drop("pred_SR_df.csv", output.to_csv(index=False).encode())
    (batch,) = landing.settle().registered.values()
    assert (batch.studies, batch.rows, batch.rejected) == (1, 4, 0)
    findings = take_in(landing.home.delivery(batch.key), CorpusSettings()).findings
    assert findings["sent"].tolist() == [
        "A possible opacity.",
        "There is edema, type (2).",
        "Opacity may be there.",
        "Edema.",
    ]
    assert findings["section"].tolist() == ["find", "find", "impr", "impr"]
    assert findings["status"].tolist() == ["tp", "dp", "tp", "dp"]
    assert findings["masked_sentence"].dropna().tolist() == [
        "A possible <finding>.",
        "<finding> may be there.",
    ]
    assert findings["evidence"].tolist()[0] == ["s50000001:1"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="()", exclude_categories=("C", "Z")), min_size=1), max_size=6
    ),
    st.booleans(),
)
def test_numbered_sentences_are_found_again_with_or_without_blanks_between_them(
    sentences: list[str], spaced: bool
) -> None:
    passage = (" " if spaced else "").join(
        f"({number}) {sentence}" for number, sentence in enumerate(sentences, 1)
    )
    assert numbered_sentences(passage) == dict(enumerate(sentences, 1))


def test_output_of_lunguage_score_may_lack_every_optional_column_but_not_the_sentence(
    landing: Landing,
) -> None:
    needed = [
        "report_type",
        "study_id",
        "subject_id",
        "sentences",
        "sent_idx",
        "entity",
        "dx_status",
        "dx_certainty",
    ]
    output = score_output({"find": "(1) A possible opacity.(2) Edema."})
    landing.drop("few.csv", output[needed].to_csv(index=False).encode())
    landing.drop("fewer.csv", output[needed].drop(columns="sent_idx").to_csv(index=False).encode())
    outcome = landing.settle()
    assert [batch.key for batch in outcome.registered.values()] == ["few"]
    assert list(outcome.quarantined) == ["fewer.csv"]
    assert "column 'sent_idx'" in outcome.quarantined["fewer.csv"].reason


def test_a_column_sentences_without_numbers_is_the_sentence_and_sent_goes_before_it(landing: Landing) -> None:
    plain = score_output({"find": "Edema is seen."}).assign(dx_certainty="definitive")
    landing.drop("plain.csv", plain.to_csv(index=False).encode())
    landing.drop("both.csv", plain.assign(sent="Its own.", section="impr").to_csv(index=False).encode())
    landing.settle()
    read = {key: take_in(landing.home.delivery(key), CorpusSettings()).findings for key in ("plain", "both")}
    assert set(read["plain"]["sent"]) == {"Edema is seen."}
    assert set(read["both"]["sent"]) == {"Its own."}
    assert set(read["both"]["section"]) == {"impr"}


def test_hidden_temporary_and_foreign_names_are_no_deliveries_and_lie_on(landing: Landing) -> None:
    passed_over = [
        ".hidden.csv",
        "x.csv.part",
        "y.tmp.csv",
        "~z.csv",
        "z.csv~",
        "_temporary.csv",
        "quarantine/old/a.csv",
        "old.csv.rejected.csv",
    ]
    for name in [*passed_over, "sheet.xlsx", "mimic-cxr-2.0.0-metadata.csv"]:
        landing.drop(name, csv(1))
    before = landing.files
    outcome = landing.settle()
    assert set(outcome.others) == {"sheet.xlsx", "mimic-cxr-2.0.0-metadata.csv"}
    assert (outcome.registered, outcome.quarantined, outcome.waiting) == ({}, {}, {})
    assert landing.files == before


def test_the_same_content_is_taken_once_however_named_or_packed(landing: Landing) -> None:
    landing.drop("one.csv", csv(1))
    landing.settle()
    landing.drop("two.csv", csv(1))
    landing.drop("three.csv.gz", packed(csv(1), level=1))
    landing.drop("four/Lunguage.csv.gz", packed(csv(1), level=9))
    outcome = landing.settle()
    assert outcome.skipped == dict.fromkeys(["two.csv", "three.csv.gz", "four"], "one")
    assert list(landing.batches) == ["one"]
    assert landing.land().known == 4


def test_the_landing_folders_declaration_and_vocabulary_serve_deliveries_that_bring_none(
    landing: Landing,
) -> None:
    landing.drop("corpus.toml", DECLARED)
    landing.drop("Lunguage_vocab.csv", VOCABULARY)
    landing.drop("bare.csv", csv(1))
    landing.drop("own/Lunguage.csv", csv(2))
    landing.drop("own/Lunguage_vocab.csv", VOCABULARY.replace("opacification", "shadow"))
    landing.settle()
    names = {
        key: take_in(landing.home.delivery(key), CorpusSettings()).findings["name"].tolist()
        for key in landing.batches
    }
    assert names == {"bare": ["opacification"], "own": ["shadow"]}
    assert landing.home.corpus() == Corpus("invented", "synthetic")


def test_undeclared_text_is_patient_data(landing: Landing) -> None:
    landing.drop("bare.csv", csv(1))
    landing.settle()
    assert landing.home.corpus() == Corpus("unnamed", "credentialed")


def test_an_undeclared_delivery_joins_a_named_corpus_of_patient_data_and_no_synthetic_one(
    landing: Landing,
) -> None:
    landing.home.claim(Corpus("archive", "credentialed"))
    landing.drop("bare.csv", csv(1))
    assert [batch.key for batch in landing.settle().registered.values()] == ["bare"]


@pytest.mark.parametrize("name", ["corpus.toml", "Lunguage_vocab.csv"])
def test_no_delivery_is_blamed_for_a_wrong_file_that_serves_all(landing: Landing, name: str) -> None:
    landing.drop(name, "neither TOML,nor\na,vocabulary")
    landing.drop("good.csv", csv(1))
    with pytest.raises(SharedFileWrong, match=f"{name} in the landing folder"):
        landing.settle()
    assert "good.csv" in landing.files
    landing.drop(name, DECLARED if name == "corpus.toml" else VOCABULARY)
    landing.settle()
    assert list(landing.batches) == ["good"]


def test_a_new_vocabulary_for_all_must_have_settled_before_a_delivery_is_read_with_it(
    landing: Landing,
) -> None:
    landing.drop("Lunguage_vocab.csv", VOCABULARY)
    landing.drop("bare.csv", csv(1))
    landing.drop("bare.csv.done", "")
    landing.now += 1.0
    assert landing.land().waiting["bare.csv"] == "a file for all deliveries may still be written to"
    assert [batch.key for batch in landing.land(after_s=60.0).registered.values()] == ["bare"]


def test_rejected_rows_of_a_good_delivery_are_listed_beside_it_without_its_text(landing: Landing) -> None:
    bad = pd.concat([rows(1, 2), rows(3, dx_status="a zebrafish perhaps")])
    landing.drop("mixed.csv", bad.to_csv(index=False).encode())
    (batch,) = landing.settle().registered.values()
    assert (batch.studies, batch.rows, batch.rejected) == (3, 3, 1)
    listed = (landing.root / "mixed.csv.rejected.csv").read_text()
    (line,) = pd.read_csv(io.StringIO(listed)).to_dict("records")
    assert (line["file"], line["row"], line["study_id"], line["column"], line["reason"]) == (
        "mixed.csv",
        3,
        "s00000003",
        "dx_status",
        "dx-status",
    )
    assert "zebrafish" not in listed
    landing.drop("mixed.csv", csv(1, 2, 3))
    landing.settle()
    assert "mixed.csv.rejected.csv" not in landing.files


def test_what_is_registered_is_the_delivery_as_it_was(landing: Landing) -> None:
    landing.drop("exact.csv", csv(1, 2))
    landing.settle()
    batch = landing.home.batches / "exact"
    assert (batch / "Lunguage.csv").read_bytes() == csv(1, 2)
    assert json.loads((batch / "batch.json").read_text())["files"] == ["Lunguage.csv"]
