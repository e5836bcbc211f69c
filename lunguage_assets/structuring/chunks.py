"""Structuring of a chunk of reports by rules, for a process of its own (`cores.over_chunks`)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from lunguage_assets.structuring.contract import SectionedReport, Structurer
from lunguage_assets.structuring.rows import StructuredRows
from lunguage_assets.structuring.rules.structurer import RuleStructurer


def rules(terms: pd.DataFrame | None) -> tuple[Structurer]:
    """What `structured` needs: the offline structurer with a delivered vocabulary."""
    return (RuleStructurer(terms),)


def structured(reports: Sequence[SectionedReport], structurer: Structurer) -> tuple[pd.DataFrame, ...]:
    """STRUCTURED_FINDINGS, SENTENCE_ACCOUNTS and REFUSED_VALUES of these reports."""
    rows = StructuredRows()
    rows.add(reports, structurer.structure(reports))
    made = rows.tables()
    return made.structured_findings, made.sentence_accounts, made.refused_values
