"""Published corpora are read in the shapes in which they are published; what is almost
one is refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from published_shapes import (
    chexpert_row,
    padchest_study,
    rexgradient_entry,
    write_chexpert_plus,
    write_json,
    write_package,
    write_rexgradient_table,
)

from lunguage_assets.corpus.delivery import content_hash
from lunguage_assets.corpus.discovery import find_delivery
from lunguage_assets.corpus.intake import take_in_structured
from lunguage_assets.corpus.texts.layouts import write_packed
from lunguage_assets.corpus.texts.raw import patient_of, study_of
from lunguage_assets.corpus.texts.receiving import Received, receive
from lunguage_assets.errors import InputError
from lunguage_assets.settings import CorpusSettings
from lunguage_assets.tables import STRUCTURED_FINDINGS
from lunguage_assets.workspace.home import Home

TRAIN = "train_metadata_view_position.json"


def received(path: Path) -> Received:
    return receive(find_delivery(path), CorpusSettings())


def test_chexpert_plus_has_one_report_per_study_of_its_images_paths(
    tmp_path: Path,
) -> None:
    sections = {
        "clinical_history": "Cough.",
        "findings": "Clear lungs.",
        "impression": "Normal chest.",
    }
    write_chexpert_plus(
        tmp_path,
        [
            chexpert_row(
                "patient00001/study1/view1_frontal", "PA", report="ignored", **sections
            ),
            chexpert_row(
                "patient00001/study2/view1_frontal",
                "AP",
                report="Small effusion.\nEdema.",
            ),
            chexpert_row(
                "patient00001/study1/view2_lateral", report="ignored", **sections
            ),
        ],
    )
    texts = received(tmp_path).report_texts.set_index("source_id")
    first = texts.loc["patient00001/study1"]
    second = texts.loc["patient00001/study2"]
    assert first["report"] == (
        "CLINICAL HISTORY: Cough.\n\n"
        "FINDINGS: Clear lungs.\n\nIMPRESSION: Normal chest."
    )
    assert (first["view_information"], second["view_information"]) == (
        "pa, lateral",
        "ap",
    )
    assert second["report"] == "Small effusion.\nEdema."
    assert first["subject_id"] == second["subject_id"] == patient_of("patient00001")
    assert first["study_id"] == study_of("patient00001/study1")
    assert len(texts) == 2


def test_rows_of_chexpert_plus_that_cannot_be_read_cost_nothing_but_themselves(
    tmp_path: Path,
) -> None:
    good = chexpert_row("patient00001/study1/view1_frontal", findings="Clear lungs.")
    other_report = chexpert_row("patient00001/study1/view2_frontal", findings="Edema.")
    write_chexpert_plus(
        tmp_path, [good, good | {"path_to_image": "view.jpg"}, other_report]
    )
    receipt = received(tmp_path)
    assert receipt.report_texts["report"].tolist() == ["FINDINGS: Clear lungs."]
    assert receipt.rejected[["line", "reason", "column"]].to_numpy().tolist() == [
        [2, "chexpert-plus-path", "path_to_image"],
        [3, "report-repeated", "report"],
    ]


def in_order(path: Path) -> dict[str, int]:
    """The place of every study in its patient's time line, by its own id."""
    receipt = received(path)
    intake = take_in_structured(receipt, STRUCTURED_FINDINGS.frame(), CorpusSettings())
    return dict(
        zip(intake.reports["source_id"], intake.reports["sequence"], strict=True)
    )


def test_studies_of_chexpert_plus_are_in_the_order_of_their_patient(
    tmp_path: Path,
) -> None:
    orders = {"study7": "2", "study2": "1.0", "study9": ""}
    rows = [
        chexpert_row(
            f"patient00001/{study}/view1_frontal",
            findings=study,
            patient_report_date_order=order,
        )
        for study, order in orders.items()
    ]
    write_chexpert_plus(tmp_path, rows)
    assert in_order(tmp_path) == {
        "patient00001/study7": 2, "patient00001/study2": 1, "patient00001/study9": 3,
    }  # fmt: skip


def test_an_order_that_is_no_number_is_noted_and_costs_no_report(
    tmp_path: Path,
) -> None:
    image = "patient00001/study1/view1_frontal"
    write_chexpert_plus(
        tmp_path,
        [chexpert_row(image, findings="Clear.", patient_report_date_order="soon")],
    )
    receipt = received(tmp_path)
    assert receipt.report_texts["sequence"].tolist() == [0]
    assert "study-order-ignored" in set(receipt.intake_notes["reason"])


