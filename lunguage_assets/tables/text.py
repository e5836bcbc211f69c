"""Tables of report text: reports as they came, their sentences, and what structurers read in them."""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables.columns import (
    A_PATIENT,
    ATTRIBUTES,
    CATEGORIES,
    SECTIONS,
    SOME_TEXT,
    STATUSES,
    STUDY,
    probability,
    text,
    whole,
)
from lunguage_assets.tables.corpus import INTAKE_NOTES, REJECTED
from lunguage_assets.tables.schema import Column, Table

TEXT_SECTIONS = (*SECTIONS, "other")
ACCOUNTS = ("findings", "nothing stated", "not about the patient now", "unreadable")
_SPAN = "[0-9]+-[0-9]+"
A_SPAN_LIST = f"[a-z_]+(?: {_SPAN})+"

_SECTION = Column("section", "string", "History, findings, impression, or other", choices=TEXT_SECTIONS)
_SENTENCE = Column("sent_idx", "int", "Number of the sentence in its section, from 1", minimum=1)

REPORT_TEXTS = Table(
    "report_texts",
    "Raw reports of the batch, as delivered; empty when findings were delivered.",
    (
        STUDY,
        text("subject_id", "Patient, 'p' and 8 to 18 digits", pattern=whole(A_PATIENT)),
        text("source_id", "The report's id as delivered (file name, accession number)"),
        text("file", "Delivered file"),
        Column("line", "int", "1-based record in the file; 1 for a file of one report", minimum=1),
        text("taken_at", "Date and time of the study, sortable; empty when unknown"),
        text("view_information", "Projections and postures, comma-joined in fixed order; empty when unknown"),
        Column(
            "view_source",
            "string",
            "Where the views come from",
            choices=("metadata", "procedure text", "report text", "unknown"),
        ),
        text("report", "Full report text", restricted=True),
    ),
    ("study_id",),
)

REPORT_SENTENCES = Table(
    "report_sentences",
    "Sentences of the raw reports, the same for every structurer.",
    (
        STUDY,
        _SECTION,
        _SENTENCE,
        text("heading", "Heading of the section as written; empty without one", restricted=True),
        Column("begin", "int", "First character in the report", minimum=0),
        Column("end", "int", "Character behind the last one", minimum=1),
        text("sent", "The sentence: characters begin to end of the report", restricted=True),
    ),
    ("study_id", "section", "sent_idx"),
    ordered=(("begin", "end"),),
)

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
        STUDY,
        Column("section", "string", "Report section: history, findings or impression", choices=SECTIONS),
        _SENTENCE,
        text("sent", "Sentence of the report", restricted=True),
        Column("ent_idx", "int", "Number of the finding inside its section, from 1", minimum=1),
        text("ent", "Finding as the report words it", pattern=SOME_TEXT),
        text("normed_ent", "Canonical name, lower case", pattern=SOME_TEXT),
        Column("cat", "string", "Lunguage category code", choices=CATEGORIES),
        Column("status", "string", "Certainty initial + polarity initial: dp, dn, tp, tn", choices=STATUSES),
        text("location", "Place as the report words it, comma-separated"),
        *(
            text(column, f"Attribute '{published}', comma-separated")
            for column, published in ATTRIBUTES.items()
        ),
        Column("evidence", "strings", "Rows of the study that support this one, as section:ent_idx"),
        Column("associate", "strings", "Rows of the study that this one goes with, as section:ent_idx"),
        text(
            "spans",
            "Characters of every value in the report: column and begin-end of each part, joined by '; '",
            pattern=whole(f"{A_SPAN_LIST}(?:; {A_SPAN_LIST})*"),
        ),
    ),
    ("study_id", "section", "ent_idx"),
)

SENTENCE_ACCOUNTS = Table(
    "sentence_accounts",
    "What became of every sentence of findings and impression, by one structurer.",
    (
        STUDY,
        Column("section", "string", "Report section: history, findings or impression", choices=SECTIONS),
        _SENTENCE,
        Column("account", "string", "What became of the sentence", choices=ACCOUNTS),
        text("reason", "Short reason code; empty when findings were read"),
        Column("rows", "int", "Rows read in it", minimum=0),
    ),
    ("study_id", "section", "sent_idx"),
)

REFUSED_VALUES = Table(
    "refused_values",
    "What a structurer claimed and was not believed, with the reason.",
    (
        Column("number", "int", "Position in the list", minimum=0),
        STUDY,
        text("section", "Section that was claimed, or empty"),
        Column("sent_idx", "int", "Sentence that was claimed; 0: none that can be read", minimum=0),
        text("column", "Column concerned, or empty"),
        text("found", "What was claimed, cut to 80 characters", restricted=True),
        text("reason", "Short reason code, for counting", pattern=SOME_TEXT),
    ),
    ("number",),
)

AGREEMENT_FIELDS = (
    "finding",
    "normed_ent",
    "cat",
    "status",
    "location",
    *ATTRIBUTES,
    "evidence",
    "associate",
)

STRUCTURING_AGREEMENT = Table(
    "structuring_agreement",
    "How far every two structurers agree on the reports of a batch, and with gold rows where there are some.",
    (
        text("structurer_1", "A structurer, or gold", pattern=SOME_TEXT),
        text("structurer_2", "Another structurer", pattern=SOME_TEXT),
        Column(
            "field",
            "string",
            "What is compared: whether a finding was read at all, or a column of matched rows",
            choices=AGREEMENT_FIELDS,
        ),
        Column("rows", "int", "Matched rows", minimum=0),
        Column("first", "int", "Values of the first: rows; words of places and attributes; links", minimum=0),
        Column("second", "int", "Values of the second", minimum=0),
        Column("agreed", "int", "Values that both have", minimum=0),
        probability("precision", "agreed / second; null where the second has none", nullable=True),
        probability("recall", "agreed / first; null where the first has none", nullable=True),
        probability("f1", "2 agreed / (first + second); null where neither has any", nullable=True),
        Column(
            "kappa",
            "float",
            "Cohen's kappa over matched rows, of codes; null where it is not defined",
            nullable=True,
            maximum=1.0,
        ),
    ),
    ("structurer_1", "structurer_2", "field"),
)
