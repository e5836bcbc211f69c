"""Each delivered row becomes a finding or is rejected with its reason, and refers to
others (implicit.md section 1).
"""

from __future__ import annotations

import json

import pytest
from delivered_rows import COLUMNS, Deliver, as_csv, reasons, row

from lunguage_assets.corpus.log import reasons as codes
from lunguage_assets.corpus.lunguage import MOST_ROWS_OF_A_STUDY
from lunguage_assets.corpus.texts.layouts import layouts
from lunguage_assets.errors import InputError

REQUIRED = layouts()["findings"].known_by

BAD = [
    ({"study_id": "unknown"}, "study-id", "study_id"),
    ({"study_id": "s1234567890123456789"}, "study-id", "study_id"),
    ({"subject_id": "s10000001"}, "subject-id", "subject_id"),
    ({"subject_id": "nan"}, "subject-id", "subject_id"),
    ({"subject_id": "p10000009"}, "study-of-two-patients", "subject_id"),
    ({"": "seven"}, "row-number", "row"), ({"": "-1"}, "row-number", "row"),
    ({"": "0"}, "duplicate-row-number", "row"), ({"section": "findings"}, "section", "section"),
    ({"section": ""}, "section", "section"), ({"dx_status": "perhaps"}, "dx-status", "dx_status"),
    ({"dx_status": ""}, "dx-status", "dx_status"),
    ({"dx_certainty": "unsure"}, "dx-certainty", "dx_certainty"), ({"cat": "XY"}, "category", "cat"),
    ({"ent": "NaN"}, "finding-empty", "ent"), ({"ent": "-"}, "finding-empty", "ent"),
    ({"sequence": "first"}, "number", "sequence"), ({"sent_idx": "1.5"}, "number", "sent_idx"),
    ({"ent_idx": "-2"}, "number", "ent_idx"),
]  # fmt: skip


def test_a_bad_row_is_rejected_with_its_place_and_content(deliver: Deliver) -> None:
    for cells, reason, column in BAD:
        bad = row(1) | cells
        intake = deliver([row(0), bad, row(2)])
        assert intake.findings["row"].tolist() == [0, 2]
        (rejected,) = intake.rejected.to_dict("records")
        place = [rejected[name] for name in ("reason", "column", "line", "file")]
        assert place == [reason, column, 2, "Lunguage.csv"]
        words = codes()["rejections"][reason]
        assert rejected["expected"] == words["expected"]
        assert rejected["remedy"] == words["remedy"]
        assert json.loads(rejected["content"]) == bad
        is_unknown = column == "study_id"
        assert rejected["study_id"] == ("" if is_unknown else "s50000001")
        counted = intake.reports[["rows_delivered", "rows_rejected"]].values.tolist()
        assert counted == ([[2, 0]] if is_unknown else [[3, 1]])


def test_null_empty_and_nan_alone_mean_absent(deliver: Deliver) -> None:
    cells = {"severity": " null ", "onset": "nan, acute, NAN", "past_hx": "nan"}
    intake = deliver(
        [row(0, location="nanoregion, NaN", associate="nan", report="nan", **cells)]
    )
    (finding,) = intake.findings.to_dict("records")
    values = [finding[name] for name in ("location", *cells)]
    assert values == ["nanoregion", "", "acute", ""]
    assert (finding["associate"], finding["currency"]) == ([], "current dx")
    assert intake.reports["report"].tolist() == [""]


def test_past_diagnoses_are_told_by_section_or_past_history(deliver: Deliver) -> None:
    intake = deliver([row(0, section="HIST"), row(1, past_hx="old"), row(2)])
    assert intake.findings["currency"].tolist() == ["past dx", "past dx", "current dx"]


def test_an_empty_category_comes_from_the_vocabulary_else_other(
    deliver: Deliver,
) -> None:
    rows = [
        row(0, cat=""),
        row(1, cat="", ent="thing", normed_ent=""),
        row(2, cat="patient info"),
        row(3, cat="cf"),
    ]
    intake = deliver(
        rows, vocabulary="category,target_term,normed_term\nNCD,opacity,opacity\n"
    )
    assert intake.findings["cat"].tolist() == ["NCD", "OTH", "PATIENT INFO.", "CF"]


def test_only_tentative_rows_outside_the_history_are_masked(deliver: Deliver) -> None:
    tentative = {"dx_certainty": "tentative", "sent": "An opacity is possible."}
    rows = [
        row(0, **tentative),
        row(1, sent="An opacity is seen."),
        row(2, section="hist", **tentative),
        row(3, **tentative | {"sent": "Unclear."}),
    ]
    intake = deliver(rows)
    findings = intake.findings
    states = ["masked", "not needed", "not needed", "not located"]
    assert findings["mask_state"].tolist() == states
    assert findings["masked_sentence"].notna().tolist() == [True, False, False, False]
    notes = intake.intake_notes.set_index("reason")
    assert notes.loc["finding-not-located", "finding_id"] == "s50000001:3"