def test_a_table_of_rexgradient_alone_is_read_by_its_ids(tmp_path: Path) -> None:
    row = {
        "id": "pINVENTED_st1",
        "PatientID": "GRDNINVENTED0001",
        "StudyDate": "20150102",
    }
    row |= {"Indication": "Cough.", "Comparison": "None", "Impression": "Edema."}
    write_rexgradient_table(tmp_path / "train_metadata.csv", row)
    write_rexgradient_table(
        tmp_path / "test_metadata.csv", {"id": "st2", "Findings": "Clear."}
    )
    texts = received(tmp_path).report_texts.set_index("source_id")
    report = texts.loc["pINVENTED_st1"]
    assert report["report"] == "INDICATION: Cough.\n\nIMPRESSION: Edema."
    assert (report["subject_id"], report["taken_at"]) == (
        patient_of("GRDNINVENTED0001"),
        "20150102000000",
    )
    assert sorted(texts.index) == ["pINVENTED_st1", "st2"]


def test_a_row_of_rexgradient_without_an_id_is_rejected_by_its_column(
    tmp_path: Path,
) -> None:
    write_rexgradient_table(
        tmp_path / "test_metadata.csv",
        {"Findings": "Clear."},
        {"id": "st2", "Findings": "Clear."},
    )
    receipt = received(tmp_path)
    assert receipt.report_texts["source_id"].tolist() == ["st2"]
    assert receipt.rejected[["line", "reason", "column"]].to_numpy().tolist() == [
        [1, "rexgradient-id", "id"]
    ]


def test_the_json_of_a_split_is_read_and_its_table_is_not(
    tmp_path: Path,
) -> None:
    write_json(tmp_path / TRAIN, {"st1": rexgradient_entry(Findings="Clear.")})
    write_rexgradient_table(
        tmp_path / "train_metadata.csv", {"id": "st1", "Findings": "Clear."}
    )
    assert received(tmp_path).report_texts["view_information"].tolist() == ["pa"]


def test_a_table_of_another_split_beside_json_is_refused_with_both_names(
    tmp_path: Path,
) -> None:
    write_json(tmp_path / TRAIN, {"st1": rexgradient_entry(Findings="Clear.")})
    write_rexgradient_table(
        tmp_path / "test_metadata.csv", {"id": "st2", "Findings": "Clear."}
    )
    with pytest.raises(InputError, match=r"rexgradient table \(test_metadata\.csv\)"):
        find_delivery(tmp_path)


def test_rexgradient_is_read_from_its_splits_with_views_of_all_images(
    tmp_path: Path,
) -> None:
    entry = rexgradient_entry(
        views=["POSTERO_ANTERIOR", "LL", None, "N/A"], Impression="Edema."
    )
    write_json(tmp_path / TRAIN, {"pINVENTED_st1": entry})
    write_json(tmp_path / "train_metadata.json", {"pINVENTED_st1": entry})
    write_json(
        tmp_path / "test_metadata_view_position.json",
        {"st2": rexgradient_entry(Findings="Clear.")},
    )
    texts = received(tmp_path).report_texts.set_index("source_id")
    report = texts.loc["pINVENTED_st1"]
    assert (
        report["report"]
        == "INDICATION: Cough.\n\nCOMPARISON: None.\n\nIMPRESSION: Edema."
    )
    assert (report["view_information"], report["view_source"]) == (
        "pa, lateral",
        "metadata",
    )
    assert (report["subject_id"], report["taken_at"]) == (
        patient_of("GRDNINVENTED0001"),
        "20150102000000",
    )
    assert sorted(texts.index) == ["pINVENTED_st1", "st2"]


def test_padchest_gr_takes_patients_from_the_master_table(
    tmp_path: Path,
) -> None:
    study = "216840111366964012" * 2
    file = write_json(
        tmp_path / "grounded_reports_1.json",
        [padchest_study(study, "No edema.", "Scoliosis")],
    )
    (tmp_path / "master_table.csv").write_text(
        f"StudyID,ImageID,PatientID\n{study},1.png,12\n"
    )
    for delivered_path in (tmp_path, file):
        (report,) = received(delivered_path).report_texts.to_dict("records")
        assert report["report"] == "FINDINGS: No edema.\nScoliosis."
        assert (report["source_id"], report["subject_id"]) == (study, "p00000012")


def padchest_texts(study: str) -> tuple[str, str]:
    """The reports and the master table of one study of patient 12."""
    table = f"StudyID,ImageID,PatientID\n{study},1.png,12\n"
    return json.dumps([padchest_study(study, "No edema.")]), table


