"""The schema of every stored table, and nothing else.

One schema per table; the Parquet types, validations, expectation suites, data dictionary and UI column lists come from here. Absent
text is the empty string. References (`evidence`, `associate`) are lists of tokens: the `finding_id` of a row of the same study,
or `~name` for a bare name that resolves to no row (implicit.md section 1).
"""

from __future__ import annotations

from lunguage_assets.schema import Column, Table

SECTIONS = ("hist", "find", "impr")
STATUSES = ("dp", "dn", "tp", "tn")
CATEGORIES = ("PF", "CF", "OTH", "COF", "NCD", "PATIENT INFO.")
CURRENCIES = ("current dx", "past dx")
P_SOURCES = ("definitive", "fitted", "phrase", "none")
VIEWS = ("ap", "pa", "lateral", "erect", "supine", "recumbent")
CONFLICT_TYPES = ("polarity", "certainty_pos", "certainty_neg", "duplicate_pos", "duplicate_neg", "repeat_dp", "repeat_dn")
CONFLICT_SOURCES = ("original-original", "original-expansion", "expansion-expansion")
MATCH_REASONS = (
    "matched",
    "not a diagnosis",
    "history section",
    "past diagnosis",
    "negative",
    "merged",
    "no information on certainty",
    "device",
    "unknown view",
    "view not covered",
    "no pathway for this refinement",
)
"""Closed list: `matched`, or why a finding has no pathway that expands (implicit.md section 3)."""

ATTRIBUTES: dict[str, str] = {
    "placement": "placement",
    "morphology": "morphology",
    "distribution": "distribution",
    "measurement": "measurement",
    "severity": "severity",
    "comparison": "comparison",
    "onset": "onset",
    "no_change": "no change",
    "improved": "improved",
    "worsened": "worsened",
    "past_hx": "past hx",
    "other_source": "other source",
    "assessment_limitations": "assessment limitations",
}
"""Internal column -> published column of the 13 attributes, in the order of Lunguage.csv."""


def _text(name: str, description: str, *, restricted: bool = False, nullable: bool = False) -> Column:
    return Column(name, "string", description, nullable=nullable, restricted=restricted)


def _probability(name: str, description: str, *, nullable: bool = False) -> Column:
    return Column(name, "float", description, minimum=0.0, maximum=1.0, nullable=nullable)


_STUDY = _text("study_id", "Study, 's' and eight digits")
_FINDING_ID = _text("finding_id", "Stable identity of the row: study:row number; a generated row appends /edge to its parent's")

FINDING: tuple[Column, ...] = (
    _FINDING_ID,
    _text("subject_id", "Patient, 'p' and eight digits"),
    _STUDY,
    Column("sequence", "int", "1-based rank of the study in the patient's time line", minimum=0),
    Column("section", "string", "Report section: history, findings or impression", choices=SECTIONS),
    Column("sent_idx", "int", "Number of the sentence in its section", minimum=0),
    _text("sent", "Sentence of the report; empty in generated rows", restricted=True),
    Column("ent_idx", "int", "Number of the finding inside its section (repeats across sections)", minimum=0),
    _text("ent", "Finding as the report words it"),
    _text("name", "Finding in the vocabulary's canonical form, lower case (never the diagnosis)"),
    Column("cat", "string", "Lunguage category code, upper case", choices=CATEGORIES),
    Column("status", "string", "Certainty initial + polarity initial: dp, dn, tp, tn", choices=STATUSES),
    _text("location", "Location as the report words it, comma-separated"),
    Column("location_parts", "strings", "Location set: vocabulary-normalised comma parts, sorted, distinct"),
    *(_text(column, f"Attribute '{published}', comma-separated") for column, published in ATTRIBUTES.items()),
    Column("evidence", "strings", "References to rows that support this one: finding ids, or ~bare names"),
    Column("associate", "strings", "References to rows that this one goes with: finding ids, or ~bare names"),
    Column("currency", "string", "Past or current diagnosis (DxTP)", choices=CURRENCIES),
    _text("view_information", "Projections and postures of the study, comma-joined in fixed order; empty when unknown"),
)
"""Columns that every table of findings shares."""

FINDING_COLUMNS: tuple[str, ...] = tuple(column.name for column in FINDING)

