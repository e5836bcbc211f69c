"""Agreement of structurers: rows are matched by their words, then compared column by
column.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from stored_tables import plain_row

from lunguage_assets.structuring.agreement import GOLD, structuring_agreement
from lunguage_assets.tables.corpus import STRUCTURED_FINDINGS

SENTENCE = "Small opacity in the left base and an opacity at the right apex."


def row(number: int, ent: str, **fields: Any) -> dict[str, Any]:
    plain = {"study_id": "s00000001", "section": "find", "sent": SENTENCE}
    plain |= {"ent": ent, "normed_ent": ent, "status": "dp"}
    return plain_row(STRUCTURED_FINDINGS, ent_idx=number, **plain | fields)


def frame(*rows: dict[str, Any]) -> pd.DataFrame:
    return STRUCTURED_FINDINGS.frame(rows)


TWO = (
    row(1, "opacity", location="left base", measurement="small"),
    row(2, "opacity", location="right apex", status="tp"),
)


def compared(*frames: pd.DataFrame, gold: pd.DataFrame | None = None) -> pd.DataFrame:
    """Lines of the first comparison, by field."""
    names = [f"s{n}" for n in range(len(frames))]
    agreement = structuring_agreement(dict(zip(names, frames, strict=True)), gold)
    who = agreement[["structurer_1", "structurer_2"]].agg("|".join, axis=1)
    return agreement[who == who.iloc[0]].set_index("field")


def counts(agreement: pd.DataFrame, field: str) -> list[int]:
    return agreement.loc[field, ["first", "second", "agreed"]].tolist()


def test_rows_of_the_same_words_are_matched_by_their_locations() -> None:
    turned = (TWO[1] | {"ent_idx": 1}, TWO[0] | {"ent_idx": 2})
    agreement = compared(frame(*TWO), frame(*turned))
    assert counts(agreement, "finding") == [2, 2, 2]
    assert counts(agreement, "location") == [4, 4, 4]
    assert agreement.loc["status", ["f1", "kappa"]].tolist() == [1.0, 1.0]
    # All say one code: agreement by chance is whole.
    assert agreement.loc["cat", "f1"] == 1.0
    assert pd.isna(agreement.loc["cat", "kappa"])
    assert counts(agreement, "severity") == [0, 0, 0]
    assert pd.isna(agreement.loc["severity", "f1"])


def test_recall_of_one_reading_is_precision_of_the_other() -> None:
    more = (*TWO, row(3, "apex", status="dn"))
    less = (TWO[0] | {"status": "tn", "location": "base, lower", "measurement": ""},)
    agreement = compared(frame(*more), frame(*less))
    assert counts(agreement, "finding") == [3, 1, 1]
    assert agreement.loc["finding", ["precision", "recall"]].tolist() == [1.0, 1 / 3]
    assert counts(agreement, "status") == [3, 1, 0]
    assert agreement.loc["status", "f1"] == 0.0
    assert counts(agreement, "location") == [2, 2, 1]
    assert counts(agreement, "measurement") == [1, 0, 0]
    assert pd.isna(agreement.loc["measurement", "precision"])


def test_rows_are_matched_only_within_a_sentence_and_by_a_common_word() -> None:
    first = frame(row(1, "opacity"), row(2, "mass", section="impr", sent="A mass."))
    for other_row in (
        row(1, "density"),
        row(1, "opacity", study_id="s00000002"),
        row(1, "opacity", sent="No opacity."),
        row(1, "mass", sent="A mass."),
    ):
        assert compared(first, frame(other_row)).loc["finding", "agreed"] == 0


def test_gold_comes_first_counts_its_own_studies_and_finds_reworded_sentences() -> None:
    reworded = SENTENCE.replace(" an", "").upper()
    gold = frame(*(cells | {"sent": reworded} for cells in TWO))
    reading = frame(*TWO, row(1, "opacity", study_id="s00000002"))
    table = structuring_agreement({"a": reading, "b": reading}, gold)
    who = table[["structurer_1", "structurer_2"]].drop_duplicates()
    assert who.to_numpy().tolist() == [[GOLD, "a"], [GOLD, "b"], ["a", "b"]]
    assert counts(compared(reading, gold=gold), "finding") == [2, 2, 2]
    assert compared(reading, reading).loc["finding", "agreed"] == 3
