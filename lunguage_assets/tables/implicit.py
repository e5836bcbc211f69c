"""Tables of the implicit half: merged and implied findings, contradictions, the result.

`docs/method/implicit.md` has the steps.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables.columns import (
    A_STATED_ROW,
    A_STUDY,
    ANY_SUBJECT,
    BELIEF,
    CANONICAL_NAME,
    CONFLICT_SOURCES,
    CONFLICT_TYPES,
    FINDING,
    FINDING_ID,
    GENERATED_FINDING,
    INTERVAL,
    LOCATION_SET,
    MATCH_REASONS,
    MODE,
    PAST_OR_CURRENT,
    PATHWAY,
    PATHWAY_ID,
    POSITION,
    SOME_TEXT,
    STATED_FINDING,
    STATUS,
    STUDY,
    code,
    flag,
    integer,
    listed,
    optional_probability,
    row_id,
    text,
    whole,
)
from lunguage_assets.tables.schema import Table, Where

RESOLUTION_RULES = (
    "same meaning",
    "same statement",
    "history section",
    "already stated",
    "rule 1: originals outrank expansions",
    "rule 2: definite contradiction",
    "rule 3: highest support",
    "rule 3: highest p",
    "parent merged",
    "parent gone",
    "stated against",
    "target gone",
)
_EVENTS = (
    "merged",
    "removed",
    "excluded",
    "discarded",
    "already stated",
    "spoken against",
    "reference lost",
)
_SOURCES = ("original", "expansion")

DEDUPLICATED_FINDINGS = Table(
    name="deduplicated_findings",
    description=(
        "Findings with their probability; rows that say the same are merged into "
        "one survivor and marked."
    ),
    partitioned_by=("ranker", "report_batch"),
    per_study=True,
    explained=True,
    key=("finding_id",),
    columns=(
        *STATED_FINDING,
        *BELIEF,
        code(
            "disposition",
            "kept: goes on; merged: says the same as its survivor; excluded: history "
            "row",
            ("kept", "merged", "excluded"),
        ),
        row_id(
            "merged_into",
            "Finding id of the survivor; null unless merged",
            A_STATED_ROW,
            nullable=True,
        ),
        optional_probability(
            "merge_similarity",
            "Highest cosine to the survivor's group; null unless merged by it",
        ),
        listed("merged_ids", "Finding ids merged into this row, sorted"),
        text("encoder", "Sentence encoder and revision that measured similarity"),
        MODE,
    ),
    ordered=(INTERVAL,),
    present=(Where("merged_into", "disposition", ("merged",)),),
)

PATHWAY_MATCHES = Table(
    name="pathway_matches",
    description=(
        "For every finding, the expert pathway that it matches or the reason why "
        "it has none."
    ),
    partitioned_by=("ranker", "report_batch"),
    per_study=True,
    explained=True,
    released="as stored",
    key=("finding_id",),
    columns=(
        FINDING_ID,
        STUDY,
        CANONICAL_NAME,
        text("diagnosis", "Diagnosis of the pathway dictionary, or empty"),
        listed("refinements", "Refinement words that applied, most specific first"),
        PATHWAY_ID,
        PATHWAY,
        code("reason", "matched, or why nothing expands", MATCH_REASONS),
        flag("generated", "The finding is itself a generated sub-finding"),
    ),
)

EXPANSIONS = Table(
    name="expansions",
    description=(
        "Sub-findings that stated diagnoses imply: generated rows, and those that "
        "the report already states."
    ),
    partitioned_by=("ranker", "report_batch"),
    per_study=True,
    explained=True,
    key=("finding_id",),
    columns=(
        *GENERATED_FINDING,
        *BELIEF,
        code(
            "outcome",
            "generated: a new row; already stated: an existing row says it; spoken "
            "against: an existing row says the opposite",
            ("generated", "already stated", "spoken against"),
        ),
        row_id(
            "linked_to",
            "The existing row that states it, less surely if it was generated all the "
            "same, or speaks against it",
            A_STATED_ROW,
            nullable=True,
        ),
        row_id("parent_id", "Finding id of the immediate parent"),
        row_id(
            "root_id", "Finding id of the stated diagnosis at the top", A_STATED_ROW
        ),
        text("parent_pathway_id", "Pathway of the parent that implies this row"),
        integer("edge", "0-based number of the sub-finding in that pathway"),
        integer(
            "depth",
            "1 for a child of a stated diagnosis, 2 for its child...",
            minimum=1,
        ),
    ),
    ordered=(INTERVAL,),
)

CONFLICTS = Table(
    name="conflicts",
    description=(
        "Groups of rows about the same finding at the same place and time, before "
        "resolution."
    ),
    partitioned_by=("ranker", "report_batch"),
    per_study=True,
    explained=True,
    released="as stored",
    key=("number",),
    columns=(
        POSITION,
        STUDY,
        PAST_OR_CURRENT,
        CANONICAL_NAME,
        LOCATION_SET,
        code("conflict_type", "How the rows disagree or repeat", CONFLICT_TYPES),
        code("source", "Which kinds of rows meet", CONFLICT_SOURCES),
        listed("finding_ids", "Rows of the group that take part, sorted"),
        flag(
            "suppressed",
            "The generated row was never added: an existing row states it with other "
            "certainty",
        ),
    ),
)

RESOLUTION_LOG = Table(
    name="resolution_log",
    description=(
        "Every row that is not in the result, every lost reference: with rule, "
        "conflict and survivor."
    ),
    partitioned_by=("ranker", "report_batch"),
    per_study=True,
    explained=True,
    released="as stored",
    key=("number",),
    columns=(
        POSITION,
        STUDY,
        row_id("finding_id", "Row concerned"),
        code("event", "What happened to the row", _EVENTS),
        code("stage", "Where it happened", ("deduplicate", "expand", "resolve")),
        code("rule", "Rule that decided", RESOLUTION_RULES),
        code(
            "conflict_type",
            "Type of the conflict, or none",
            (*CONFLICT_TYPES, "none"),
        ),
        code("source", "Kind of the row", _SOURCES),
        row_id(
            "survivor_id",
            "Row that stands for it now; null when none does",
            nullable=True,
        ),
        CANONICAL_NAME,
        STATUS,
        PAST_OR_CURRENT,
        LOCATION_SET,
        optional_probability("support", "Support of the row"),
        text(
            "reference",
            "Of a lost reference the row referred to",
        ),
    ),
)

SET_ASIDE = Table(
    name="set_aside",
    description=(
        "Studies of which a row broke a rule: each is set aside whole, and is in "
        "no later table and no label."
    ),
    partitioned_by=("ranker", "report_batch"),
    explained=True,
    released="as stored",
    key=("study_id", "step", "table", "rule"),
    columns=(
        STUDY,
        ANY_SUBJECT,
        text("step", "Step that was making the table", pattern=SOME_TEXT),
        text("table", "Table whose rule it is", pattern=SOME_TEXT),
        text("rule", "The rule, in words", pattern=SOME_TEXT),
        listed("finding_ids", "Findings that break it; none where no finding does"),
        text("found", "Numbers and codes of the first of these rows; never a text"),
    ),
)

LUNGUAGE_PLUS_PLUS = Table(
    name="lunguage_plus_plus",
    description=(
        "Lunguage++: stated and implied findings with probabilities, "
        "contradictions resolved."
    ),
    partitioned_by=("ranker", "report_batch"),
    per_study=True,
    explained=True,
    released="combined",
    key=("finding_id",),
    columns=(
        integer(
            "idx",
            "Number of the row inside its study, generated rows after the stated ones",
        ),
        *FINDING,
        *BELIEF,
        code("source", "Stated in the report, or generated from a pathway", _SOURCES),
        row_id(
            "parent_id", "Finding id of the parent; null for stated rows", nullable=True
        ),
        row_id(
            "root_id",
            "The stated diagnosis at the top; of stated rows their own id",
            A_STATED_ROW,
        ),
        PATHWAY_ID,
        PATHWAY,
        code("match_reason", "Why the row has a pathway or none", MATCH_REASONS),
        listed("merged_ids", "Rows that this one stands for, sorted"),
        text("encoder", "Sentence encoder and revision used for merging"),
        MODE,
        text("ranking_version", "Ranking that the probabilities come from"),
    ),
    ordered=(INTERVAL,),
    unique=(("study_id", "idx"),),
    present=(Where("parent_id", "source", ("expansion",)),),
    only=(
        Where("sent", "source", ("original",)),
        Where("prob_is_bound", "source", ("expansion",)),
    ),
    constant=("ranking_version", "mode"),
)

ACCOUNTING = Table(
    name="accounting",
    description=(
        "Per study: rows in = originals out + merged + removed + excluded + "
        "rejected + set aside, exactly."
    ),
    partitioned_by=("ranker", "report_batch"),
    per_study=True,
    explained=True,
    released="as stored",
    key=("study_id",),
    columns=(
        replace(STUDY, pattern=whole(A_STUDY, or_empty=True)),
        integer("rows_in", "Delivered rows"),
        integer("originals_out", "Stated rows in the result"),
        integer("merged", "Rows merged into another"),
        integer("removed", "Rows removed by conflict resolution"),
        integer("excluded", "History rows left out"),
        integer("rejected", "Rows rejected on reading"),
        integer(
            "set_aside",
            "Rows of a study that was set aside, because a row broke a rule",
        ),
        integer("generated", "Rows generated from pathways"),
        integer("discarded", "Generated rows discarded by conflict resolution"),
        integer(
            "already_stated", "Implied sub-findings that the report already states"
        ),
        integer(
            "spoken_against", "Implied sub-findings that the report speaks against"
        ),
        integer("rows_out", "Rows in the result"),
        flag(
            "balanced",
            "Rows in add up, and rows_out = originals_out + generated - discarded",
            choices=(True,),
        ),
    ),
)