REPORTS = Table(
    "reports",
    "One row per study of the batch: the full report and what is known of its views.",
    (
        _STUDY,
        _text("subject_id", "Patient, 'p' and eight digits"),
        Column("sequence", "int", "1-based rank of the study in the patient's time line", minimum=0),
        _text("report", "Full report text", restricted=True),
        _text("view_information", "Projections and postures, comma-joined in fixed order; empty when unknown"),
        Column(
            "view_source",
            "string",
            "Where the views come from",
            choices=("metadata", "procedure text", "default_view", "unknown"),
        ),
        Column("rows_delivered", "int", "Rows of this study in the delivered file, rejected ones included", minimum=0),
        Column("rows_rejected", "int", "Rows of this study that were rejected", minimum=0),
    ),
    ("study_id",),
)

FINDINGS = Table(
    "findings",
    "Validated rows of the delivered reports: status, views, currency, and the sentence with the finding masked.",
    (
        *FINDING,
        Column("row", "int", "Row number of the delivered file (its unnamed first column)"),
        _text(
            "masked_sentence",
            "Sentence with every mention of the finding as <finding>; null when not located",
            restricted=True,
            nullable=True,
        ),
        Column(
            "mask_state",
            "string",
            "masked: located in its sentence; not located: needs a person; not needed: definitive or history row",
            choices=("masked", "not located", "not needed"),
        ),
        Column("same_name_in_sentence", "bool", "Another finding of the same name masks this sentence identically"),
    ),
    ("finding_id",),
)

REJECTED = Table(
    "rejected",
    "Delivered rows that cannot be used, with the reason; nothing else was changed by their absence.",
    (
        _text("file", "Delivered file"),
        Column("line", "int", "1-based data row in the file (the header is not counted)", minimum=1),
        _text("study_id", "Study the row names, as far as it can be read; else empty"),
        _text("column", "Column that is wrong"),
        _text("found", "What was found there, cut to 80 characters", restricted=True),
        _text("expected", "What was expected"),
        _text("remedy", "What to do"),
        _text("reason", "Short reason code, for counting"),
        _text("content", "The whole delivered row as JSON, so that it can be mended", restricted=True),
    ),
    ("file", "line"),
)

INTAKE_NOTES = Table(
    "intake_notes",
    "What was mended or noticed while reading: bare references, unlocated findings, unknown views, missing optional files.",
    (
        Column("number", "int", "Position in the list", minimum=0),
        _text("file", "Delivered file"),
        Column("line", "int", "1-based data row, or null when the note is about the whole file", nullable=True, minimum=1),
        _text("study_id", "Study concerned, or empty"),
        _text("finding_id", "Finding concerned, or empty"),
        _text("column", "Column concerned, or empty"),
        _text("reason", "Short reason code, for counting"),
        _text("found", "What was found, cut to 80 characters", restricted=True),
        _text("done", "What was done about it, or what a person can do"),
    ),
    ("number",),
)

TERMS = Table(
    "terms",
    "The delivered vocabulary (Lunguage_vocab.csv): spellings and their canonical forms; empty when none was delivered.",
    (
        _text("category", "One of the six category codes, 'location', or an attribute name"),
        _text("subcategory", "Path in the vocabulary's tree, separated by ' > '"),
        _text("target_term", "A spelling, lower case"),
        _text("normed_term", "Its canonical form, lower case"),
    ),
    ("category", "target_term", "normed_term", "subcategory"),
)

HEDGE_PHRASES = Table(
    "hedge_phrases",
    "Words by which each tentative finding is hedged in its sentence, and which pairs a person should look at.",
    (
        _FINDING_ID,
        _STUDY,
        _text("ent", "Finding as the report words it"),
        _text("sent", "Sentence of the report", restricted=True),
        _text("masked_sentence", "Sentence with the finding masked; null when not located", restricted=True, nullable=True),
        Column("phrases", "strings", "Hedging phrases about this finding, lower case, in order of appearance"),
        Column("dropped", "strings", "Extracted phrases that the filters dropped (they state a measurement, severity or onset)"),
        Column("answer_state", "string", "Whether the extractor's answer could be read", choices=("valid", "invalid")),
        Column("corrected", "bool", "The corrections file overrides the extractor's answer"),
        Column("needs_review", "bool", "The pair is error-prone and nobody has reviewed it yet"),
        _text("review_reason", "Why a person should look: several phrases, no phrase, same name twice, not located, invalid answer"),
    ),
    ("finding_id",),
)

