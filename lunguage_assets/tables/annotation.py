"""Frames that `lunguage_assets.read` and `annotate` return (docs/read.md); they are never stored.

Ids of reports are the caller's own, so that the patterns of stored ids do not hold here.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables.columns import ATTRIBUTES, SECTIONS, STATUSES, probability, text
from lunguage_assets.tables.implicit import CONFLICTS, LUNGUAGE_PLUS_PLUS, RESOLUTION_LOG
from lunguage_assets.tables.labels import LABELS
from lunguage_assets.tables.schema import Column, Table
from lunguage_assets.tables.text import ACCOUNTS, TEXT_SECTIONS

_REPORT = text("study_id", "The report, as the caller names it")
_ROW = text("finding_id", "Identity of the row: report:number; an implied row appends /edge to its parent's")
_SOURCE = Column(
    "source", "string", "Stated in the report, or implied by a pathway", choices=("stated", "implied")
)
_PLACE = text("place", "Place as the report words it, comma-separated")


def _free(column: Column) -> Column:
    """The same column without the pattern of stored ids."""
    return replace(column, pattern="")


def _from(table: Table, *names: str) -> tuple[Column, ...]:
    return tuple(_free(table.column(name)) for name in names)


READ_REPORTS = Table(
    "reports",
    "One row per report, in the order in which they were given.",
    (
        _REPORT,
        text("view_information", "Projections and postures, comma-joined in fixed order; empty when unknown"),
        Column(
            "view_source",
            "string",
            "Where the views come from",
            choices=("given", "report text", "unknown"),
        ),
        Column("notes", "strings", "Reason codes of what was odd about the text"),
        text("report", "The text that spans count in", restricted=True),
    ),
    ("study_id",),
)

READ_SENTENCES = Table(
    "sentences",
    "Every sentence with its account: nothing of findings and impression is passed over in silence.",
    (
        _REPORT,
        Column("section", "string", "History, findings, impression, or other", choices=TEXT_SECTIONS),
        Column("sent_idx", "int", "Number of the sentence in its section, from 1", minimum=1),
        text("heading", "Heading of the section as written; empty without one", restricted=True),
        Column("begin", "int", "First character in the report", minimum=0),
        Column("end", "int", "Character behind the last one", minimum=1),
        text("sent", "The sentence", restricted=True),
        Column("account", "string", "What became of the sentence", choices=ACCOUNTS),
        text("reason", "Short reason code; empty when findings were read"),
    ),
    ("study_id", "section", "sent_idx"),
)

READ_FINDINGS = Table(
    "findings",
    "Lunguage++: what the reports state and imply, with probabilities, contradictions resolved.",
    (
        _REPORT,
        _ROW,
        *_from(LUNGUAGE_PLUS_PLUS, "idx", "section", "sent_idx", "sent", "ent", "name", "cat", "status"),
        _PLACE,
        *_from(LUNGUAGE_PLUS_PLUS, "location_parts"),
        text("phrase", "Hedging phrases that the report words it with, joined by '; '; empty without one"),
        probability("p", "Probability that the finding is present"),
        *_from(LUNGUAGE_PLUS_PLUS, "p_low", "p_high", "p_source"),
        Column("p_is_bound", "bool", "p follows from a pathway: a bound, not an estimate"),
        _SOURCE,
        *_from(LUNGUAGE_PLUS_PLUS, "parent_id", "root_id"),
        text("implied_by", "Pathway of the parent that implies the row; empty when stated"),
        *_from(LUNGUAGE_PLUS_PLUS, "pathway_id", "pathway", "match_reason"),
        *_from(LUNGUAGE_PLUS_PLUS, *ATTRIBUTES, "evidence", "associate", "currency", "merged_ids"),
    ),
    ("finding_id",),
    ordered=(("p_low", "p", "p_high"),),
)

LEFT_OUT = Table(
    "left_out",
    "Rows that were read or implied and are not among the findings, with the rule and the row that stands "
    "for them.",
    (
        _REPORT,
        _ROW,
        *_from(RESOLUTION_LOG, "event", "rule", "survivor_id"),
        _SOURCE,
        *_from(RESOLUTION_LOG, "name", "status"),
        *_from(LUNGUAGE_PLUS_PLUS, "section", "sent_idx"),
        text("ent", "Finding as the report words it; the pathway's wording for implied rows"),
        _PLACE,
    ),
    ("finding_id",),
)

READ_CONFLICTS = Table(
    "conflicts",
    CONFLICTS.description,
    (
        _REPORT,
        *_from(
            CONFLICTS,
            "currency",
            "name",
            "location_parts",
            "conflict_type",
            "source",
            "finding_ids",
            "suppressed",
        ),
        Column("kept_ids", "strings", "Those of them that are among the findings"),
    ),
    (),
)

READ_LABELS = Table(
    "labels",
    LABELS.description,
    (_REPORT, *_from(LABELS, *(name for name in LABELS.names if name not in ("study_id", "subject_id")))),
    ("study_id", "label"),
)

READ_SPANS = Table(
    "spans",
    "Characters of every value that was read, also of rows that were left out; join by finding_id.",
    (
        _REPORT,
        _ROW,
        Column("section", "string", "Report section", choices=SECTIONS),
        Column("status", "string", "Status of the row", choices=STATUSES),
        text("column", "ent, location, an attribute, or phrase: the hedging phrase"),
        Column("begin", "int", "First character in the report", minimum=0),
        Column("end", "int", "Character behind the last one", minimum=1),
        text("words", "The characters themselves", restricted=True),
    ),
    ("finding_id", "column", "begin", "end"),
)
