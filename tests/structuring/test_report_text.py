"""Sections, sentences and views of a report, as radiologists write them
(docs/reports.md): every word of findings and impression is in exactly one sentence.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.structuring.text.report import cut_report

_PIECES = st.sampled_from(
    ["The lungs are clear", "no effusion", "Dr. Roe", "approx. 2.5 cm", "___", "XXXX", "1.", "2)", "-", ".",
     "...", "?", ": ", "\n", "\n\n", " ", "  ", "\r\n", "Heart:", "FINDINGS:", "IMPRESSION", "Impression:",
     "WET READ:",     "HISTORY:", "a.m.", "vs.", "(e.g. edema)", "J. Roe", "segment 2.", "AP CHEST",
     "_______", "\t", "ß", "Dictated by", "\u2022"]
)  # fmt: skip


WRAPPED = "There is a small effusion in the left base, which is new compared to the film of\nMarch, as is edema"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Clear. No edema.", ["Clear.", "No edema."]),
        ("Clear lungs.No edema.", ["Clear lungs.", "No edema."]),
        ("Ribs. Normal. Heart. Large.", ["Ribs. Normal.", "Heart.", "Large."]),
        ("A nodule of approx. 2.5 cm. It is new.", ["A nodule of approx. 2.5 cm.", "It is new."]),
        ("Edema vs. Pneumonia. Dr. J. Roe knows.", ["Edema vs. Pneumonia.", "Dr. J. Roe knows."]),
        ("Seen at 5 a.m. by Dr. Roe.", ["Seen at 5 a.m. by Dr. Roe."]),
        ("Told at 5 p.m. Lungs clear.", ["Told at 5 p.m.", "Lungs clear."]),
        ("A tube 5 cm. above the carina.", ["A tube 5 cm. above the carina."]),
        ("Compared to ___. ___ lungs are clear.", ["Compared to ___.", "___ lungs are clear."]),
        ("No acute XXXX. XXXX sternotomy.", ["No acute XXXX.", "XXXX sternotomy."]),
        ("Hepatitis C. Clear lungs.", ["Hepatitis C.", "Clear lungs."]),
        ("Clear lungs... small heart.", ["Clear lungs... small heart."]),
        ("Fever, ? pneumonia. Pneumonia? No.", ["Fever, ? pneumonia.", "Pneumonia?", "No."]),
        ("Large heart; no edema.", ["Large heart; no edema."]),
        ("The heart\nis large. The\n lungs are clear.", ["The heart\nis large.", "The\n lungs are clear."]),
        ("Lungs clear\nHeart normal\nNo edema", ["Lungs clear", "Heart normal", "No edema"]),
        ("Lungs:\nClear. Heart: Large.", ["Lungs:\nClear.", "Heart: Large."]),
        ("1. Edema. 2. Effusion.", ["Edema.", "Effusion."]),
        ("1. Edema 2. Effusion", ["Edema", "Effusion"]),
        ("1.Edema.2.Effusion.", ["Edema.", "Effusion."]),
        ("- Edema\n- Effusion in\n  the left base", ["Edema", "Effusion in\n  the left base"]),
        ("1. Opacity in segment 2. New.", ["Opacity in segment 2.", "New."]),
        ("The tip is at T6. 2.5 cm nodule.", ["The tip is at T6.", "2.5 cm nodule."]),
        ("No. 3 catheter.", ["No. 3 catheter."]),
        ("(Limited.) Clear.", ["(Limited.)", "Clear."]),
        (f"{WRAPPED}\nNo edema", [WRAPPED, "No edema"]),
    ],
)  # fmt: skip
def test_text_is_cut_where_a_reader_would_cut_it(
    text: str, expected: list[str]
) -> None:
    assert [sentence.text for sentence in cut_report("1", text).sentences] == expected


@given(st.lists(_PIECES, max_size=40).map("".join) | st.text(max_size=300))
@examples(250)
def test_sentences_are_in_order_disjoint_and_quote_the_report(text: str) -> None:
    report = cut_report("1", text)
    at = 0
    numbers: dict[str, int] = {}
    for sentence in report.sentences:
        assert at <= sentence.span.begin < sentence.span.end <= len(text)
        assert sentence.span.of(text) == sentence.text == sentence.text.strip()
        assert sentence.number == numbers.get(sentence.section, 0) + 1
        numbers[sentence.section], at = sentence.number, sentence.span.end


def is_no_heading(piece: str) -> bool:
    is_capital = piece.isupper() and len(piece) > 6
    return not is_capital and ":" not in piece and piece != "Dictated by"


@given(st.lists(_PIECES.filter(is_no_heading), max_size=40))
@examples(150)
def test_every_word_behind_the_heading_is_in_a_sentence(pieces: list[str]) -> None:
    text = "FINDINGS: " + " ".join(pieces)
    covered = set()
    for sentence in cut_report("1", text).sentences:
        covered.update(range(sentence.span.begin, sentence.span.end))
    words = (word for word in re.finditer(r"[^\W_]+", text) if word.start() > 9)
    remaining = {
        word.group() for word in words if not covered.issuperset(range(*word.span()))
    }
    assert remaining <= {"1", "2"}  # enumeration


@pytest.mark.parametrize(
    "piece",
    ["\n", ":", "a. ", "_", "(1) ", "\n - ", "AP:\n", "\n\n a", "IMPRESSION ", "!?"],
)
def test_a_long_text_of_one_piece_is_cut_to_the_end(piece: str) -> None:
    """A pattern that looks back over the whole text at every character would not come
    back from this.
    """
    text = piece * (100_000 // len(piece))
    assert all(sentence.text.strip() for sentence in cut_report("1", text).sentences)


# --- sections


def cut(text: str) -> list[tuple[str, str]]:
    """Section and words of every sentence."""
    return [
        (sentence.section, " ".join(sentence.text.split()))
        for sentence in cut_report("1", text).sentences
    ]


FULL = """                                 FINAL REPORT
 EXAMINATION:  CHEST (PA AND LAT)

 INDICATION:  ___-year-old woman with cough.

 COMPARISON:  ___

 FINDINGS:

 The lungs are clear.

 IMPRESSION:

 No acute disease.

 NOTIFICATION:  Dr. ___ was told.
