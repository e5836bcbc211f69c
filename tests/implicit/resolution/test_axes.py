"""What is normal of a part of the body along one axis does not contradict what is
abnormal along another.
"""

from __future__ import annotations

from typing import Any

import pytest
from invented_reports import in_mode, stated

import lunguage_assets

MODES = ("method", "paper")

TWO_AXES = [
    [stated("heart", measurement="large"), stated("heart", "dn", morphology="contour is normal")],
    [stated("aorta", morphology="elongated"), stated("aorta", "dn", measurement="not dilated")],
    [stated("trachea", "dn", morphology="midline"), stated("trachea", measurement="narrow")],
    [stated("hemidiaphragm", measurement="raised"), stated("hemidiaphragm", "dn", morphology="smooth")],
    [stated("hilum", measurement="prominent"), stated("hilum", "dn", morphology="normal density")],
]  # fmt: skip

ONE_AXIS = [
    [stated("heart", measurement="large"), stated("heart", "dn", measurement="normal size")],
    [stated("heart", measurement="large"), stated("heart", "dn", measurement="normal")],
    [stated("heart", morphology="lobulated"), stated("heart", "dn", measurement="normal in size and contour")],
    [stated("aorta"), stated("aorta", "dn", measurement="not dilated")],
    [stated("opacity", measurement="large"), stated("opacity", "dn", morphology="smooth")],
]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rows", TWO_AXES)
def test_rows_along_two_axes_both_stay(rows: list[Any], mode: str) -> None:
    outcome = in_mode(rows, mode)
    assert len(outcome.rows) == 2
    assert outcome.resolution.conflicts.empty


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rows", ONE_AXIS)
def test_rows_along_one_axis_or_none_contradict_each_other(
    rows: list[Any], mode: str
) -> None:
    assert in_mode(rows, mode).rows.empty


@pytest.mark.parametrize("mode", MODES)
def test_presences_along_two_axes_are_still_one_row(mode: str) -> None:
    rows = [
        stated("aorta", morphology="tortuous"),
        stated("aorta", morphology="calcified", section="impr"),
        stated("aorta", "dn", measurement="not dilated"),
    ]
    assert in_mode(rows, mode).rows["status"].tolist() == ["dn", "dp"]


READ = [
    ("The heart is slightly large; its contour is normal.", "cardiomegaly", "stated"),
    ("The heart is normal in size but globular in shape.", "cardiomegaly", "denied"),
    ("The mediastinum is widened with a smooth contour.", "enlarged cardiomediastinum", "stated"),
    ("The mediastinum is shifted to the left; it is not widened.", "enlarged cardiomediastinum", "denied"),
    ("The trachea is central but narrow.", "no finding", "denied"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "label", "source"), READ)
def test_a_label_asks_for_its_own_axis(sentence: str, label: str, source: str) -> None:
    labels = lunguage_assets.read(f"FINDINGS: {sentence}").labels
    assert labels.loc[labels["label"] == label, "source"].tolist() == [source]