def test_two_findings_that_mask_a_sentence_identically_are_flagged(
    deliver: Deliver,
) -> None:
    tentative = {"dx_certainty": "tentative", "sent": "Possible opacity or opacities."}
    sentence = "Opacity on the right, possible opacity on the left."
    rows = [
        row(0, **tentative),
        row(1, ent="opacities", **tentative),
        row(2, sent_idx="1", **tentative),
        row(3, section="impr", **tentative),
        row(4, sent_idx="2", sent=sentence),
        row(5, sent_idx="2", sent=sentence, dx_certainty="tentative"),
        row(6, sent_idx="2", sent=sentence, ent="left", normed_ent="left"),
    ]
    flags = deliver(rows).findings["same_name_in_sentence"].tolist()
    assert flags == [True, True, False, False, False, True, False]


def test_duplicate_row_numbers_keep_the_first_whatever_became_of_it(
    deliver: Deliver,
) -> None:
    intake = deliver([row(0, section="?"), row(0), row(0, ent="haze")])
    assert len(intake.findings) == 0
    rejected = ["duplicate-row-number", "duplicate-row-number", "section"]
    assert sorted(reasons(intake.rejected)) == rejected


def test_a_study_belongs_to_the_patient_of_its_first_row(deliver: Deliver) -> None:
    intake = deliver([row(0, section="?"), row(1, subject_id="p10000002"), row(2)])
    assert intake.findings["row"].tolist() == [2]
    assert reasons(intake.rejected) == ["section", "study-of-two-patients"]


def test_a_study_whose_rows_are_all_rejected_is_still_listed(deliver: Deliver) -> None:
    bad_status = row(1, study_id="s50000002", dx_status="?")
    bad_patient = row(2, study_id="s50000003", subject_id="?")
    intake = deliver([row(0), bad_status, bad_patient])
    columns = ["study_id", "subject_id", "rows_delivered", "rows_rejected"]
    assert intake.reports[columns].values.tolist() == [
        ["s50000001", "p10000001", 1, 0],
        ["s50000002", "p10000001", 1, 1],
        ["s50000003", "", 1, 1],
    ]


def test_a_constant_column_of_study_ids_is_refused_by_that_name(
    deliver: Deliver,
) -> None:
    long = [row(number) for number in range(MOST_ROWS_OF_A_STUDY)]
    row_of_other_study = row(9_000, study_id="s50000002", evidence="opacity, idx0")
    assert len(deliver([*long, row_of_other_study]).rejected) == 0
    intake = deliver([*long, row_of_other_study, row(9_001), row(9_002, section="?")])
    assert intake.findings["study_id"].tolist() == ["s50000002"]
    counted = intake.reports.set_index("study_id")[["rows_delivered", "rows_rejected"]]
    assert counted.loc["s50000001"].tolist() == [MOST_ROWS_OF_A_STUDY + 2] * 2
    by_reason = intake.rejected.groupby("reason")
    sizes = {"section": 1, "study-too-long": MOST_ROWS_OF_A_STUDY + 1}
    assert by_reason.size().to_dict() == sizes
    refused = by_reason.get_group("study-too-long").iloc[-1]
    assert refused["line"] == MOST_ROWS_OF_A_STUDY + 2
    assert "constant" in refused["remedy"]


def test_a_missing_required_column_is_named_with_what_is_there(
    deliver: Deliver,
) -> None:
    for column in REQUIRED:
        columns = [name for name in COLUMNS if name != column]
        message = f"Lunguage.csv, column '{column}': found no column"
        with pytest.raises(InputError, match=message):
            deliver(as_csv([row(0)], columns))


def test_only_the_required_columns_are_needed(deliver: Deliver) -> None:
    rows = [row(9), row(9, ent="haze", section="?"), row(9, ent="tube")]
    intake = deliver(as_csv(rows, REQUIRED))
    findings = intake.findings
    assert findings["row"].tolist() == [0, 2]
    assert findings["cat"].tolist() == ["OTH", "OTH"]


def test_a_missing_sequence_follows_the_dates_of_the_metadata(deliver: Deliver) -> None:
    rows = [row(n, study_id=f"s5000000{n}", sequence="") for n in (1, 2, 3)]
    metadata = (
        "study_id,StudyDate,StudyTime\n"
        "50000001,21800202,93000.5\n50000002,21800101,1.0\n50000003,21800202,81500.0\n"
    )
    assert deliver(rows, metadata=metadata).reports["sequence"].tolist() == [3, 1, 2]
    undated = metadata.replace("21800202,93000.5", ",")
    assert deliver(rows, metadata=undated).reports["sequence"].tolist() == [1, 2, 3]
    in_file_order = deliver([rows[2], rows[0], rows[1]]).reports["sequence"]
    assert in_file_order.tolist() == [2, 3, 1]


