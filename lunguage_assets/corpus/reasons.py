"""Codes of rejections and notes about delivered rows, each with what was expected and a remedy.

The one list of codes; counts by code are shown in the UI, so no code or text here may depend on a row's
content.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """The expected form, and the remedy."""

    expected: str
    remedy: str


MOST_ROWS_OF_A_STUDY = 5_000
"""No report has as many findings; a file whose column of study ids is constant has."""

REJECTIONS: dict[str, Reason] = {
    "unclosed-quote": Reason(
        "text with commas in one pair of quotes, quotes inside doubled",
        "Mend the quotes of this record and deliver it again.",
    ),
    "cell-too-large": Reason(
        "cells of at most 16 MB",
        "No report is as long: a quote is missing, or several reports are in one cell. Mend this record and "
        "deliver it again.",
    ),
    "wrong-number-of-values": Reason(
        "one value per column of the header",
        "Mend the separators and quotes of this record and deliver it again.",
    ),
    "broken-encoding": Reason("text in UTF-8", "Save the file as UTF-8 and deliver the row again."),
    "study-id": Reason("'s' and up to 18 digits, or the digits alone", "Correct the study id."),
    "subject-id": Reason("'p' and up to 18 digits, or the digits alone", "Correct the patient id."),
    "study-of-two-patients": Reason(
        "the patient of the study's first row", "Correct the patient id or the study id."
    ),
    "row-number": Reason("a whole number, zero or more", "Correct the row number."),
    "duplicate-row-number": Reason(
        "a row number that no earlier row has", "Remove the repeated row or give it a number of its own."
    ),
    "study-too-long": Reason(
        f"at most {MOST_ROWS_OF_A_STUDY:,} rows of one study",
        "No report has as many: the column of study ids is constant, or names something larger than a study. "
        "Give every study an id of its own and deliver the file again.",
    ),
    "section": Reason("hist, find or impr", "Correct the section."),
    "dx-status": Reason("positive or negative", "Correct the status."),
    "dx-certainty": Reason("definitive or tentative", "Correct the certainty."),
    "category": Reason("PF, CF, OTH, COF, NCD or PATIENT INFO.", "Correct the category, or leave it empty."),
    "finding-empty": Reason("the name of a finding", "Fill in the finding."),
    "number": Reason("a whole number, zero or more", "Correct the number."),
    "study-id-missing": Reason("an id of the study", "Fill in study_id and deliver the report again."),
    "unreadable-file": Reason(
        "a whole file of one report, in the form of the others, without password",
        "Mend the file and deliver it again.",
    ),
    "report-empty": Reason("a report with words", "Deliver the report's text, or leave the report out."),
    "report-too-large": Reason(
        "one report, of a million bytes at most",
        "A larger text holds more than one report: deliver each with an id of its own.",
    ),
    "report-not-text": Reason(
        "text (UTF-8, UTF-16 with a mark, or Windows-1252)",
        "The file is of another kind (a PDF, a scan): deliver its text.",
    ),
    "report-repeated": Reason(
        "one report per study; an earlier record has another text for this one",
        "Keep the report that counts, addendum included, or give this one an id of its own.",
    ),
}
"""Reasons for a rejection, by precedence.

