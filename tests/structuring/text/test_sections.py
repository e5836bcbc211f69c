"""Sections of a report, as radiologists write their headings (docs/reports.md)."""

from __future__ import annotations

import pytest

from lunguage_assets.structuring.text.read import sectioned


def _read(text: str) -> list[tuple[str, str]]:
    return [
        (sentence.section, " ".join(sentence.text.split())) for sentence in sectioned("1", text).sentences
    ]


FULL = """                                 FINAL REPORT
 EXAMINATION:  CHEST (PA AND LAT)

 INDICATION:  ___-year-old woman with cough.

 TECHNIQUE:  Chest PA and lateral

 COMPARISON:  ___

 FINDINGS:

 The lungs are clear.

 IMPRESSION:

 No acute disease.

 NOTIFICATION:  Dr. ___ was told.
"""


def test_a_report_with_all_headings_is_cut_at_each_of_them() -> None:
    assert _read(FULL) == [
        ("other", "CHEST (PA AND LAT)"),
        ("hist", "___-year-old woman with cough."),
        ("other", "Chest PA and lateral"),
        ("other", "___"),
        ("find", "The lungs are clear."),
        ("impr", "No acute disease."),
        ("other", "Dr. ___ was told."),
    ]
    report = sectioned("1", FULL)
    assert report.notes == sectioned("1", FULL + "\n ADDENDUM:  There is a nodule.\n").notes == ()
    assert [sentence.heading for sentence in report.sentences][-2:] == ["IMPRESSION", "NOTIFICATION"]


@pytest.mark.parametrize(
    "heading",
    ["IMPRESSION:", "Impression:", "impression:", "IMPRESSION", "Impression", "IMPRESSION :",
     "**Impression:**", "CONCLUSION:", "OPINION:", "ADDENDUM:", "IMPRESSION (final):",
     "Impression -"],
)  # fmt: skip
@pytest.mark.parametrize("between", ["\n", "\n\n", "\r\n"])
def test_a_heading_on_its_own_line_is_found(heading: str, between: str) -> None:
    text = f"Findings: The heart is normal.{between}{heading}{between}No edema."
    assert _read(text) == [("find", "The heart is normal."), ("impr", "No edema.")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INDICATION: Pain. FINDINGS: Clear. IMPRESSION: Normal.", "hist find impr"),
        ("indication: pain. findings: clear. impression: normal.", "hist find impr"),
        ("INDICATION: Pain FINDINGS: Clear lungs IMPRESSION: Normal", "hist find impr"),
        ("Reason for Exam: Pain\nFindings/Impression: Clear lungs", "hist find"),
        ("HISTORY  Pain for a week.\nFINDINGS  The lungs are clear.", "hist find"),
        ("FINDINGS The lungs are clear.\nIMPRESSION No change.", "find impr"),
        ("Findings: Clear.\nRecommendation: CT in a year.", "find other"),
        ("Findings: Clear.\nDictated by: Dr. Roe", "find other"),
        ("Findings: Clear. Electronically signed by Dr. Roe", "find other"),
        ("Comparison: None. Findings: Clear.", "other find"),
    ],
)
def test_headings_are_found_in_line_and_without_colon(text: str, expected: str) -> None:
    assert [section for section, _ in _read(text)] == expected.split()


@pytest.mark.parametrize(
    "text",
    ["These findings: edema and effusion, are new.", "FINDINGS ARE STABLE.", "Heart: Normal size",
     "LUNGS: Clear",
     "The impression\nof the apex is unchanged.", "Told at 5:30 p.m. by phone.",
     "There is a history of edema."],
)  # fmt: skip
def test_what_only_looks_like_a_heading_stays_in_its_sentence(text: str) -> None:
    assert _read(text) == [("find", " ".join(text.split()))]
    assert sectioned("1", text).notes == ("no-headings",)


def test_a_paragraph_behind_the_comparison_is_findings_when_no_heading_names_them() -> None:
    text = "HISTORY: Fever.\n\nCOMPARISON: None.\n\nThe lungs are clear.\n\nIMPRESSION: Normal."
    assert _read(text)[2:] == [("find", "The lungs are clear."), ("impr", "Normal.")]
    assert sectioned("1", text).notes == ("findings-without-heading",)
    assert [section for section, _ in _read(text.replace("IMPR", "FINDINGS: Small heart.\n\nIMPR"))] == [
        "hist", "other", "other", "find", "impr",
    ]  # fmt: skip


def test_a_preliminary_reading_counts_only_where_there_is_no_other() -> None:
    wet = "WET READ: Possible edema.\n"
    assert _read(wet) == [("find", "Possible edema.")]
    both = wet + "______________\n   FINAL REPORT\nIMPRESSION: No edema."
    assert _read(both) == [("other", "Possible edema."), ("impr", "No edema.")]
    assert sectioned("1", both).notes == ("preliminary-superseded",)


def test_text_under_a_title_is_findings_when_no_heading_names_them() -> None:
    text = "FINAL REPORT\nPORTABLE AP CHEST, ___\n\nThe heart is large.\n\nIMPRESSION: Cardiomegaly."
    assert _read(text) == [("find", "The heart is large."), ("impr", "Cardiomegaly.")]
    assert _read("AP CHEST: The heart is large.") == [("find", "The heart is large.")]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("Clear lungs.", "no-headings"),
        ("INDICATION: Pain.", "no-findings-section"),
        ("Seen by phone.\nFINDINGS: Clear.", "text-before-headings"),
        ("Der Befund: Das Herz ist normal und die Lunge ist frei, kein Erguss.", "not-english"),
        ("EXAMINATION: Right knee, 3 views.\nFINDINGS: Joint effusion.", "not-chest"),
        ("FINDINGS: The lungs are clear. Left knee: Joint effusion.", "not-chest"),
        ("Легкие без очаговых изменений, сердце не расширено.", "not-english"),
        ("FINDINGS: Clear.\nIMPRESSION: Normal.\nEXAMINATION: Chest.\nFINDINGS: Edema.", "two-reports"),
    ],
)
def test_what_is_odd_is_noted(text: str, note: str) -> None:
    assert note in sectioned("1", text).notes


def test_another_part_of_the_body_is_not_read() -> None:
    text = (
        "FINDINGS: Lungs clear. Left knee: Narrow joint. Effusion. Chest: No edema.\nIMPRESSION: Foot. Ulcer."
    )
    assert _read(text) == [
        ("find", "Lungs clear."), ("other", "Left knee: Narrow joint."), ("other", "Effusion."),
        ("find", "No edema."), ("other", "Foot."), ("other", "Ulcer."),
    ]  # fmt: skip
    assert {section for section, _ in _read("FINDINGS: Fracture of the ankle. IMPRESSION: Fracture.")} == {
        "other"
    }
    assert sectioned("1", "INDICATION: Hip fracture.\nFINDINGS: Clear.").notes == ()


@pytest.mark.parametrize(
    "technique",
    [
        "Frontal view of the chest. Portable AP\nview of the chest.",
        "Single portable AP view of the\nchest.",
        "Comparison is made with ___.\nPA and lateral views of the chest\n",
        "A film was taken.\n\nPORTABLE CHEST X-RAY\n\n",
    ],
)
def test_findings_that_begin_with_their_technique_remain_findings(technique: str) -> None:
    read = _read(f"FINDINGS: {technique} The lungs are clear.\n\nIMPRESSION: No edema.")
    assert read[-2:] == [("find", "The lungs are clear."), ("impr", "No edema.")]