def test_padchest_gr_is_read_with_its_master_table_zipped(tmp_path: Path) -> None:
    reports, table = padchest_texts("1" * 36)
    (tmp_path / "grounded_reports_1.json").write_text(reports)
    write_package(tmp_path / "master_table.csv.zip", master_table__csv=table)
    assert received(tmp_path).report_texts["subject_id"].tolist() == ["p00000012"]


def test_padchest_gr_is_read_whole_from_a_package(tmp_path: Path) -> None:
    reports, table = padchest_texts("1" * 36)
    package = tmp_path / "PadChest_GR.zip"
    write_package(package, grounded_reports_1__json=reports, master_table__csv=table)
    (report,) = received(package).report_texts.to_dict("records")
    assert (report["report"], report["subject_id"]) == (
        "FINDINGS: No edema.",
        "p00000012",
    )


def test_a_damaged_package_is_refused_by_its_name(tmp_path: Path) -> None:
    reports, _ = padchest_texts("1" * 36)
    (tmp_path / "grounded_reports_1.json").write_text(reports)
    (tmp_path / "master_table.csv.zip").write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(InputError, match=r"master_table\.csv\.zip"):
        find_delivery(tmp_path)


def test_a_finding_without_an_english_sentence_costs_itself_and_is_noted(
    tmp_path: Path,
) -> None:
    study = padchest_study("1" * 36, "No edema.", "lost", "Scoliosis")
    del study["findings"][1]["sentence_en"]
    receipt = received(write_json(tmp_path / "grounded_reports_1.json", [study]))
    assert receipt.report_texts["report"].tolist() == [
        "FINDINGS: No edema.\nScoliosis."
    ]
    notes = receipt.intake_notes.set_index("reason").loc["padchest-gr-sentence"]
    assert (notes["study_id"], notes["column"]) == (
        study_of("1" * 36),
        "findings.1.sentence_en",
    )


def test_a_study_without_any_english_sentence_is_rejected_by_its_first(
    tmp_path: Path,
) -> None:
    silent = padchest_study("2" * 36, "lost")
    silent["findings"][0]["sentence_en"] = None
    with_sentence = padchest_study("1" * 36, "No edema.")
    receipt = received(
        write_json(tmp_path / "grounded_reports_1.json", [with_sentence, silent])
    )
    assert receipt.rejected["column"].tolist() == ["findings.0.sentence_en"]
    assert len(receipt.report_texts) == 1


def test_what_is_learnt_of_a_report_is_stored_with_it(
    tmp_path: Path,
) -> None:
    write_chexpert_plus(
        tmp_path,
        [
            chexpert_row(
                "patient00001/study1/view1_frontal",
                findings="Clear.",
                patient_report_date_order="4",
            )
        ],
    )
    delivery = find_delivery(tmp_path)
    (tmp_path / "stored").mkdir()
    write_packed([*delivery.raw_reports()], tmp_path / "stored" / "raw_reports.parquet")
    stored = find_delivery(tmp_path / "stored")
    assert [report.sequence for report in stored.raw_reports()] == ["4"]
    assert content_hash(stored) == content_hash(delivery)