HEDGE_VOCABULARY = Table(
    "hedge_vocabulary",
    "Hedging phrases with the sentences that show them; the retained ones (ten examples or more) are compared and ranked.",
    (
        _text("phrase", "Hedging phrase, lower case"),
        Column("n_examples", "int", "Times the phrase was extracted", minimum=0),
        Column("retained", "bool", "The phrase is part of the measuring stick"),
        _text("reason", "Why a phrase is not retained, else empty"),
        Column("example_ids", "strings", "Finding ids of the usable examples, sorted"),
        Column("example_sentences", "strings", "Masked sentences of the usable examples, in the order of example_ids", restricted=True),
        Column("ruler", "string", "own: from this corpus; published: the paper's 42 phrases", choices=("own", "published")),
        _text("vocabulary_version", "Hash of the retained phrases and their examples"),
    ),
    ("phrase",),
)

COMPARISON_MATCHES = Table(
    "comparison_matches",
    "Every answer of one judge: which of two masked sentences is closer to 'finding certainly present'. Empty for the published ruler.",
    (
        _text("match_id", "Hash of phrases and repetition; the same for every judge"),
        _text("phrase_a", "Phrase that comes first in the alphabet"),
        _text("phrase_b", "Phrase that comes second"),
        Column("repetition", "int", "0-based number of the comparison of this phrase pair", minimum=0),
        _text("sentence_a", "Masked example sentence of phrase_a", restricted=True),
        _text("sentence_b", "Masked example sentence of phrase_b", restricted=True),
        Column("swapped", "bool", "phrase_b was shown as sentence_1"),
        Column("answer", "string", "What the judge said", choices=("sentence_1", "sentence_2", "invalid")),
        _text("winner", "Phrase judged more certain; null for an invalid answer", nullable=True),
        _text("vocabulary_version", "Vocabulary that the match belongs to"),
    ),
    ("match_id",),
)

REFERENCE_RANKING = Table(
    "reference_ranking",
    "The measuring stick: hedging phrases ranked from most to least certain by TrueSkill.",
    (
        _text("phrase", "Hedging phrase"),
        Column("rank", "int", "0 = most certain", minimum=0),
        Column("mu", "float", "TrueSkill mean, averaged over random orders (prior 25)"),
        Column("sigma", "float", "TrueSkill deviation, averaged over random orders (a steady state, not an error bar)", minimum=0.0),
        Column("mu_sd", "float", "Standard deviation of mu over the bootstrap of sentence pairs", minimum=0.0),
        Column("mu_low", "float", "2.5% quantile of mu over the bootstrap"),
        Column("mu_high", "float", "97.5% quantile of mu over the bootstrap"),
        Column("rank_low", "float", "2.5% quantile of the rank over the bootstrap"),
        Column("rank_high", "float", "97.5% quantile of the rank over the bootstrap"),
        Column("n_matches", "int", "Valid matches that the phrase played", minimum=0),
        Column(
            "win_rate", "float", "Share of its valid matches that it won; null without matches", nullable=True, minimum=0.0, maximum=1.0
        ),
        Column("judges", "strings", "Judges of the ranker, in panel order: they fit, and with an own ruler they made the ranking"),
        Column("ruler", "string", "own or published", choices=("own", "published")),
        _text("vocabulary_version", "Vocabulary that was ranked"),
        _text("ranking_version", "Hash of the matches, of who the judges are, and of the constants"),
    ),
    ("phrase",),
)

FITTED_PROBABILITIES = Table(
    "fitted_probabilities",
    "Every tentative finding placed in the ranking and mapped to a probability that the finding is present, with an interval.",
    (
        _FINDING_ID,
        _STUDY,
        Column("phrases", "strings", "Hedging phrases extracted for the pair"),
        _text("sentence_key", "Hash of the masked sentence: identical masked sentences are fitted once; empty when unmaskable"),
        Column("same_name_in_sentence", "bool", "Another finding of the same name masks this sentence identically"),
        Column("mu", "float", "Fitted position on the ranking; null when not fitted", nullable=True),
        Column("sigma", "float", "TrueSkill deviation of the fit; null when not fitted", nullable=True, minimum=0.0),
        Column("rank", "int", "Reference phrases above it (0-based); null when not fitted", nullable=True, minimum=0),
        Column("steps", "int", "Opponents played", minimum=0, maximum=110),
        Column("answers", "int", "Valid answers used", minimum=0),
        Column("invalid_answers", "int", "Invalid answers left out", minimum=0),
        Column(
            "stop",
            "string",
            "Why the fit ended",
            choices=("stable rank", "step limit", "no opponent left", "no valid answers", "not located"),
        ),
        _probability("p", "Probability that the finding is present"),
        _probability("p_low", "Lower end of the 95% interval of p"),
        _probability("p_high", "Upper end of the 95% interval of p"),
        Column("p_source", "string", "fitted, from the phrases' mean mu, or no information", choices=("fitted", "phrase", "none")),
        Column("ruler", "string", "own or published", choices=("own", "published")),
        _text("ranking_version", "Ranking that the fit was made with"),
    ),
    ("finding_id",),
)

