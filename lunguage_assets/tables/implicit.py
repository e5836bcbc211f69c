"""Tables of the implicit half: merged findings, implied sub-findings, contradictions and their resolution."""

from __future__ import annotations

from lunguage_assets.tables.columns import (
    A_ROW,
    A_STATED_ROW,
    A_STUDY,
    BELIEF,
    CONFLICT_SOURCES,
    CONFLICT_TYPES,
    CURRENCIES,
    FINDING,
    FINDING_ID,
    GENERATED_FINDING,
    INTERVAL,
    MATCH_REASONS,
    MODE,
    STATED_FINDING,
    STATUSES,
    STUDY,
    probability,
    text,
    whole,
)
from lunguage_assets.tables.schema import Column, Only, Present, Table

DEDUPLICATED_FINDINGS = Table(
    "deduplicated_findings",
    "Findings with their probability; rows that say the same thing "
    "are merged into one survivor and marked, nothing is rewritten.",
    (
        *STATED_FINDING,
        *BELIEF,
        Column(
            "disposition",
            "string",
            "kept: goes on; merged: says the same as its survivor; excluded: history row",
            choices=("kept", "merged", "excluded"),
        ),
        text(
            "merged_into",
            "Finding id of the survivor; null unless merged",
            nullable=True,
            pattern=whole(A_STATED_ROW),
        ),
        probability(
            "merge_similarity",
            "Highest rounded cosine to a member of the survivor's group; null unless merged",
            nullable=True,
        ),
        Column("merged_ids", "strings", "Finding ids merged into this row, sorted"),
        text("encoder", "Sentence encoder and revision that measured similarity"),
        MODE,
    ),
    ("finding_id",),
    ordered=(INTERVAL,),
    present=(Present("merged_into", "disposition", ("merged",)),),
)

PATHWAY_MATCHES = Table(
    "pathway_matches",
    "For every finding, the expert pathway that it matches or the reason why it has none.",
    (
        FINDING_ID,
        STUDY,
        text("name", "Finding in canonical form"),
        text("diagnosis", "Diagnosis of the pathway dictionary, or empty"),
        Column("refinements", "strings", "Refinement words that applied, most specific first"),
        text("pathway_id", "Matched pathway, or empty"),
        text("pathway", "Matched pathway in the paper's notation, or empty"),
        Column("reason", "string", "matched, or why nothing expands", choices=MATCH_REASONS),
        Column("generated", "bool", "The finding is itself a generated sub-finding"),
    ),
    ("finding_id",),
)

EXPANSIONS = Table(
    "expansions",
    "Sub-findings that stated diagnoses imply: generated rows, and those that the report already states.",
    (
        *GENERATED_FINDING,
        *BELIEF,
        Column(
            "outcome",
            "string",
            "generated: a new row; already stated: an existing row says it; spoken against: an existing row "
            "says the opposite",
            choices=("generated", "already stated", "spoken against"),
        ),
        text(
            "linked_to",
            "Finding id of the existing row that states it, less surely if it was generated all the same, or "
            "that speaks against it",
            nullable=True,
            pattern=whole(A_STATED_ROW),
        ),
        text("parent_id", "Finding id of the immediate parent", pattern=whole(A_ROW)),
        text("root_id", "Finding id of the stated diagnosis at the top", pattern=whole(A_STATED_ROW)),
        text("parent_pathway_id", "Pathway of the parent that implies this row"),
        Column("edge", "int", "0-based number of the sub-finding in that pathway", minimum=0),
        Column("depth", "int", "1 for a child of a stated diagnosis, 2 for its child...", minimum=1),
    ),
    ("finding_id",),
    ordered=(INTERVAL,),
)

CONFLICTS = Table(
    "conflicts",
    "Groups of rows about the same finding at the same place and "
    "time, before resolution, by type and source of the disagreement.",
    (
        Column("number", "int", "Position in the list", minimum=0),
        STUDY,
        Column("currency", "string", "Past or current", choices=CURRENCIES),
        text("name", "Finding in canonical form"),
        Column("location_parts", "strings", "Location set"),
        Column("conflict_type", "string", "How the rows disagree or repeat", choices=CONFLICT_TYPES),
        Column("source", "string", "Which kinds of rows meet", choices=CONFLICT_SOURCES),
        Column("finding_ids", "strings", "Rows of the group that take part, sorted"),
        Column(
            "suppressed",
            "bool",
            "The generated row was never added: an existing row of other certainty already states it",
        ),
    ),
    ("number",),
)

