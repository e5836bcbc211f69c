"""Normal and abnormal of one part contradict each other; a denied kind does not."""

from __future__ import annotations

from typing import Any

import pytest
from invented_reports import in_mode, stated

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
    assert in_mode(rows, mode).rows.empty


def test_a_denied_kind_contradicts_no_statement() -> None:
    denied = "IMPRESSION: No loculated effusion."
    reading = lunguage_assets.read(f"FINDINGS: A layering effusion.\n\n{denied}")
    assert reading.findings["status"].tolist()[:2] == ["dp", "dn"]
    assert reading.conflicts.empty


def test_a_denied_exacerbation_is_denied_for_certain() -> None:
    text = "IMPRESSION: No acute exacerbation of heart failure."
    reading = lunguage_assets.read(text)
    assert reading.findings[["status", "prob"]].to_numpy().tolist() == [["dn", 0.0]]
    of_label = reading.labels[reading.labels["label"] == "congestive heart failure"]
    assert of_label["p_source"].tolist() == ["qualifier"]
