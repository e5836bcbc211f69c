"""The schema of every stored table, and nothing else: one module per half of the method, all names here.

One schema per table; the Parquet types, validations, expectation suites, data dictionary and UI column lists
come from here. Absent text is the empty string. References (`evidence`, `associate`) are lists of tokens: the
`finding_id` of a row of the same study, or `~name` for a bare name that resolves to no row (implicit.md
section 1).
"""

from __future__ import annotations

from lunguage_assets.tables.analyses import (
    CALIBRATION,
    EXPERT_AGREEMENT,
    FIT_VALIDATION,
    JUDGE_AGREEMENT,
    PATHWAY_AUDIT,
    RANKING_CORRELATIONS,
    RANKING_ROBUSTNESS,
)
from lunguage_assets.tables.columns import (
    ATTRIBUTES,
    CATEGORIES,
    CONFLICT_SOURCES,
    CONFLICT_TYPES,
    CURRENCIES,
    FINDING,
    FINDING_COLUMNS,
    MATCH_REASONS,
    MODES,
    P_SOURCES,
    SECTIONS,
    STATUSES,
    VIEWS,
)
from lunguage_assets.tables.corpus import FINDINGS, INTAKE_NOTES, REJECTED, REPORTS, TERMS
from lunguage_assets.tables.explicit import (
    COMPARISON_MATCHES,
    FIT_LOG,
    FITTED_PROBABILITIES,
    HEDGE_PHRASES,
    HEDGE_VOCABULARY,
    REFERENCE_RANKING,
)
from lunguage_assets.tables.implicit import (
    ACCOUNTING,
    CONFLICTS,
    DEDUPLICATED_FINDINGS,
    EXPANSIONS,
    LUNGUAGE_PLUS_PLUS,
    PATHWAY_MATCHES,
    RESOLUTION_LOG,
    SET_ASIDE,
)
from lunguage_assets.tables.released import PUBLISHED_COLUMNS, RELEASE
from lunguage_assets.tables.schema import Table
from lunguage_assets.tables.text import (
    READING_NOTES,
    REFUSED_VALUES,
    REJECTED_REPORTS,
    REPORT_SENTENCES,
    REPORT_TEXTS,
    SENTENCE_ACCOUNTS,
    STRUCTURED_FINDINGS,
    STRUCTURING_AGREEMENT,
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        REPORT_TEXTS, REPORT_SENTENCES, REJECTED_REPORTS, READING_NOTES,
        STRUCTURED_FINDINGS, SENTENCE_ACCOUNTS, REFUSED_VALUES, STRUCTURING_AGREEMENT,
        REPORTS, FINDINGS, REJECTED, INTAKE_NOTES, TERMS,
        HEDGE_PHRASES, HEDGE_VOCABULARY, COMPARISON_MATCHES, REFERENCE_RANKING, FITTED_PROBABILITIES, FIT_LOG,
        JUDGE_AGREEMENT, RANKING_CORRELATIONS, RANKING_ROBUSTNESS, FIT_VALIDATION, EXPERT_AGREEMENT,
        DEDUPLICATED_FINDINGS, PATHWAY_MATCHES, EXPANSIONS,
        CONFLICTS, RESOLUTION_LOG, LUNGUAGE_PLUS_PLUS, ACCOUNTING, SET_ASIDE,
        PATHWAY_AUDIT,
    )
}  # fmt: skip
"""The tables of the store by name, in the order of the pipeline."""