RESOLUTION_LOG = Table(
    "resolution_log",
    "Every row that is not in the result, every reference that "
    "was lost, with the rule, the conflict and the survivor.",
    (
        Column("number", "int", "Position in the log", minimum=0),
        STUDY,
        text("finding_id", "Row concerned", pattern=whole(A_ROW)),
        Column(
            "event",
            "string",
            "What happened to the row",
            choices=(
                "merged",
                "removed",
                "excluded",
                "discarded",
                "already stated",
                "spoken against",
                "cell kept apart",
                "reference lost",
            ),
        ),
        Column("stage", "string", "Where it happened", choices=("deduplicate", "expand", "resolve")),
        Column(
            "rule",
            "string",
            "Rule that decided",
            choices=(
                "same meaning",
                "history section",
                "already stated",
                "rule 1: originals outrank expansions",
                "rule 2: definite contradiction",
                "rule 3: highest support",
                "rule 3: highest p",
                "parent merged",
                "parent gone",
                "stated against",
                "attributes exclude each other",
                "target gone",
            ),
        ),
        Column("conflict_type", "string", "Type of the conflict, or none", choices=(*CONFLICT_TYPES, "none")),
        Column("source", "string", "Kind of the row", choices=("original", "expansion")),
        text(
            "survivor_id",
            "Row that stands for it now; null when none does",
            nullable=True,
            pattern=whole(A_ROW),
        ),
        text("name", "Finding in canonical form"),
        Column("status", "string", "Status of the row", choices=STATUSES),
        Column("currency", "string", "Past or current", choices=CURRENCIES),
        Column("location_parts", "strings", "Location set"),
        probability("support", "Support of the row", nullable=True),
        text(
            "reference",
            "For a lost reference: the finding id that the row referred to; for a cell kept apart: "
            "column and words; else empty",
        ),
    ),
    ("number",),
)

LUNGUAGE_PLUS_PLUS = Table(
    "lunguage_plus_plus",
    "Lunguage++: stated and implied findings with probabilities, "
    "contradictions resolved, every row traceable.",
    (
        Column(
            "idx",
            "int",
            "Number of the row inside its study, generated rows after the stated ones",
            minimum=0,
        ),
        *FINDING,
        *BELIEF,
        Column(
            "source",
            "string",
            "Stated in the report, or generated from a pathway",
            choices=("original", "expansion"),
        ),
        text(
            "parent_id", "Finding id of the parent; null for stated rows", nullable=True, pattern=whole(A_ROW)
        ),
        text(
            "root_id",
            "Finding id of the stated diagnosis at the top; its own id for stated rows",
            pattern=whole(A_STATED_ROW),
        ),
        text("pathway_id", "Matched pathway, or empty"),
        text("pathway", "Matched pathway in the paper's notation, or empty"),
        Column("match_reason", "string", "Why the row has a pathway or none", choices=MATCH_REASONS),
        Column("merged_ids", "strings", "Rows that this one stands for, sorted"),
        text("encoder", "Sentence encoder and revision used for merging"),
        MODE,
        text("ranking_version", "Ranking that the probabilities come from"),
    ),
    ("finding_id",),
    ordered=(INTERVAL,),
    unique=(("study_id", "idx"),),
    present=(Present("parent_id", "source", ("expansion",)),),
    only=(Only("sent", "source", ("original",)), Only("prob_is_bound", "source", ("expansion",))),
    constant=("ranking_version", "mode"),
)

ACCOUNTING = Table(
    "accounting",
    "Per study: rows in = originals out + merged + removed + excluded + rejected, exactly.",
    (
        text(
            "study_id",
            "Study; empty for rejected rows whose study cannot be read",
            pattern=whole(A_STUDY, or_empty=True),
        ),
        *(
            Column(name, "int", text, minimum=0)
            for name, text in {
                "rows_in": "Delivered rows",
                "originals_out": "Stated rows in the result",
                "merged": "Rows merged into another",
                "removed": "Rows removed by conflict resolution",
                "excluded": "History rows left out",
                "rejected": "Rows rejected on reading",
                "generated": "Rows generated from pathways",
                "discarded": "Generated rows discarded by conflict resolution",
                "already_stated": "Implied sub-findings that the report already states",
                "spoken_against": "Implied sub-findings that the report speaks against",
                "rows_out": "Rows in the result",
            }.items()
        ),
        Column(
            "balanced",
            "bool",
            "Both equations hold: rows in, and rows_out = originals_out + generated - discarded",
            choices=(True,),
        ),
    ),
    ("study_id",),
)
