"""Normal and abnormal of one part contradict each other; a denied kind does not."""

from __future__ import annotations

from typing import Any

import pytest
from invented_reports import run, stated

import lunguage_assets

ONE_AXIS = [
    [stated("heart", measurement="large"), stated("heart", "dn", measurement="normal size")],
    [stated("heart", measurement="large"), stated("heart", "dn", measurement="normal")],
    [stated("heart", morphology="lobulated"), stated("heart", "dn", measurement="normal in size and contour")],
    [stated("aorta"), stated("aorta", "dn", measurement="not dilated")],
    [stated("opacity", measurement="large"), stated("opacity", "dn", morphology="smooth")],
]  # fmt: skip


@pytest.mark.parametrize("mode", ["method", "paper"])
@pytest.mark.parametrize("rows", ONE_AXIS)
def test_normal_and_abnormal_of_a_part_contradict_each_other(
    rows: list[Any], mode: str
) -> None:
    assert run(rows, mode=mode).rows.empty


def test_a_denied_kind_contradicts_the_same_kind_and_no_other() -> None:
    denied = "IMPRESSION: No loculated effusion."
    kind = f"FINDINGS: A loculated effusion is seen.\n\n{denied}"
    free = f"FINDINGS: A layering effusion is seen.\n\n{denied}"
    assert lunguage_assets.read(kind).findings.empty
    assert lunguage_assets.read(free).findings["status"].tolist() == ["dp", "dn"]
    # What else is said of the finding stays, and doubt loses to a denial.
    beside = "FINDINGS: Loculated effusion. An effusion is layering.\n\n" + denied
    assert lunguage_assets.read(beside).findings["status"].tolist() == ["dp"]
    doubted = f"FINDINGS: Possible loculated effusion.\n\n{denied}"
    assert lunguage_assets.read(doubted).findings["status"].tolist() == ["dn"]


def test_a_denied_exacerbation_is_denied_for_certain() -> None:
    text = "IMPRESSION: No acute exacerbation of heart failure."
    reading = lunguage_assets.read(text)
    assert reading.findings[["status", "prob"]].to_numpy().tolist() == [["dn", 0.0]]
    of_label = reading.labels[reading.labels["label"] == "congestive heart failure"]
    assert of_label["p_source"].tolist() == ["qualifier"]


def test_what_outlives_its_denied_kind_meets_the_others_of_its_finding() -> None:
    rows = [
        stated("effusion", "tp", p=0.7, morphology="loculated"),
        stated("effusion", "tn", p=0.4, sent="Probably no loculated effusion.", morphology="loculated"),
        stated("effusion", "tp", p=0.6, sent_idx=9, measurement="small"),
    ]  # fmt: skip
    outcome = run(rows, mode="method")
    stated_rows = outcome.rows[outcome.rows["source"] == "original"]
    assert stated_rows["prob"].tolist() == [0.7]
    types = outcome.resolution.conflicts["conflict_type"].tolist()
    assert types == ["duplicate_pos", "polarity"]