"""


def test_a_report_with_all_headings_is_cut_at_each_of_them() -> None:
    assert cut(FULL) == [
        ("other", "CHEST (PA AND LAT)"),
        ("hist", "___-year-old woman with cough."),
        ("other", "___"),
        ("find", "The lungs are clear."),
        ("impr", "No acute disease."),
        ("other", "Dr. ___ was told."),
    ]
    report = cut_report("1", FULL)
    with_addendum = cut_report("1", FULL + "\n ADDENDUM:  There is a nodule.\n")
    assert report.notes == with_addendum.notes == ()
    headings = [sentence.heading for sentence in report.sentences]
    assert headings[-2:] == ["IMPRESSION", "NOTIFICATION"]


HEADINGS = (
    "IMPRESSION:", "Impression:", "impression:", "IMPRESSION", "Impression", "IMPRESSION :",
    "**Impression:**", "CONCLUSION:", "OPINION:", "ADDENDUM:", "IMPRESSION (final):",
    "Impression -",
)  # fmt: skip


@pytest.mark.parametrize("between", ["\n", "\n\n", "\r\n"])
def test_a_heading_on_its_own_line_is_found(between: str) -> None:
    expected = [("find", "The heart is normal."), ("impr", "No edema.")]
    before = "Findings: The heart is normal."
    wrong = [
        heading
        for heading in HEADINGS
        if cut(f"{before}{between}{heading}{between}No edema.") != expected
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INDICATION: Pain. FINDINGS: Clear. IMPRESSION: Normal.", "hist find impr"),
        ("INDICATION: Pain FINDINGS: Clear lungs IMPRESSION: Normal", "hist find impr"),
        ("Reason for Exam: Pain\nFindings/Impression: Clear lungs", "hist find"),
        ("HISTORY  Pain for a week.\nFINDINGS  The lungs are clear.", "hist find"),
        ("FINDINGS The lungs are clear.\nIMPRESSION No change.", "find impr"),
        ("Findings: Clear.\nRecommendation: CT in a year.", "find other"),
        ("Findings: Clear.\nDictated by: Dr. Roe", "find other"),
        ("Comparison: None. Findings: Clear.", "other find"),
        ("COMPARISON FILM: Edema.\nFINDINGS: Clear.", "other find"),
        ("Clinical concern: Edema. Findings: Clear.", "hist find"),
        ("History of present complaint: Pain.\nClear lungs.\n", "hist hist"),
        ("INDCATION: Pain.\nFIDNINGS: Clear.\nIMPRESION: Normal.", "hist find impr"),
        ("COMPARISION: None.\n\nClear.", "other find"),
    ],
)
def test_headings_are_found_in_line_and_without_colon(text: str, expected: str) -> None:
    assert [section for section, _ in cut(text)] == expected.split()


@pytest.mark.parametrize(
    "text",
    ["These findings: edema and effusion, are new.", "FINDINGS ARE STABLE.", "Heart: Normal size",
     "LUNGS: Clear", "In comparison: Larger effusion.", "Compression: None.", "HISTORY OF SMOKE.",
     "The impression\nof the apex is unchanged.", "Told at 5:30 p.m. by phone.",
     "There is a history of edema."],
)  # fmt: skip
def test_what_only_looks_like_a_heading_stays_in_its_sentence(text: str) -> None:
    assert cut(text) == [("find", " ".join(text.split()))]
    assert cut_report("1", text).notes == ("no-headings",)


def test_a_paragraph_behind_the_comparison_is_findings_when_no_heading_names_them() -> (
    None
):
    text = "HISTORY: Fever.\n\nCOMPARISON: None.\n\nThe lungs are clear.\n\nIMPRESSION: Normal."
    assert cut(text)[2:] == [("find", "The lungs are clear."), ("impr", "Normal.")]
    assert cut_report("1", text).notes == ("findings-without-heading",)
    assert [section for section, _ in cut(text.replace("IMPR", "FINDINGS: Small heart.\n\nIMPR"))] == [
        "hist", "other", "other", "find", "impr",
    ]  # fmt: skip


def test_a_preliminary_reading_counts_only_where_there_is_no_other() -> None:
    wet = "WET READ: Possible edema.\n"
    assert cut(wet) == [("find", "Possible edema.")]
    both = wet + "______________\n   FINAL REPORT\nIMPRESSION: No edema."
    assert cut(both) == [("other", "Possible edema."), ("impr", "No edema.")]
    assert cut_report("1", both).notes == ("preliminary-superseded",)


def test_text_under_a_title_is_findings_when_no_heading_names_them() -> None:
    text = "FINAL REPORT\nPORTABLE AP CHEST, ___\n\nThe heart is large.\n\nIMPRESSION: Cardiomegaly."
    assert cut(text) == [("find", "The heart is large."), ("impr", "Cardiomegaly.")]
    assert cut("AP CHEST: The heart is large.") == [("find", "The heart is large.")]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("Clear lungs.", "no-headings"),
        ("INDICATION: Pain.", "no-findings-section"),
        ("Seen by phone.\nFINDINGS: Clear.", "text-before-headings"),
        ("EXAMINATION: Right knee, 3 views.\nFINDINGS: Joint effusion.", "not-chest"),
        ("FINDINGS: The lungs are clear. Left knee: Joint effusion.", "not-chest"),
    ],
)
def test_what_is_odd_is_noted(text: str, note: str) -> None:
    assert note in cut_report("1", text).notes


def test_another_part_of_the_body_is_not_the_chest() -> None:
    text = "FINDINGS: Lungs clear. Left knee: Narrow joint. Effusion. Chest: No edema.\nIMPRESSION: Foot. Ulcer."
    assert cut(text) == [
        ("find", "Lungs clear."), ("other", "Left knee: Narrow joint."), ("other", "Effusion."),
        ("find", "No edema."), ("other", "Foot."), ("other", "Ulcer."),
    ]  # fmt: skip
    ankle = cut("FINDINGS: Fracture of the ankle. IMPRESSION: Fracture.")
    assert {section for section, _ in ankle} == {"other"}
    assert cut_report("1", "INDICATION: Hip fracture.\nFINDINGS: Clear.").notes == ()
    text = "CHEST: No effusion. KNEE: No fracture."
    assert cut(text) == [("find", "No effusion."), ("other", "KNEE: No fracture.")]


@pytest.mark.parametrize(
    "technique",
    [
        "Frontal view of the chest. Portable AP\nview of the chest.",
        "Comparison is made with ___.\nPA and lateral views of the chest\n",
        "A film was taken.\n\nPORTABLE CHEST X-RAY\n\n",
    ],
)
def test_findings_that_begin_with_their_technique_remain_findings(
    technique: str,
) -> None:
    report = cut(f"FINDINGS: {technique} The lungs are clear.\n\nIMPRESSION: No edema.")
    assert report[-2:] == [("find", "The lungs are clear."), ("impr", "No edema.")]


# --- views


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EXAMINATION: CHEST (PORTABLE AP)\nFINDINGS: Clear.", "ap"),
        ("TECHNIQUE: Single frontal view.\nFINDINGS: Clear.", ""),
        ("TECHNIQUE: Portable upright chest.\nFINDINGS: Clear.", "ap, erect"),
        ("TECHNIQUE: Two views of the chest.\nFINDINGS: Clear.", "pa, lateral"),
        ("EXAMINATION: Chest 2V frontal/lateral\nFINDINGS: Clear.", "pa, lateral"),
        ("TECHNIQUE: Portable frontal and lateral views.\nFINDINGS: Clear.", "ap, lateral"),
        ("Frontal supine and cross-table lateral views of the chest were obtained.", "lateral, supine"),
        ("FINDINGS: On the lateral view, an opacity lies over the spine.", "pa, lateral"),
        ("PORTABLE SUPINE CHEST, ___\n\nClear lungs.", "ap, supine"),
        ("PA and lateral views of the chest were obtained. Clear.", "pa, lateral"),
        ("IMPRESSION: AP chest compared to the PA film of ___: No edema.", "ap"),
        ("FINDINGS: In comparison to the PA and lateral films, no change.", ""),
        ("FINDINGS: Fullness of the AP window. Left lateral pleural thickening.", ""),
        ("COMPARISON: PA and lateral views of ___.\nFINDINGS: Clear.", ""),
        ("FINDINGS: Clear. We recommend PA and lateral views.", ""),
        ("FINDINGS: Left effusion. A left lateral decubitus film may be helpful.", ""),
        ("FINDINGS: The AP diameter of the chest is increased. Scar of the left lateral chest.", ""),
        ("FINDINGS: Frontal and lateral radiographs of the thoracic spine show scoliosis.", ""),
    ],
)  # fmt: skip
def test_views_are_those_that_the_text_names_of_this_study(
    text: str, expected: str
) -> None:
    assert cut_report("1", text).views == expected
