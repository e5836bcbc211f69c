"""Views of a study (implicit.md section 1)."""

from __future__ import annotations

import pytest
from delivered_rows import Deliver, row

from lunguage_assets.corpus.views import named_views, written
from lunguage_assets.errors import InputError
from lunguage_assets.settings import CorpusSettings

HEADER = (
    "study_id,ViewPosition,PerformedProcedureStepDescription,"
    "PatientOrientationCodeSequence_CodeMeaning\n"
)


VIEWS_BY_WORDS = {
    "AP": "ap", "PA": "pa", "LATERAL": "lateral", "LL": "lateral", "AP AXIAL": "ap",
    "XTABLE LATERAL": "lateral", "AP LLD": "ap, recumbent", "LAO": "", "": "",
    "CHEST (PORTABLE AP)": "ap", "Chest, PA & lateral, upright": "pa, lateral, erect",
    "CHEST AP SUPINE": "ap, supine", "CHEST LAT DECUBITUS": "recumbent",
    "CHEST (PA, LAT AND LEFT LATERAL DECUB)": "pa, lateral, recumbent", "CHEST AP SEMI-ERECT": "ap",
    "CHEST SPAN": "",
}  # fmt: skip


def test_a_position_or_procedure_names_projections_and_postures() -> None:
    views = {words: written(named_views(words)) for words in VIEWS_BY_WORDS}
    assert views == VIEWS_BY_WORDS


def test_a_study_shows_the_views_of_all_its_images_in_fixed_order(
    deliver: Deliver,
) -> None:
    metadata = HEADER + (
        "50000001,LL,CHEST SUPINE,Erect\n50000001,PA,,\n"
        "50000002,,CHEST (PORTABLE AP),Sideways\n"
        "50000001,LAO,,\n50000001,LAO,,\nx,PA,,\n59999999,PA,,\n"
    )
    intake = deliver(
        [row(0), row(1, study_id="s50000002"), row(2, study_id="s50000003")],
        metadata=metadata,
    )
    views = ["pa, lateral, erect", "ap", ""]
    assert intake.reports["view_information"].tolist() == views
    sources = ["metadata", "procedure text", "unknown"]
    assert intake.reports["view_source"].tolist() == sources
    assert intake.findings["view_information"].tolist() == views
    notes = intake.intake_notes.set_index("reason")["found"]
    assert notes["rows-ignored"] == "1 rows"


def test_the_default_view_fills_only_unknown_views(deliver: Deliver) -> None:
    metadata = HEADER + "50000001,AP,,\n"
    intake = deliver(
        [row(0), row(1, study_id="s50000002")],
        metadata=metadata,
        default_view="Lateral, pa",
    )
    assert intake.reports["view_information"].tolist() == ["ap", "pa, lateral"]
    assert intake.reports["view_source"].tolist() == ["metadata", "default_view"]
    with pytest.raises(ValueError, match="default_view"):
        CorpusSettings(default_view="pa, sideways")


def test_metadata_without_ids_are_refused(deliver: Deliver) -> None:
    with pytest.raises(InputError, match=r"metadata\.csv, column 'study_id'"):
        deliver([row(0)], metadata="dicom,ViewPosition\n1,PA\n")
