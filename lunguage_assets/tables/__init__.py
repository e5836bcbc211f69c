"""Every table, declared once: its columns, its rules, and the facts about it.

What belongs here: one module for each half of the method (`corpus`, `explicit`,
`implicit`), for analyses and for releases; a new table is a `Table` in one of them.
What does not: how a table is made (`orchestration/assets`) and stored
(`workspace/store.py`).

Absent text is the empty string. References (`evidence`, `associate`) are lists of
tokens: the `finding_id` of a row of the same study, or `~name` for a bare name that
resolves to no row (implicit.md section 1).
"""

from __future__ import annotations

from lunguage_assets.tables import analyses, corpus, explicit, implicit
from lunguage_assets.tables.columns import ATTRIBUTES, SECTIONS, STATUSES, VIEWS
from lunguage_assets.tables.corpus import (
    FINDINGS,
    INTAKE_NOTES,
    REJECTED,
    REPORT_TEXTS,
    REPORTS,
    STRUCTURED_FINDINGS,
    TERMS,
)
from lunguage_assets.tables.explicit import (
    COMPARISON_MATCHES,
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
    SET_ASIDE,
)
from lunguage_assets.tables.released import RELEASE
from lunguage_assets.tables.schema import Table

# The tables of `released` are in releases alone.
_MODULES = (corpus, explicit, implicit, analyses)
TABLES = {
    table.name: table
    for module in _MODULES
    for table in vars(module).values()
    if isinstance(table, Table)
}
"""The tables of the store by name, in the order of the pipeline."""
