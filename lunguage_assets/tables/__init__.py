"""The schema of every stored table, and nothing else: one module per half of the method, all names here.

One schema per table; the Parquet types, validations, expectation suites, data dictionary and UI column lists
come from here. Absent text is the empty string. References (`evidence`, `associate`) are lists of tokens: the
`finding_id` of a row of the same study, or `~name` for a bare name that resolves to no row (implicit.md
section 1).
"""

from __future__ import annotations

from lunguage_assets.tables import analyses, corpus, explicit, implicit
from lunguage_assets.tables.analyses import (
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
from lunguage_assets.tables.corpus import (
    FINDINGS,
    INTAKE_NOTES,
    READING_NOTES,
    REFUSED_VALUES,
    REJECTED,
    REJECTED_REPORTS,
    REPORT_SENTENCES,
    REPORT_TEXTS,
    REPORTS,
    SENTENCE_ACCOUNTS,
    STRUCTURED_FINDINGS,
    STRUCTURING_AGREEMENT,
    TERMS,
)
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
from lunguage_assets.tables.released import CALIBRATION, PUBLISHED_COLUMNS, RELEASE
from lunguage_assets.tables.schema import Table

_MODULES = (corpus, explicit, implicit, analyses)
TABLES = {
    table.name: table for module in _MODULES for table in vars(module).values() if isinstance(table, Table)
}
"""The tables of the store by name, in the order of the pipeline."""
