"""What an addendum takes back (method.md section 7)."""

from __future__ import annotations

import pytest

from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.report import cut_report

STRUCTURER = RuleStructurer()


@pytest.mark.parametrize(
    ("before", "addendum", "taken_back"),
    [
        ("Small right pneumothorax.", "There is no pneumothorax.", True),
        ("No fracture.", "There is a fracture of the right seventh rib.", True),
        ("Right effusion.", "There is no left effusion.", False),
        ("No large effusion.", "Small effusion.", False),
        ("Right effusion.", "The effusion is small.", False),
    ],
)
def test_what_an_addendum_takes_back_is_past_by_its_heading(
    before, addendum, taken_back
):
    text = f"IMPRESSION: {before}\n\nADDENDUM: {addendum}"
    (answer,) = STRUCTURER.structure([cut_report("1", text)])
    first = answer.mentions[0]
    last = answer.mentions[-1]
    assert [span.of(text) for span in first.attributes.get("past_hx", ())] == [
        "ADDENDUM"
    ] * taken_back
    assert "past_hx" not in last.attributes
