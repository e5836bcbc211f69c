"""The schema of every stored table, and nothing else: one module per half of the method, all names here.

One schema per table; the Parquet types, validations, expectation suites, data dictionary and UI column lists come from here. Absent
text is the empty string. References (`evidence`, `associate`) are lists of tokens: the `finding_id` of a row of the same study,
or `~name` for a bare name that resolves to no row (implicit.md section 1).
"""

from __future__ import annotations

from lunguage_assets.schema import Table
from lunguage_assets.tables.columns import (
    ATTRIBUTES,
    CATEGORIES,
    CONFLICT_SOURCES,
    CONFLICT_TYPES,
    CURRENCIES,
    FINDING,
    FINDING_COLUMNS,
    MATCH_REASONS,
    P_SOURCES,
    SECTIONS,
    STATUSES,
    VIEWS,
)
from lunguage_assets.tables.corpus import FINDINGS, INTAKE_NOTES, REJECTED, REPORTS, TERMS
from lunguage_assets.tables.explicit import COMPARISON_MATCHES, FITTED_PROBABILITIES, HEDGE_PHRASES, HEDGE_VOCABULARY, REFERENCE_RANKING
from lunguage_assets.tables.implicit import (
    ACCOUNTING,
    CONFLICTS,
    DEDUPLICATED_FINDINGS,
    EXPANSIONS,
    LUNGUAGE_PLUS_PLUS,
    PATHWAY_MATCHES,
    RESOLUTION_LOG,
)
from lunguage_assets.tables.released import PUBLISHED_COLUMNS, RELEASE

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
"""The tables of the store by name, in the order of the pipeline."""

__all__ = [
    "ACCOUNTING",
    "ATTRIBUTES",
    "CATEGORIES",
    "COMPARISON_MATCHES",
    "CONFLICTS",
    "CONFLICT_SOURCES",
    "CONFLICT_TYPES",
    "CURRENCIES",
    "DEDUPLICATED_FINDINGS",
    "EXPANSIONS",
    "FINDING",
    "FINDINGS",
    "FINDING_COLUMNS",
    "FITTED_PROBABILITIES",
    "HEDGE_PHRASES",
    "HEDGE_VOCABULARY",
    "INTAKE_NOTES",
    "LUNGUAGE_PLUS_PLUS",
    "MATCH_REASONS",
    "PATHWAY_MATCHES",
    "PUBLISHED_COLUMNS",
    "P_SOURCES",
    "REFERENCE_RANKING",
    "REJECTED",
    "RELEASE",
    "REPORTS",
    "RESOLUTION_LOG",
    "SECTIONS",
    "STATUSES",
    "TABLES",
    "TERMS",
    "VIEWS",
]
