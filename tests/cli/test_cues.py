"""`lunguage analyse --cues` counts rows by the cue that decided them."""

from __future__ import annotations

import duckdb
import pandas as pd

from lunguage_assets.packaged_data import resource


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
    queries = resource("run", "cues.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        connection.register(
            "structured_findings", findings.assign(structurer="rules", report_batch="b")
        )
        connection.register("report_texts", texts.assign(report_batch="b"))
        _, by_cue, by_word = [
            connection.execute(query).fetchall()
            for query in connection.extract_statements(queries)
        ]
    assert by_cue == [
        ("negated.no", 2, 0, 2, 0, 0),
        ("ended.resolved", 1, 0, 0, 0, 1),
        ("hedge.likely", 1, 0, 0, 0, 1),
        ("none", 1, 1, 0, 0, 0),
    ]
    assert by_word == [("unanswered.unknown xyz", 1, 0, 0, 1, 0)]