_BELIEF: tuple[Column, ...] = (
    _probability("prob", "Probability that the finding is present"),
    _probability("p_low", "Lower end of the interval of prob"),
    _probability("p_high", "Upper end of the interval of prob"),
    _probability("support", "How strongly the row is claimed: p for positive, 1 - p for negative, the parent's for a generated row"),
    Column("p_source", "string", "Where prob comes from", choices=(*P_SOURCES, "pathway")),
    Column("prob_is_bound", "bool", "prob follows from a pathway: a bound, not an estimate"),
)

DEDUPLICATED_FINDINGS = Table(
    "deduplicated_findings",
    "Findings with their probability; rows that say the same thing are merged into one survivor and marked, nothing is rewritten.",
    (
        *FINDING,
        *_BELIEF,
        Column(
            "disposition",
            "string",
            "kept: goes on; merged: says the same as its survivor; excluded: history row",
            choices=("kept", "merged", "excluded"),
        ),
        _text("merged_into", "Finding id of the survivor; null unless merged", nullable=True),
        _probability("merge_similarity", "Highest rounded cosine to a member of the survivor's group; null unless merged", nullable=True),
        Column("merged_ids", "strings", "Finding ids merged into this row, sorted"),
        _text("encoder", "Sentence encoder and revision that measured similarity"),
    ),
    ("finding_id",),
)

PATHWAY_MATCHES = Table(
    "pathway_matches",
    "For every finding, the expert pathway that it matches or the reason why it has none.",
    (
        _FINDING_ID,
        _STUDY,
        _text("name", "Finding in canonical form"),
        _text("diagnosis", "Diagnosis of the pathway dictionary, or empty"),
        Column("refinements", "strings", "Refinement words that applied, most specific first"),
        _text("pathway_id", "Matched pathway, or empty"),
        _text("pathway", "Matched pathway in the paper's notation, or empty"),
        Column("reason", "string", "matched, or why nothing expands", choices=MATCH_REASONS),
        Column("generated", "bool", "The finding is itself a generated sub-finding"),
    ),
    ("finding_id",),
)

EXPANSIONS = Table(
    "expansions",
    "Sub-findings that stated diagnoses imply: generated rows, and those that the report already states.",
    (
        *FINDING,
        *_BELIEF,
        Column(
            "outcome",
            "string",
            "generated: a new row; already stated: suppressed by an existing row",
            choices=("generated", "already stated"),
        ),
        _text("linked_to", "Finding id of the existing row that already states it; null when generated", nullable=True),
        _text("parent_id", "Finding id of the immediate parent"),
        _text("root_id", "Finding id of the stated diagnosis at the top"),
        _text("parent_pathway_id", "Pathway of the parent that implies this row"),
        Column("edge", "int", "0-based number of the sub-finding in that pathway", minimum=0),
        Column("depth", "int", "1 for a child of a stated diagnosis, 2 for its child...", minimum=1),
    ),
    ("finding_id",),
)

CONFLICTS = Table(
    "conflicts",
    "Groups of rows about the same finding at the same place and time, before resolution, by type and source of the disagreement.",
    (
        Column("number", "int", "Position in the list", minimum=0),
        _STUDY,
        Column("currency", "string", "Past or current", choices=CURRENCIES),
        _text("name", "Finding in canonical form"),
        Column("location_parts", "strings", "Location set"),
        Column("conflict_type", "string", "How the rows disagree or repeat", choices=CONFLICT_TYPES),
        Column("source", "string", "Which kinds of rows meet", choices=CONFLICT_SOURCES),
        Column("finding_ids", "strings", "Rows of the group that take part, sorted"),
        Column("suppressed", "bool", "The generated row was never added: an existing row of other certainty already states it"),
    ),
    ("number",),
)

