"""Rows by the cue that decided them: `docs/method/assertion.md` lists the cues."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.structuring.contract import UNANSWERED
from lunguage_assets.structuring.rows import read_cues
from lunguage_assets.tables.columns import STATUSES
from lunguage_assets.tables.values import values_of


def rows_by_cue(findings: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Count rows by cue and status, the cue of most rows first.

    Of words that left a row open, and that no cue answers for, the cue is named with
    the word, so that a person can call it harmless: "unanswered.unknown xyz".

    Args:
        findings: `tables.STRUCTURED_FINDINGS` of a structurer that names cues.
        texts: `tables.REPORT_TEXTS` of the same reports.

    Returns:
        Columns `cue`, `rows` and one for each status. A row that several cues decided
        counts for each of them, a row that none decided for the cue "none".
    """
    report_by_study = dict(zip(texts["study_id"], texts["report"], strict=True))
    decided: list[tuple[str, str]] = []
    for study, status, cell in values_of(findings, "study_id", "status", "cues"):
        cues: set[str] = set()
        for use in read_cues(cell):
            word = use.span.of(report_by_study[study]).lower()
            is_word = use.cue.startswith(UNANSWERED)
            cues.add(f"{use.cue} {word}" if is_word else use.cue)
        decided += [(cue, status) for cue in cues or {"none"}]
    lines = pd.DataFrame(decided, columns=["cue", "status"])
    counts = pd.crosstab(lines["cue"], lines["status"])
    counts = counts.reindex(columns=list(STATUSES), fill_value=0)
    counts.insert(0, "rows", counts.sum(axis=1))
    return counts.sort_values("rows", ascending=False, kind="stable").reset_index()