def test_sequence_is_of_the_study_whose_first_number_counts(deliver: Deliver) -> None:
    rows = [row(0, sequence="4.0"), row(1, sequence="5"), row(2, sequence="")]
    intake = deliver([*rows, row(3, study_id="s50000002", sequence="")])
    assert intake.findings["sequence"].tolist() == [4, 4, 4, 5]


def test_the_vocabulary_file_is_checked_row_by_row(deliver: Deliver) -> None:
    text = (
        "category,target_term,normed_term,UMLS (w "
        'code)\nPF,Spots,nodule,C1\nPF,,x,C2\nCF,spots,"opacity, '
        'patchy",C3\nPF,one,two\nseverity,mild,mild,C4\nPF,Spots,nodule,C1\n'
    )
    intake = deliver([row(0, ent="spots", normed_ent="")], vocabulary=text)
    assert intake.terms[["category", "target_term", "normed_term"]].values.tolist() == [
        ["CF", "spots", "opacity, patchy"], ["PF", "spots", "nodule"], ["severity", "mild", "mild"],
    ]  # fmt: skip
    notes = intake.intake_notes.set_index("reason")["found"]
    assert notes["rows-ignored"] == "1 rows"
    assert intake.findings["name"].tolist() == ["nodule"]
    with pytest.raises(InputError, match=r"Lunguage_vocab\.csv, column 'normed_term'"):
        deliver([row(0)], vocabulary="category,target_term\nPF,x\n")


def test_a_side_file_with_a_header_only_stops_nothing(deliver: Deliver) -> None:
    intake = deliver(
        [row(0)],
        vocabulary="category,subcategory,target_term,normed_term\n",
        metadata="dicom_id,subject_id,study_id,ViewPosition\n",
    )
    assert len(intake.findings) == 1


STUDY = "s50000001"


def evidence(
    deliver: Deliver, cell: str, *other_rows: dict[str, str], section: str = "find"
) -> list[str]:
    """What a row 0 that says "edema" refers to among the other rows."""
    own = {"ent": "edema", "normed_ent": "edema", "ent_idx": "1", "evidence": cell}
    intake = deliver([row(0, section=section, **own), *other_rows])
    return list(intake.findings.set_index("row").loc[0, "evidence"])


def test_the_same_section_comes_first_then_another(deliver: Deliver) -> None:
    """Numbers repeat across sections."""
    rows = [row(1, ent_idx="3", section="hist"), row(2, ent_idx="3")]
    rows.append(row(3, ent_idx="3", section="impr"))
    impression = row(1, ent_idx="3", section="impr")
    read = [
        evidence(deliver, "opacity, idx3", *rows),
        evidence(deliver, "opacity, idx3", *rows, section="impr"),
        evidence(deliver, "opacity, idx3", impression, row(2, ent_idx="4")),
    ]
    assert read == [[f"{STUDY}:{number}"] for number in (2, 3, 1)]


def test_names_match_as_worded_or_in_canonical_form(deliver: Deliver) -> None:
    effusion = row(1, ent="Effusions", normed_ent="pleural effusion", ent_idx="2")
    for name in ("Effusions", "effusion", "pleural effusion", "PLEURAL  EFFUSION"):
        assert evidence(deliver, f"{name}, idx2", effusion) == [f"{STUDY}:1"]


KEPT = {
    "haze, idx7": ["~haze"], "haze": ["~haze"], "opacity": ["~opacity"],
    "edema, idx1": ["~edema"], "opacity, idx2, opacity, idx2": [f"{STUDY}:1"],
    "haze, opacity, idx2": ["~haze, opacity"],
    "nan": [], "nan, NULL": [], "opacity, idx2, idx3": [f"{STUDY}:1"], "idx2": [],
    "IDX 7, idx007, haze": ["~haze"], "haze, idx" + "9" * 16: ["~haze"],
    "idx" + "9" * 16: [],
}  # fmt: skip


def test_a_reference_to_no_row_keeps_its_name_alone(deliver: Deliver) -> None:
    opacity = row(1, ent_idx="2")
    assert {cell: evidence(deliver, cell, opacity) for cell in KEPT} == KEPT
    assert evidence(deliver, "opacity, idx9", opacity) == ["~opacity"]
    elsewhere = row(1, ent_idx="2", study_id="s50000002")
    assert evidence(deliver, "opacity, idx2", elsewhere) == ["~opacity"]


def test_a_name_may_contain_commas(deliver: Deliver) -> None:
    tube = row(1, ent="tube, left", normed_ent="", ent_idx="2")
    assert evidence(deliver, "tube, left, idx2", tube) == [f"{STUDY}:1"]


def test_however_a_number_is_spelled_it_is_one(deliver: Deliver) -> None:
    rows = [row(1, ent_idx="3"), row(2, ent_idx="4")]
    for number in ("idx3", "(idx: 3)", "idx3.0", "IDX_3", "[idx 3.00]", "idx#3"):
        for cell in (f"opacity, {number}", f"opacity {number}"):
            assert evidence(deliver, cell, *rows) == [f"{STUDY}:1"], cell
        assert evidence(deliver, number, *rows) == []
