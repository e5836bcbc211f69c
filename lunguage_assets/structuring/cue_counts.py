"""Rows by the cue that decided them: `docs/method/assertion.md` lists the cues.

So that a person can call words of a corpus harmless, the words that left rows open are
counted, too.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd

from lunguage_assets.structuring.contract import UNANSWERED
from lunguage_assets.structuring.rows import read_cues
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


def rows_by_unread_word(findings: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Count the rows that words left open which no cue answered for, most rows first.

    Args:
        findings: `tables.STRUCTURED_FINDINGS`.
        texts: `tables.REPORT_TEXTS` of the same reports.

    Returns:
        Columns `word`, `why` (`unknown`, or `words` of doubt) and `rows`.
    """
    report_by_study = dict(zip(texts["study_id"], texts["report"], strict=True))
    unread = findings[findings["cues"].str.contains(UNANSWERED, regex=False)]
    words: list[tuple[str, str]] = []
    for study, cell in zip(unread["study_id"], unread["cues"], strict=True):
        uses = [use for use in read_cues(cell) if use.cue.startswith(UNANSWERED)]
        of_row = {
            (
                use.span.of(report_by_study[study]).lower(),
                use.cue.removeprefix(UNANSWERED),
            )
            for use in uses
        }
        words += of_row
    rows = [(*word, count) for word, count in Counter(words).most_common()]
    return pd.DataFrame(rows, columns=["word", "why", "rows"])
