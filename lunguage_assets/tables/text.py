"""Tables of report text: reports as they came, their sentences, and what structurers read in them."""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables import columns as c
from lunguage_assets.tables.columns import code, integer, listed, number, probability, text, whole
from lunguage_assets.tables.corpus import INTAKE_NOTES, REJECTED
from lunguage_assets.tables.schema import Table

ACCOUNTS = ("findings", "nothing stated", "not about the patient now", "unreadable")
_SPAN = "[0-9]+-[0-9]+"
A_SPAN_LIST = f"[a-z_]+(?: {_SPAN})+"

REPORT_TEXTS = Table(
    "report_texts",
    "Raw reports of the batch, as delivered; empty when findings were delivered.",
    (
        c.STUDY,
        c.SUBJECT,
        text("source_id", "The report's id as delivered (file name, accession number)"),
        text("file", "Delivered file"),
        integer("line", "1-based record in the file; 1 for a file of one report", minimum=1),
        text("taken_at", "Date and time of the study, sortable; empty when unknown"),
        c.VIEWS_WRITTEN,
        code("view_source", "Where the views come from",
            ("metadata", "procedure text", "report text", "unknown")),
        text("report", "Full report text", restricted=True),
    ),
    ("study_id",),
)  # fmt: skip

REPORT_SENTENCES = Table(
    "report_sentences",
    "Sentences of the raw reports, the same for every structurer.",
    (
        c.STUDY,
        c.TEXT_SECTION,
        c.SENTENCE_NUMBER,
        c.HEADING,
        c.BEGIN,
        c.END,
        text("sent", "The sentence: characters begin to end of the report", restricted=True),
    ),
    ("study_id", "section", "sent_idx"),
    ordered=(("begin", "end"),),
)  # fmt: skip

REJECTED_REPORTS = replace(
    REJECTED,
    name="rejected_reports",
    description="Raw reports that cannot be used, with the reason; `rejected` shows them, too.",
)

READING_NOTES = replace(
    INTAKE_NOTES,
    name="reading_notes",
    description="What was mended or noticed while reading raw reports; `intake_notes` shows it, too.",
)

STRUCTURED_FINDINGS = Table(
    "structured_findings",
    "What one structurer reads in the reports: one row per mention and place, in the Lunguage structure.",
    (
        c.STUDY,
        c.SECTION,
        c.SENTENCE_NUMBER,
        c.SENTENCE,
        integer("ent_idx", "Number of the finding inside its section, from 1", minimum=1),
        replace(c.ENT, pattern=c.SOME_TEXT),
        text("normed_ent", "Canonical name, lower case", pattern=c.SOME_TEXT),
        code("cat", "Lunguage category code", c.CATEGORIES),
        c.STATUS,
        text("location", "Place as the report words it, comma-separated"),
        *c.ATTRIBUTE_CELLS,
        listed("evidence", "Rows of the study that support this one, as section:ent_idx"),
        listed("associate", "Rows of the study that this one goes with, as section:ent_idx"),
        text("spans", "Characters of every value in the report: column and begin-end of each part, joined by "
            "'; '", pattern=whole(f"{A_SPAN_LIST}(?:; {A_SPAN_LIST})*")),
    ),
    ("study_id", "section", "ent_idx"),
)  # fmt: skip

SENTENCE_ACCOUNTS = Table(
    "sentence_accounts",
    "What became of every sentence of findings and impression, by one structurer.",
    (
        c.STUDY,
        c.SECTION,
        c.SENTENCE_NUMBER,
        code("account", "What became of the sentence", ACCOUNTS),
        text("reason", "Short reason code; empty when findings were read"),
        integer("rows", "Rows read in it"),
    ),
    ("study_id", "section", "sent_idx"),
)  # fmt: skip

REFUSED_VALUES = Table(
    "refused_values",
    "What a structurer claimed and was not believed, with the reason.",
    (
        c.POSITION,
        c.STUDY,
        text("section", "Section that was claimed, or empty"),
        integer("sent_idx", "Sentence that was claimed; 0: none that can be read"),
        text("column", "Column concerned, or empty"),
        text("found", "What was claimed, cut to 80 characters", restricted=True),
        text("reason", "Short reason code, for counting", pattern=c.SOME_TEXT),
    ),
    ("number",),
)  # fmt: skip

AGREEMENT_FIELDS = (
    *("finding", "normed_ent", "cat", "status", "location"),
    *c.ATTRIBUTES,
    "evidence",
    "associate",
)

STRUCTURING_AGREEMENT = Table(
    "structuring_agreement",
    "How far every two structurers agree on the reports of a batch, and with gold rows where there are some.",
    (
        text("structurer_1", "A structurer, or gold", pattern=c.SOME_TEXT),
        text("structurer_2", "Another structurer", pattern=c.SOME_TEXT),
        code("field", "What is compared: whether a finding was read at all, or a column of matched rows",
            AGREEMENT_FIELDS),
        integer("rows", "Matched rows"),
        integer("first", "Values of the first: rows; words of places and attributes; links"),
        integer("second", "Values of the second"),
        integer("agreed", "Values that both have"),
        probability("precision", "agreed / second; null where the second has none", nullable=True),
        probability("recall", "agreed / first; null where the first has none", nullable=True),
        probability("f1", "2 agreed / (first + second); null where neither has any", nullable=True),
        number("kappa", "Cohen's kappa over matched rows, of codes; null where it is not defined",
            nullable=True, maximum=1.0),
    ),
    ("structurer_1", "structurer_2", "field"),
)  # fmt: skip
