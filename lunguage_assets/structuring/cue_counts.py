"""Rows by the cue that decided them: `docs/method/assertion.md` lists the cues."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.tables.columns import STATUSES


def rows_by_cue(findings: pd.DataFrame) -> pd.DataFrame:
    """Count rows by cue and status, the cue of most rows first.

    Args:
        findings: `tables.STRUCTURED_FINDINGS` of a structurer that names cues.

    Returns:
        Columns `cue`, `rows` and one for each status. A row that several cues decided
        counts for each of them, a row that none decided for the cue "none".
    """
    # A cell is "negated.no 0-2; hedge.possible 10-18", as `rows.py` writes it.
    cues = findings["cues"].astype(object).str.findall(r"(?:^|; )(\S+)")
    # A cue that decided a row at two places of its sentence counts once.
    cues = cues.map(lambda names: sorted(set(names)) or ["none"])
    lines = findings[["status"]].assign(cue=cues).explode("cue")
    counts = lines.groupby(["cue", "status"]).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(STATUSES), fill_value=0)
    counts.insert(0, "rows", counts.sum(axis=1))
    return counts.sort_values("rows", ascending=False, kind="stable").reset_index()