RESOLUTION_LOG = Table(
    "resolution_log",
    "Every row that is not in the result, every reference that was lost, with the rule, the conflict and the survivor.",
    (
        Column("number", "int", "Position in the log", minimum=0),
        _STUDY,
        _text("finding_id", "Row concerned"),
        Column(
            "event",
            "string",
            "What happened to the row",
            choices=("merged", "removed", "excluded", "discarded", "already stated", "reference lost"),
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
                "parent gone",
                "target gone",
            ),
        ),
        Column("conflict_type", "string", "Type of the conflict, or none", choices=(*CONFLICT_TYPES, "none")),
        Column("source", "string", "Kind of the row", choices=("original", "expansion")),
        _text("survivor_id", "Row that stands for it now; null when none does", nullable=True),
        _text("name", "Finding in canonical form"),
        Column("status", "string", "Status of the row", choices=STATUSES),
        Column("location_parts", "strings", "Location set"),
        _probability("support", "Support of the row", nullable=True),
        _text("reference", "For a lost reference: the finding id that the row referred to; else empty"),
    ),
    ("number",),
)

LUNGUAGE_PLUS_PLUS = Table(
    "lunguage_plus_plus",
    "Lunguage++: stated and implied findings with probabilities, contradictions resolved, every row traceable.",
    (
        Column("idx", "int", "Number of the row inside its study, generated rows after the stated ones", minimum=0),
        *FINDING,
        *_BELIEF,
        Column("source", "string", "Stated in the report, or generated from a pathway", choices=("original", "expansion")),
        _text("parent_id", "Finding id of the parent; null for stated rows", nullable=True),
        _text("root_id", "Finding id of the stated diagnosis at the top; its own id for stated rows"),
        _text("pathway_id", "Matched pathway, or empty"),
        _text("pathway", "Matched pathway in the paper's notation, or empty"),
        Column("match_reason", "string", "Why the row has a pathway or none", choices=MATCH_REASONS),
        Column("merged_ids", "strings", "Rows that this one stands for, sorted"),
        _text("encoder", "Sentence encoder and revision used for merging"),
        _text("ranking_version", "Ranking that the probabilities come from"),
    ),
    ("finding_id",),
)

ACCOUNTING = Table(
    "accounting",
    "Per study: rows in = originals out + merged + removed + excluded + rejected, exactly.",
    (
        _text("study_id", "Study; empty for rejected rows whose study cannot be read"),
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
                "rows_out": "Rows in the result",
            }.items()
        ),
        Column("balanced", "bool", "Both equations hold: rows in, and rows_out = originals_out + generated - discarded"),
    ),
    ("study_id",),
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        REPORTS,
        FINDINGS,
        REJECTED,
        INTAKE_NOTES,
        TERMS,
        HEDGE_PHRASES,
        HEDGE_VOCABULARY,
        COMPARISON_MATCHES,
        REFERENCE_RANKING,
        FITTED_PROBABILITIES,
        DEDUPLICATED_FINDINGS,
        PATHWAY_MATCHES,
        EXPANSIONS,
        CONFLICTS,
        RESOLUTION_LOG,
        LUNGUAGE_PLUS_PLUS,
        ACCOUNTING,
    )
}

PUBLISHED_COLUMNS: tuple[str, ...] = (
    "idx", "subject_id", "study_id", "sequence", "section", "sent", "ent", "cat", "prob", "status", "location", "evidence",
    "associate", "morphology", "distribution", "measurement", "severity", "comparison", "onset", "no change", "improved",
    "worsened", "placement", "past hx", "other source", "assessment limitations", "report", "view_information", "pathway", "DxTP",
)  # fmt: skip
"""Columns of the published Lunguage++ CSV, in order (implicit.md section 6)."""


RELEASE = Table(
    "release",
    "The released Parquet: Lunguage++ with the provenance of every row.",
    (
        *LUNGUAGE_PLUS_PLUS.columns,
        _text("report_batch", "Batch that delivered the released version of the study"),
        _text("ranker", "Ranker whose probabilities these are"),
        Column("judges", "strings", "Judges of the ranker, in panel order"),
        Column("ruler", "string", "own: ranked on this corpus; published: the paper's ranking", choices=("own", "published")),
    ),
    ("finding_id",),
)
