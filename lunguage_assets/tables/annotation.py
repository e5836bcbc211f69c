"""Frames that `lunguage_assets.read` and `annotate` return (docs/read.md); they are never stored.

Ids of reports are the caller's own, so that the patterns of stored ids do not hold here.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables.columns import (
    ATTRIBUTES,
    BEGIN,
    END,
    HEADING,
    SECTIONS,
    SENTENCE_NUMBER,
    STATUS_OF_ROW,
    TEXT_SECTION,
    VIEWS_WRITTEN,
    code,
    flag,
    listed,
    probability,
    text,
)
from lunguage_assets.tables.implicit import CONFLICTS, LUNGUAGE_PLUS_PLUS, RESOLUTION_LOG, SET_ASIDE
from lunguage_assets.tables.labels import LABELS
from lunguage_assets.tables.schema import Column, Table
from lunguage_assets.tables.text import ACCOUNTS

_REPORT = text("study_id", "The report, as the caller names it")
_ROW = text("finding_id", "Identity of the row: report:number; an implied row appends /edge to its parent's")
_SOURCE = code("source", "Stated in the report, or implied by a pathway", ("stated", "implied"))
_PLACE = text("place", "Place as the report words it, comma-separated")


def _from(table: Table, *names: str) -> tuple[Column, ...]:
    """Columns without the pattern of stored ids."""
    return tuple(replace(table.column(name), pattern="") for name in names)


READ_REPORTS = Table(
    "reports",
    "One row per report, in the order in which they were given.",
    (
        _REPORT,
        VIEWS_WRITTEN,
        code("view_source", "Where the views come from", ("given", "report text", "unknown")),
        listed("notes", "Reason codes of what was odd about the text"),
        text("report", "The text that spans count in", restricted=True),
    ),
    ("study_id",),
)  # fmt: skip

READ_SENTENCES = Table(
    "sentences",
    "Every sentence with its account: nothing of findings and impression is passed over in silence.",
    (
        _REPORT,
        TEXT_SECTION,
        SENTENCE_NUMBER,
        HEADING,
        BEGIN,
        END,
        text("sent", "The sentence", restricted=True),
        code("account", "What became of the sentence", ACCOUNTS),
        text("reason", "Short reason code; empty when findings were read"),
    ),
    ("study_id", "section", "sent_idx"),
)  # fmt: skip

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
        flag("p_is_bound", "p follows from a pathway: a bound, not an estimate"),
        _SOURCE,
        *_from(LUNGUAGE_PLUS_PLUS, "parent_id", "root_id"),
        text("implied_by", "Pathway of the parent that implies the row; empty when stated"),
        *_from(LUNGUAGE_PLUS_PLUS, "pathway_id", "pathway", "match_reason"),
        *_from(LUNGUAGE_PLUS_PLUS, *ATTRIBUTES, "evidence", "associate", "currency", "merged_ids"),
    ),
    ("finding_id",),
    ordered=(("p_low", "p", "p_high"),),
)  # fmt: skip

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
)  # fmt: skip

READ_CONFLICTS = Table(
    "conflicts",
    CONFLICTS.description,
    (
        _REPORT,
        *_from(CONFLICTS, "currency", "name", "location_parts", "conflict_type", "source", "finding_ids",
            "suppressed"),
        listed("kept_ids", "Those of them that are among the findings"),
    ),
    (),
)  # fmt: skip

READ_LABELS = Table(
    "labels",
    LABELS.description,
    (
        _REPORT,
        *_from(LABELS, *(name for name in LABELS.names if name not in ("study_id", "subject_id"))),
    ),
    ("study_id", "label"),
)  # fmt: skip

READ_SET_ASIDE = Table(
    "set_aside",
    "Reports of which a row broke a rule of the method: nothing is concluded from them.",
    (_REPORT, *_from(SET_ASIDE, "table", "rule", "finding_ids", "found")),
    ("study_id", "table", "rule"),
)  # fmt: skip

READ_SPANS = Table(
    "spans",
    "Characters of every value that was read, also of rows that were left out; join by finding_id.",
    (
        _REPORT,
        _ROW,
        code("section", "Report section", SECTIONS),
        STATUS_OF_ROW,
        text("column", "ent, location, an attribute, or phrase: the hedging phrase"),
        BEGIN,
        END,
        text("words", "The characters themselves", restricted=True),
    ),
    ("finding_id", "column", "begin", "end"),
)  # fmt: skip
