"""Tables of what was delivered, and of what structurers read in it.

Reports, sentences, findings, and everything that cannot be used, with its reason.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables.columns import (
    A_PATIENT,
    A_STUDY,
    ATTRIBUTE_CELLS,
    CATEGORIES,
    CUES,
    ENT,
    MASK_SHOWN,
    POSITION,
    SAME_NAME,
    SECTION,
    SECTIONS,
    SENTENCE,
    SENTENCE_NUMBER,
    SEQUENCE,
    SOME_TEXT,
    SOURCE_ID,
    STATED_FINDING,
    STATUS,
    STUDY,
    SUBJECT,
    VIEWS_WRITTEN,
    code,
    integer,
    listed,
    restricted,
    text,
    whole,
)
from lunguage_assets.tables.schema import Column, Table, Where

ACCOUNTS = ("findings", "nothing stated", "not about the patient now", "unreadable")
_SPANS = "[a-z_]+(?: [0-9]+-[0-9]+)+"
_VIEW_SOURCES = ("metadata", "procedure text", "report text", "unknown")

REPORTS = Table(
    name="reports",
    description=(
        "One row per study of the batch: the full report and what is known of its "
        "views."
    ),
    partitioned_by=("report_batch",),
    explained=True,
    released="combined",
    key=("study_id",),
    columns=(
        STUDY,
        replace(SUBJECT, pattern=whole(A_PATIENT, or_empty=True)),
        SOURCE_ID,
        SEQUENCE,
        restricted("report", "Full report text"),
        VIEWS_WRITTEN,
        code(
            "view_source",
            "Where the views come from",
            (*_VIEW_SOURCES[:3], "default_view", "unknown"),
        ),
        integer(
            "rows_delivered",
            "Rows of this study in the delivered file, rejected ones included",
        ),
        integer("rows_rejected", "Rows of this study that were rejected"),
    ),
    ordered=(("rows_rejected", "rows_delivered"),),
)

FINDINGS = Table(
    name="findings",
    description=(
        "Validated rows of the delivered reports: status, views, currency, and the "
        "masked sentence."
    ),
    partitioned_by=("report_batch",),
    per_study=True,
    key=("finding_id",),
    columns=(
        *STATED_FINDING,
        Column(
            "row",
            "Row number of the delivered file (its unnamed first column); of a raw "
            "report the number of the row in its study, from 1",
            type="int",
        ),
        restricted(
            "masked_sentence",
            "Sentence with every mention of the finding as <finding>; null without one",
            nullable=True,
            pattern=MASK_SHOWN,
        ),
        code(
            "mask_state",
            "masked: located in its sentence; not located: needs a person; not needed: "
            "definitive or history row",
            ("masked", "not located", "not needed"),
        ),
        SAME_NAME,
    ),
    present=(Where("masked_sentence", "mask_state", ("masked",)),),
)

REJECTED = Table(
    name="rejected",
    description=(
        "Delivered rows that cannot be used, with the reason; nothing else was "
        "changed by their absence."
    ),
    partitioned_by=("report_batch",),
    explained=True,
    released="as stored",
    key=("file", "line"),
    columns=(
        text("file", "Delivered file"),
        integer(
            "line",
            "1-based data row in the file (the header is not counted)",
            minimum=1,
        ),
        text(
            "study_id",
            "Study the row names, or empty",
            pattern=whole(A_STUDY, or_empty=True),
        ),
        text("column", "Column that is wrong"),
        restricted("found", "What was found there, cut to 80 characters"),
        text("expected", "What was expected"),
        text("remedy", "What to do", pattern=SOME_TEXT),
        text("reason", "Short reason code, for counting"),
        restricted(
            "content", "The whole delivered row as JSON, so that it can be fixed"
        ),
    ),
)

INTAKE_NOTES = Table(
    name="intake_notes",
    description=(
        "What was corrected or noticed while reading: bare references, unlocated "
        "findings, unknown views..."
    ),
    partitioned_by=("report_batch",),
    explained=True,
    key=("number",),
    columns=(
        POSITION,
        text("file", "Delivered file"),
        integer(
            "line",
            "1-based data row, or null when the note is about the whole file",
            minimum=1,
            nullable=True,
        ),
        text("study_id", "Study concerned, or empty"),
        text("finding_id", "Finding concerned, or empty"),
        text("column", "Column concerned, or empty"),
        text("reason", "Short reason code, for counting"),
        restricted("found", "What was found, cut to 80 characters"),
        text("done", "What was done about it, or what a person can do"),
    ),
)

TERMS = Table(
    name="terms",
    description=(
        "The delivered vocabulary (Lunguage_vocab.csv): spellings and their "
        "canonical forms; empty without one."
    ),
    partitioned_by=("report_batch",),
    key=("category", "target_term", "normed_term", "subcategory"),
    columns=(
        text(
            "category",
            "One of the six category codes, 'location', or an attribute name",
        ),
        text("subcategory", "Path in the vocabulary's tree, separated by ' > '"),
        text("target_term", "A spelling, lower case"),
        text("normed_term", "Its canonical form, lower case"),
    ),
)

REPORT_TEXTS = Table(
    name="report_texts",
    description=(
        "Raw reports of the batch, as delivered; empty when findings were delivered."
    ),
    partitioned_by=("report_batch",),
    key=("study_id",),
    columns=(
        STUDY,
        SUBJECT,
        SOURCE_ID,
        text("file", "Delivered file"),
        integer(
            "line", "1-based record in the file; 1 for a file of one report", minimum=1
        ),
        text("taken_at", "Date and time of the study, sortable; empty when unknown"),
        integer(
            "sequence",
            "Place in the patient's time line as delivered, from 1; 0 when unknown",
        ),
        VIEWS_WRITTEN,
        code("view_source", "Where the views come from", _VIEW_SOURCES),
        restricted("report", "Full report text"),
    ),
)

REPORT_SENTENCES = Table(
    name="report_sentences",
    description=("Sentences of the raw reports, the same for every structurer."),
    partitioned_by=("report_batch",),
    key=("study_id", "section", "sent_idx"),
    columns=(
        STUDY,
        code(
            "section", "History, findings, impression, or other", (*SECTIONS, "other")
        ),
        SENTENCE_NUMBER,
        restricted("heading", "Heading of the section as written; empty without one"),
        integer("begin", "First character in the report"),
        integer("end", "Character behind the last one", minimum=1),
        restricted("sent", "The sentence: characters begin to end of the report"),
    ),
    ordered=(("begin", "end"),),
)

REJECTED_REPORTS = replace(
    REJECTED,
    name="rejected_reports",
    description=(
        "Raw reports that cannot be used, with the reason; `rejected` shows them, too."
    ),
    explained=False,
    released="",
)

READING_NOTES = replace(
    INTAKE_NOTES,
    name="reading_notes",
    description=(
        "What was corrected or noticed while reading raw reports; `intake_notes` shows "
        "it, too."
    ),
    explained=False,
    released="",
)

STRUCTURED_FINDINGS = Table(
    name="structured_findings",
    description=(
        "What one structurer reads in the reports: one row per mention and place, "
        "in the Lunguage structure."
    ),
    partitioned_by=("report_batch", "structurer"),
    per_study=True,
    key=("study_id", "section", "ent_idx"),
    columns=(
        STUDY,
        SECTION,
        SENTENCE_NUMBER,
        SENTENCE,
        integer(
            "ent_idx", "Number of the finding inside its section, from 1", minimum=1
        ),
        replace(ENT, pattern=SOME_TEXT),
        text("normed_ent", "Canonical name, lower case", pattern=SOME_TEXT),
        code("cat", "Lunguage category code", CATEGORIES),
        STATUS,
        text("location", "Place as the report words it, comma-separated"),
        *ATTRIBUTE_CELLS,
        listed(
            "evidence", "Rows of the study that support this one, as section:ent_idx"
        ),
        listed(
            "associate", "Rows of the study that this one goes with, as section:ent_idx"
        ),
        text(
            "spans",
            "Where every value stands in the report: column and begin-end of each "
            "part, joined by '; '",
            pattern=whole(f"{_SPANS}(?:; {_SPANS})*"),
        ),
        CUES,
    ),
)

SENTENCE_ACCOUNTS = Table(
    name="sentence_accounts",
    description=(
        "What became of every sentence of findings and impression, by one structurer."
    ),
    partitioned_by=("report_batch", "structurer"),
    key=("study_id", "section", "sent_idx"),
    columns=(
        STUDY,
        SECTION,
        SENTENCE_NUMBER,
        code("account", "What became of the sentence", ACCOUNTS),
        text("reason", "Short reason code; empty when findings were read"),
        integer("rows", "Rows read in it"),
    ),
)

REFUSED_VALUES = Table(
    name="refused_values",
    description=("What a structurer claimed and was not believed, with the reason."),
    partitioned_by=("report_batch", "structurer"),
    key=("number",),
    columns=(
        POSITION,
        STUDY,
        text("section", "Section that was claimed, or empty"),
        integer("sent_idx", "Sentence that was claimed; 0: none that can be read"),
        text("column", "Column concerned, or empty"),
        restricted("found", "What was claimed, cut to 80 characters"),
        text("reason", "Short reason code, for counting", pattern=SOME_TEXT),
    ),
)
