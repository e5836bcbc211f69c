"""Tables of the corpus: deliveries, findings, rejected rows."""

from __future__ import annotations

from lunguage_assets.tables import columns as c
from lunguage_assets.tables.columns import code, integer, text, whole
from lunguage_assets.tables.schema import Column, Present, Table

REPORTS = Table(
    "reports",
    "One row per study of the batch: the full report and what is known of its views.",
    (
        c.STUDY,
        text("subject_id", "Patient, 'p' and 8 to 18 digits; empty when no row of the study names one",
            pattern=whole(c.A_PATIENT, or_empty=True)),
        c.SEQUENCE,
        text("report", "Full report text", restricted=True),
        c.VIEWS_WRITTEN,
        code("view_source", "Where the views come from", ("metadata", "procedure text", "report text",
            "default_view", "unknown")),
        integer("rows_delivered", "Rows of this study in the delivered file, rejected ones included"),
        integer("rows_rejected", "Rows of this study that were rejected"),
    ),
    ("study_id",),
    ordered=(("rows_rejected", "rows_delivered"),),
)  # fmt: skip

FINDINGS = Table(
    "findings",
    "Validated rows of the delivered reports: status, views, currency, and the sentence with the finding "
    "masked.",
    (
        *c.STATED_FINDING,
        Column("row", "int", "Row number of the delivered file (its unnamed first column)"),
        text("masked_sentence", "Sentence with every mention of the finding as <finding>; null when not "
            "located", restricted=True, nullable=True, pattern=c.MASK_SHOWN),
        code("mask_state", "masked: located in its sentence; not located: needs a person; not needed: "
            "definitive or history row", ("masked", "not located", "not needed")),
        c.SAME_NAME,
    ),
    ("finding_id",),
    present=(Present("masked_sentence", "mask_state", ("masked",)),),
)  # fmt: skip

REJECTED = Table(
    "rejected",
    "Delivered rows that cannot be used, with the reason; nothing else was changed by their absence.",
    (
        text("file", "Delivered file"),
        integer("line", "1-based data row in the file (the header is not counted)", minimum=1),
        text("study_id", "Study the row names, as far as it can be read; else empty",
            pattern=whole(c.A_STUDY, or_empty=True)),
        text("column", "Column that is wrong"),
        text("found", "What was found there, cut to 80 characters", restricted=True),
        text("expected", "What was expected"),
        text("remedy", "What to do", pattern=c.SOME_TEXT),
        text("reason", "Short reason code, for counting"),
        text("content", "The whole delivered row as JSON, so that it can be mended", restricted=True),
    ),
    ("file", "line"),
)  # fmt: skip

INTAKE_NOTES = Table(
    "intake_notes",
    "What was mended or noticed while reading: bare references, unlocated findings, unknown views, missing "
    "optional files.",
    (
        c.POSITION,
        text("file", "Delivered file"),
        integer("line", "1-based data row, or null when the note is about the whole file", nullable=True,
            minimum=1),
        text("study_id", "Study concerned, or empty"),
        text("finding_id", "Finding concerned, or empty"),
        text("column", "Column concerned, or empty"),
        text("reason", "Short reason code, for counting"),
        text("found", "What was found, cut to 80 characters", restricted=True),
        text("done", "What was done about it, or what a person can do"),
    ),
    ("number",),
)  # fmt: skip

TERMS = Table(
    "terms",
    "The delivered vocabulary (Lunguage_vocab.csv): spellings and their canonical forms; empty when none was "
    "delivered.",
    (
        text("category", "One of the six category codes, 'location', or an attribute name"),
        text("subcategory", "Path in the vocabulary's tree, separated by ' > '"),
        text("target_term", "A spelling, lower case"),
        text("normed_term", "Its canonical form, lower case"),
    ),
    ("category", "target_term", "normed_term", "subcategory"),
)  # fmt: skip
