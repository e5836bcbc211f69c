"""Views of a study (implicit.md section 1)."""

from __future__ import annotations

import pytest
from delivered_rows import Deliver, noted, row

from lunguage_assets.corpus.views import image_views, parse_default_view, written
from lunguage_assets.errors import ConfigurationError, InputError

HEADER = (
    "study_id,ViewPosition,PerformedProcedureStepDescription,PatientOrientationCodeSequence_CodeMeaning\n"
)


def views(position: str = "", orientation: str = "", procedure: str = "") -> str:
    found = image_views(position, orientation, procedure)
    return written(found.coded | found.from_procedure)


@pytest.mark.parametrize(
    ("position", "expected"),
    [("AP", "ap"), ("PA", "pa"), ("LATERAL", "lateral"), ("LL", "lateral"), ("ap", "ap"), ("AP AXIAL", "ap"),
     ("XTABLE LATERAL", "lateral"),
     ("AP LLD", "ap, recumbent"), ("LAO", ""), ("", "")],
)  # fmt: skip
def test_the_view_position_gives_the_projection(position: str, expected: str) -> None:
    assert views(position) == expected


@pytest.mark.parametrize(
    ("procedure", "expected"),
    [
        ("CHEST (PORTABLE AP)", "ap"),
        ("CHEST (PA AND LAT)", "pa, lateral"),
        ("Chest, PA & lateral, upright", "pa, lateral, erect"),
        ("CHEST AP SUPINE", "ap, supine"),
        ("CHEST LAT DECUBITUS", "recumbent"),
        ("CHEST (PA, LAT AND LEFT LATERAL DECUB)", "pa, lateral, recumbent"),
        ("CHEST AP SEMI-ERECT", "ap"),
        ("CHEST SPAN", ""),
    ],
)
def test_the_procedure_text_counts_only_where_the_view_position_is_empty(
    procedure: str, expected: str
) -> None:
    assert views("", "", procedure) == expected
    assert views("LL", "", procedure) == "lateral"


def test_the_orientation_code_gives_the_posture_beside_any_view_position() -> None:
    assert views("AP", "Recumbent") == "ap, recumbent"
    assert views("PA", "Erect", "CHEST SUPINE") == "pa, erect"
    assert image_views("LAO", "Sideways", "").unknown == (
        ("ViewPosition", "lao"),
        ("PatientOrientationCodeSequence_CodeMeaning", "sideways"),
    )


def test_a_study_shows_the_views_of_all_its_images_in_fixed_order(deliver: Deliver) -> None:
    metadata = HEADER + "50000001,LL,,Erect\n50000001,PA,,\n50000002,AP,,\n59999999,PA,,\n"
    intake = deliver([row(0), row(1, study_id="s50000002"), row(2, study_id="s50000003")], metadata=metadata)
    assert intake.reports["view_information"].tolist() == ["pa, lateral, erect", "ap", ""]
    assert intake.reports["view_source"].tolist() == ["metadata", "metadata", "unknown"]
    assert intake.findings["view_information"].tolist() == ["pa, lateral, erect", "ap", ""]
    unknown = intake.intake_notes[intake.intake_notes["reason"] == "unknown-view"]
    assert unknown["study_id"].tolist() == ["s50000003"]


def test_the_default_view_fills_only_unknown_views(deliver: Deliver) -> None:
    metadata = HEADER + "50000001,AP,,\n"
    intake = deliver([row(0), row(1, study_id="s50000002")], metadata=metadata, default_view="Lateral, pa")
    assert intake.reports["view_information"].tolist() == ["ap", "pa, lateral"]
    assert intake.reports["view_source"].tolist() == ["metadata", "default_view"]


def test_an_unknown_code_is_noted_once_with_its_count(deliver: Deliver) -> None:
    intake = deliver([row(0)], metadata=HEADER + "50000001,LAO,,\n50000001,LAO,,\n50000001,PA,,\nx,PA,,\n")
    notes = intake.intake_notes.set_index("reason")
    assert notes.loc["unknown-view-code", "found"] == "lao (2 images)"
    assert notes.loc["metadata-row-ignored", "line"] == 4
    assert intake.reports["view_information"].tolist() == ["pa"]


def test_metadata_without_ids_is_refused_and_without_views_is_noted(deliver: Deliver) -> None:
    with pytest.raises(InputError, match=r"metadata\.csv, column 'study_id'"):
        deliver([row(0)], metadata="dicom,ViewPosition\n1,PA\n")
    assert "metadata-column-missing" in noted(
        deliver([row(0)], metadata="study_id,StudyDate\n50000001,21800101\n")
    )


def test_an_unknown_default_view_is_a_configuration_error() -> None:
    assert parse_default_view(" PA , lateral") == "pa, lateral"
    assert parse_default_view("") == ""
    with pytest.raises(ConfigurationError, match="sideways"):
        parse_default_view("pa, sideways")
