"""Tables of the implicit half: merged and implied findings, contradictions, the result.

`docs/method/implicit.md` has the steps.
"""

from __future__ import annotations

from dataclasses import replace

from lunguage_assets.tables import columns as c
from lunguage_assets.tables.columns import (
    code,
    flag,
    integer,
    listed,
    probability,
    row_id,
    text,
    whole,
)
from lunguage_assets.tables.schema import Column, Table, Where

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
    "attributes exclude each other",
    "target gone",
)
_EVENTS = (
    "merged",
    "removed",
    "excluded",
    "discarded",
    "already stated",
    "spoken against",
    "cell kept apart",
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
    counted="disposition",
    explained=True,
    key=("finding_id",),
    columns=(
        *c.STATED_FINDING,
        *c.BELIEF,
        code(
            "disposition",
            "kept: goes on; merged: says the same as its survivor; excluded: history "
            "row",
            ("kept", "merged", "excluded"),
        ),
        row_id(
            "merged_into",
            "Finding id of the survivor; null unless merged",
            c.A_STATED_ROW,
            nullable=True,
        ),
        probability(
            "merge_similarity",
            "Highest cosine to the survivor's group; null unless merged by it",
            nullable=True,
        ),
        listed("merged_ids", "Finding ids merged into this row, sorted"),
        text("encoder", "Sentence encoder and revision that measured similarity"),
        c.MODE,
    ),
    ordered=(c.INTERVAL,),
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
        c.FINDING_ID,
        c.STUDY,
        c.CANONICAL_NAME,
        text("diagnosis", "Diagnosis of the pathway dictionary, or empty"),
        listed("refinements", "Refinement words that applied, most specific first"),
        c.PATHWAY_ID,
        c.PATHWAY,
        code("reason", "matched, or why nothing expands", c.MATCH_REASONS),
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
    counted="outcome",
    explained=True,
    key=("finding_id",),
    columns=(
        *c.GENERATED_FINDING,
        *c.BELIEF,
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
            c.A_STATED_ROW,
            nullable=True,
        ),
        row_id("parent_id", "Finding id of the immediate parent"),
        row_id(
            "root_id", "Finding id of the stated diagnosis at the top", c.A_STATED_ROW
        ),
        text("parent_pathway_id", "Pathway of the parent that implies this row"),
        integer("edge", "0-based number of the sub-finding in that pathway"),
        integer("depth", "1 for a child of a stated diagnosis, 2 for its child...", 1),
    ),
    ordered=(c.INTERVAL,),
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
        c.POSITION,
        c.STUDY,
        c.PAST_OR_CURRENT,
        c.CANONICAL_NAME,
        c.LOCATION_SET,
        code("conflict_type", "How the rows disagree or repeat", c.CONFLICT_TYPES),
        code("source", "Which kinds of rows meet", c.CONFLICT_SOURCES),
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
        c.POSITION,
        c.STUDY,
        row_id("finding_id", "Row concerned"),
        code("event", "What happened to the row", _EVENTS),
        code("stage", "Where it happened", ("deduplicate", "expand", "resolve")),
        code("rule", "Rule that decided", RESOLUTION_RULES),
        code(
            "conflict_type",
            "Type of the conflict, or none",
            (*c.CONFLICT_TYPES, "none"),
        ),
        code("source", "Kind of the row", _SOURCES),
        row_id(
            "survivor_id",
            "Row that stands for it now; null when none does",
            nullable=True,
        ),
        c.CANONICAL_NAME,
        c.STATUS,
        c.PAST_OR_CURRENT,
        c.LOCATION_SET,
        probability("support", "Support of the row", nullable=True),
        text(
            "reference",
            "Of a lost reference the row referred to, of a cell kept apart column and "
            "words",
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
        c.STUDY,
        c.ANY_SUBJECT,
        text("step", "Step that was making the table", pattern=c.SOME_TEXT),
        text("table", "Table whose rule it is", pattern=c.SOME_TEXT),
        text("rule", "The rule, in words", pattern=c.SOME_TEXT),
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
    counted="status",
    explained=True,
    released="combined",
    key=("finding_id",),
    columns=(
        integer(
            "idx",
            "Number of the row inside its study, generated rows after the stated ones",
        ),
        *c.FINDING,
        *c.BELIEF,
        code("source", "Stated in the report, or generated from a pathway", _SOURCES),
        row_id(
            "parent_id", "Finding id of the parent; null for stated rows", nullable=True
        ),
        row_id(
            "root_id",
            "The stated diagnosis at the top; of stated rows their own id",
            c.A_STATED_ROW,
        ),
        c.PATHWAY_ID,
        c.PATHWAY,
        code("match_reason", "Why the row has a pathway or none", c.MATCH_REASONS),
        listed("merged_ids", "Rows that this one stands for, sorted"),
        text("encoder", "Sentence encoder and revision used for merging"),
        c.MODE,
        text("ranking_version", "Ranking that the probabilities come from"),
    ),
    ordered=(c.INTERVAL,),
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
        replace(c.STUDY, pattern=whole(c.A_STUDY, or_empty=True)),
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
        Column(
            "balanced",
            "bool",
            "Rows in add up, and rows_out = originals_out + generated - discarded",
            choices=(True,),
        ),
    ),
)
