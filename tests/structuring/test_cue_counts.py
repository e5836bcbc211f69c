"""Rows are counted by the cue that decided them, and held against what people coded."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lunguage_assets.structuring.cue_counts import cue_counts, summed_cue_counts
from lunguage_assets.tables import ATTRIBUTES
from lunguage_assets.tables.corpus import STRUCTURED_FINDINGS


def row(number: int, status: str, cues: str) -> dict[str, Any]:
    finding = f"finding{number}"
    return {
        "study_id": "s00000001", "section": "find", "sent_idx": number, "sent": f"A {finding}.",
        "ent_idx": number, "ent": finding, "normed_ent": finding, "cat": "PF", "status": status,
        "location": "", "evidence": [], "associate": [], "spans": "ent 0-1", "cues": cues,
        **dict.fromkeys(ATTRIBUTES, ""),
    }  # fmt: skip


READ = STRUCTURED_FINDINGS.frame(
    [
        row(1, "dn", "negated.no 0-2"),
        row(2, "dn", "negated.no 0-2; negated.no 5-7"),
        row(3, "tn", "ended.resolved 3-9; hedge.likely 0-2"),
        row(4, "dp", ""),
    ]
)


def counted(
    reading: pd.DataFrame, gold: pd.DataFrame | None = None
) -> dict[str, dict[str, Any]]:
    counts = cue_counts({"rules": reading}, gold)
    return {str(line["cue"]): dict(line) for line in counts.to_dict("records")}


def test_a_row_counts_once_for_each_cue_that_decided_it() -> None:
    counts = counted(READ)
    assert {cue: line["rows"] for cue, line in counts.items()} == {
        "negated.no": 2, "ended.resolved": 1, "hedge.likely": 1, "": 1,
    }  # fmt: skip


def test_rows_are_counted_by_status() -> None:
    counts = counted(READ)
    assert [counts["negated.no"][status] for status in ("dp", "dn", "tp", "tn")] == [
        0,
        2,
        0,
        0,
    ]
    assert counts["hedge.likely"]["tn"] == 1


def test_the_cue_of_whose_rows_people_coded_most_otherwise_comes_first() -> None:
    gold = READ.assign(status=["dn", "dn", "dp", "dp"])
    counts = counted(READ, gold)
    assert list(counts)[:2] == ["ended.resolved", "hedge.likely"]
    assert (
        counts["ended.resolved"]["compared"],
        counts["ended.resolved"]["differing"],
    ) == (1, 1)
    assert counts["ended.resolved"]["first_differing"] == "s00000001 find:3"
    assert (counts["negated.no"]["compared"], counts["negated.no"]["differing"]) == (
        2,
        0,
    )


def test_rows_that_people_did_not_code_are_not_compared() -> None:
    counts = counted(READ, READ.iloc[[0]])
    assert (counts["negated.no"]["compared"], counts[""]["compared"]) == (1, 0)


def test_a_structurer_that_names_no_cue_is_left_out() -> None:
    assert cue_counts({"model": READ.assign(cues="")}).empty


def test_counts_of_batches_are_added_up() -> None:
    twice = summed_cue_counts([cue_counts({"rules": READ})] * 2).set_index("cue")
    assert twice.loc["negated.no", "rows"] == 4


def test_the_table_holds_no_words_of_a_report() -> None:
    assert "finding" not in cue_counts({"rules": READ}, READ).to_csv().replace(
        "first_differing", ""
    )
