"""Short codes for what can be wrong with, or noticed about, a delivered row: what was expected and what a person can do.

The one list of codes; counts by code are shown in the UI, so no code or text here may depend on a row's content.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """What was expected, and what to do about it."""

    expected: str
    remedy: str


REJECTIONS: dict[str, Reason] = {
    "broken-encoding": Reason("text in UTF-8", "Save the file as UTF-8 and deliver the row again."),
    "broken-record": Reason("one value per column, quotes closed", "Mend quotes and separators of this record and deliver it again."),
    "row-number": Reason("a whole number, unique in the file", "Number the rows again."),
    "duplicate-row-number": Reason("a row number that no earlier row has", "Remove the repeated row or give it a number of its own."),
    "subject-id": Reason("'p' and up to eight digits, or the digits alone", "Correct the patient id."),
    "study-id": Reason("'s' and up to eight digits, or the digits alone", "Correct the study id."),
    "study-of-two-patients": Reason("the patient of the study's first row", "Correct the patient id or the study id."),
    "section": Reason("hist, find or impr", "Correct the section."),
    "dx-status": Reason("positive or negative", "Correct the status."),
    "dx-certainty": Reason("definitive or tentative", "Correct the certainty."),
    "category": Reason("PF, CF, OTH, COF, NCD or PATIENT INFO.", "Correct the category, or leave it empty."),
    "finding-empty": Reason("the name of a finding", "Fill in the finding."),
    "number": Reason("a whole number, zero or more", "Correct the number."),
}
"""Why a row is in `rejected`."""

NOTES: dict[str, str] = {
    "vocabulary-missing": "Only the built-in forms normalise names. Put Lunguage_vocab.csv beside the findings for better matching.",
    "metadata-missing": "Views are unknown: pleural effusion and cardiomegaly do not expand. Deliver the metadata file or set default_view.",
    "column-missing": "The column is optional and counts as empty in every row.",
    "column-ignored": "The column is not part of the format and was not read.",
    "row-numbers-made": "The file has no row numbers; the records were numbered from 0 in file order.",
    "sequence-derived": "The study's place in the patient's time line comes from the metadata's date, else from the file order.",
    "positions-derived": "Sentence or finding numbers are missing; they were counted in file order.",
    "category-derived": "The category is empty; it was taken from the vocabulary, else OTH.",
    "first-of-alternatives": "Two values were written as x|y; x was taken.",
    "bare-reference": "The reference names no row number; it is kept as a bare name.",
    "dangling-reference": "The reference points to no row of the study, or to several; it is kept as a bare name.",
    "self-reference": "The row refers to itself; the reference was dropped.",
    "finding-not-located": "The finding does not occur in its sentence; the pair is never sent to a judge. Correct the sentence or the finding.",
    "reports-differ": "Rows of the study carry different report texts; the first was taken.",
    "report-missing": "The study has no report text.",
    "unknown-view": "The study's views are unknown: findings whose signs depend on the view do not expand.",
    "default-view": "The study's views are unknown; the configured default_view was taken.",
    "metadata-row-ignored": "The image's ids cannot be read; the row was not used.",
    "vocabulary-row-ignored": "The term or its canonical form is empty; the row was not used.",
}
"""What a line of `intake_notes` means and what was done."""