Of two rows with one number the first stays. Of a study under two patients only the rows of the first row's
patient stay. Of a study with too many rows none stays. Of two reports of a study the first stays. Nothing is
guessed.
"""

NOTES: dict[str, str] = {
    "same-report-again": "A later record repeats the study's report word by word; it was read once.",
    "id-numbered": (
        "Ids that are no number of up to 18 digits stand as numbers of 17 digits; source_id has them as "
        "delivered. The count of reports is in `found`."
    ),
    "patient-unknown": (
        "Neither the delivery nor the metadata says whose report it is: the study counts as a patient of its "
        "own. The count of reports is in `found`."
    ),
    "encoding-guessed": "The text is not UTF-8; it was read as Windows-1252.",
    "encoding-converted": "The text is UTF-16; it was converted.",
    "control-characters": "Control characters (NUL and the like) were taken out of the text.",
    "markup-removed": "The text has HTML marks; they were taken out, paragraphs and lines were kept.",
    "study-date-ignored": "The date of the study cannot be read; it was not used.",
    "view-ignored": "No view is known by these words; they were not used.",
    "metadata-without-study": (
        "The metadata file names no image of these studies. The count of reports is in `found`."
    ),
    "vocabulary-missing": (
        "Only the built-in forms normalise names. Put "
        "Lunguage_vocab.csv beside the findings for better matching."
    ),
    "side-file-without-rows": (
        "The file has a header line and no data row; nothing was learned from it. Deliver the complete file."
    ),
    "vocabulary-row-ignored": (
        "The row cannot be read, or the term or its canonical form is empty; it was not used."
    ),
    "vocabulary-contradiction": (
        "The vocabulary gives the term several canonical "
        "forms; itself, else the first in the alphabet is used."
    ),
    "metadata-missing": (
        "Views are unknown: pleural effusion and cardiomegaly do "
        "not expand. Deliver the metadata file or set default_view."
    ),
    "metadata-row-ignored": "The row or its study id cannot be read; it was not used.",
    "metadata-column-missing": "The column is optional; nothing was learned from it about views or time.",
    "unknown-view-code": "No view is known by this code; it was not used. The count of images is in `found`.",
    "unknown-view": "The study's views are unknown: findings whose signs depend on the view do not expand.",
    "default-view": "The study's views are unknown; the configured default_view was taken.",
    "report-row-ignored": "The row or its study id cannot be read; it was not used.",
    "reports-without-rows": (
        "The file has reports of studies that have no row in the "
        "findings file; structure them first. The count is in `found`."
    ),
    "reports-differ": "Rows of the study carry different report texts; the first was taken.",
    "report-missing": "The study has no report text.",
    "column-missing": "The column is optional and counts as empty in every row.",
    "column-ignored": "The column is not part of the format and was not read.",
    "row-numbers-made": "The file has no row numbers; the records were numbered from 0 in file order.",
    "positions-derived": (
        "Sentence or finding numbers are missing; they were counted inside the section in file order."
    ),
    "sequence-derived": (
        "The study's place in the patient's time line comes "
        "from the metadata's date, else from the file order."
    ),
    "sequence-differs": "Rows of the study carry different sequence numbers; the first was taken.",
    "category-derived": "The category is empty; it was taken from the vocabulary, else OTH.",
    "first-of-alternatives": "Two values were written as x|y; x was taken.",
    "one-wording-two-names": (
        "An earlier row of the study words the same finding at the same place, and normed_ent gives the two "
        "other names: they are two findings, and the published file has both under one wording. Correct "
        "normed_ent if they are one."
    ),
    "number-without-name": (
        "The reference is a number that follows no name; it was left out. A published number is one of the "
        "rows' new numbers."
    ),
    "bare-reference": "The reference names no row number; it is kept as a bare name.",
    "dangling-reference": (
        "The reference points to no row of the study; its name is kept, without the number."
    ),
    "ambiguous-reference": "The reference fits several rows of the study; it is kept as a bare name.",
    "reference-to-rejected-row": (
        "The row that is referred to was rejected; the reference is kept as a bare name."
    ),
    "self-reference": "The row refers to itself; the reference is kept as a bare name.",
    "finding-not-located": (
        "The finding does not occur in its sentence; the pair is "
        "never sent to a judge. Correct the sentence or the finding."
    ),
    "no-headings": "The report has no headings; all of it was read as findings.",
    "findings-without-heading": (
        "No heading names the findings; what stands in a paragraph of its own behind history, technique or "
        "comparison was read as findings."
    ),
    "no-findings-section": (
        "The report has neither findings nor an impression; only its history was read. Look at its headings."
    ),
    "text-before-headings": (
        "Text before the first heading was not read, because a heading names the findings. Look whether it "
        "states any."
    ),
    "preliminary-superseded": "A preliminary reading was not read, because the report has a later one.",
    "two-reports": (
        "The text seems to hold two reports; both were read as one study. Deliver them as two if they are of "
        "two films."
    ),
    "not-chest": (
        "The report, or a part of it below a heading of its own, is of another part of the body; that was "
        "not read."
    ),
    "not-english": "The report seems not to be English; what was read in it is not reliable.",
    "empty": "The report has no text; no finding is known of the study.",
    "mask-in-sentence": (
        "The sentence itself shows the text <finding>, so it "
        "cannot be masked; the pair is never sent to a judge."
    ),
}
"""Codes of `intake_notes`: their meaning, and what was done."""