WRONG: dict[str, tuple[str, Any, str]] = {
    "rexgradient": (
        TRAIN,
        {"a": {"findings": "Clear.", "impression": ""}},
        "row 1, column 'Findings'",
    ),
    "a list of it": (TRAIN, [rexgradient_entry()], "row 1: found a list of entries"),
    "padchest-gr": (
        "gr.json",
        [{"StudyID": 1, "findings": "Clear."}],
        "row 1, column 'findings'",
    ),
    "another form": (
        "g.json",
        {"a": {"reader": 1}},
        "a file of another kind with the keys [] and 1 of other names",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_without_a_fitting_entry_is_refused_by_row_and_key(
    tmp_path: Path, case: str
) -> None:
    name, content, message = WRONG[case]
    with pytest.raises(InputError) as refused:
        received(write_json(tmp_path / name, content))
    assert name in str(refused.value)
    assert message in str(refused.value)


def test_an_entry_that_does_not_fit_is_rejected_with_its_key(
    tmp_path: Path,
) -> None:
    good = rexgradient_entry(Findings="Clear.")
    silent = {key: value for key, value in good.items() if key == "PatientID"}
    path = write_json(tmp_path / TRAIN, {"s1": good, "s2": silent, "s3": 5})
    receipt = received(path)
    assert receipt.report_texts["source_id"].tolist() == ["s1"]
    assert receipt.rejected[
        ["line", "study_id", "column", "reason"]
    ].to_numpy().tolist() == [
        [2, "s00000002", "Findings", "rexgradient-entry"],
        [3, "s00000003", "an object", "rexgradient-entry"],
    ]


def test_keys_that_nobody_knows_are_counted_and_not_told(tmp_path: Path) -> None:
    unknown = {"StudyID": 1, "findings": "Clear.", "A zebrafish.": 1}
    path = write_json(tmp_path / "gr.json", [unknown])
    with pytest.raises(
        InputError, match=r"keys \['StudyID', 'findings'\] and 1 of other names"
    ):
        received(path)


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


TOO_DEEP = ("rexgradient-entry", "an entry of fewer levels")
ODD_ENTRIES = {
    "half a character in an id": ('"s\\ud800"', rexgradient_entry(), ("broken-encoding", "study_id")),
    "half a character in a patient": (
        '"a"', rexgradient_entry(patient="p\ud800"), ("broken-encoding", "subject_id"),
    ),
    "brackets": ('"a"', "BRACKETS", TOO_DEEP),
    "brackets in an object": ('"a"', {"Findings": "BRACKETS"}, TOO_DEEP),
}  # fmt: skip


@pytest.mark.parametrize("position", ["first", "last"])
@pytest.mark.parametrize("case", ODD_ENTRIES)
def test_an_entry_that_cannot_be_read_or_stored_is_rejected(
    tmp_path: Path, case: str, position: str
) -> None:
    key, entry, rejected = ODD_ENTRIES[case]
    odd_entry = f"{key}: " + json.dumps(entry).replace('"BRACKETS"', deep(60_000))
    good_entries = [
        f'"good {number}": ' + json.dumps(rexgradient_entry(Findings="Clear."))
        for number in range(2)
    ]
    path = tmp_path / TRAIN
    path.write_text(
        "{"
        + ",\n".join(
            [odd_entry, *good_entries]
            if position == "first"
            else [*good_entries, odd_entry]
        )
        + "}"
    )
    receipt = received(path)
    assert sorted(receipt.report_texts["source_id"]) == ["good 0", "good 1"]
    assert [
        tuple(row) for row in receipt.rejected[["reason", "column"]].to_numpy()
    ] == [rejected]
    Home(tmp_path / "home").register(path, "batch")


def test_dates_views_and_numbers_that_nobody_can_store_cost_no_report(
    tmp_path: Path,
) -> None:
    entries = {
        "1": rexgradient_entry(Findings="Clear.", StudyDate="2150\ud800"),
        "2": rexgradient_entry(Findings="Clear.", views=["side\ud800"]),
        "3": rexgradient_entry(Findings="Clear.", StudyDate=5_000_000_000),
    }
    path = tmp_path / TRAIN
    path.write_text(json.dumps(entries).replace("5000000000", "9" * 5_000))
    receipt = received(path)
    assert receipt.report_texts["taken_at"].tolist() == ["", "20150102000000", ""]
    assert receipt.report_texts["view_information"].tolist() == ["pa", "", "pa"]
    assert {"study-date-ignored", "view-ignored"} <= {*receipt.intake_notes["reason"]}


def test_a_json_file_that_breaks_off_is_refused_with_the_row(tmp_path: Path) -> None:
    path = tmp_path / TRAIN
    entry = rexgradient_entry(Findings="Clear.")
    path.write_text(json.dumps({"s1": entry, "s2": entry})[:-30])
    with pytest.raises(
        InputError, match=rf"{TRAIN}, row 2: found JSON that breaks off"
    ):
        received(path)


def test_two_corpora_are_refused_with_both_names(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        write_json(tmp_path / name, [padchest_study("1" * 36, "No edema.")])
    with pytest.raises(
        InputError, match=r"padchest-gr \(a\.json\) and padchest-gr \(b\.json\)"
    ):
        find_delivery(tmp_path)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (
            "path_to_image,Section Findings,ap_pa",
            "columns ['path_to_image', 'Section Findings', 'ap_pa']",
        ),
        (
            "study_id,text of report",
            "another kind with the columns ['study_id'] and 1 of other names",
        ),
        (
            "No effusion,No edema",
            "a file of another kind with the columns [] and 2 of other names",
        ),
    ],
)
def test_wrong_columns_are_answered_with_those_that_are_there(
    tmp_path: Path, header: str, columns: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{header}\n{header}\n")
    with pytest.raises(InputError) as refused:
        received(path)
    assert columns in str(refused.value)
