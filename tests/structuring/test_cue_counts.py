"""Rows are counted by the cue that decided them."""

from __future__ import annotations

import pandas as pd

from lunguage_assets.structuring.cue_counts import rows_by_cue


def test_a_row_counts_once_for_each_cue_that_decided_it() -> None:
    rows = [
        ("1", "dn", "negated.no 0-2"),
        ("1", "dn", "negated.no 0-2; negated.no 5-7"),
        ("1", "tn", "ended.resolved 3-9; hedge.likely 0-2"),
        ("1", "dp", ""),
        ("1", "tp", "unanswered.unknown 3-6"),
    ]
    findings = pd.DataFrame(rows, columns=["study_id", "status", "cues"])
    texts = pd.DataFrame({"study_id": ["1"], "report": ["No Xyz edema"]})
    assert rows_by_cue(findings, texts).to_numpy().tolist() == [
        ["negated.no", 2, 0, 2, 0, 0],
        ["ended.resolved", 1, 0, 0, 0, 1],
        ["hedge.likely", 1, 0, 0, 0, 1],
        ["none", 1, 1, 0, 0, 0],
        ["unanswered.unknown xyz", 1, 0, 0, 1, 0],
    ]
