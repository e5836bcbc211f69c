"""What invented sentences state, rule by rule (method.md sections 6 and 7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from stated_rows import Stated, difference, stated_in

from lunguage_assets.structuring.contract import SectionCode
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.report import cut_report

STATEMENTS = Path(__file__).parent / "statements.txt"
SECTIONS: dict[str, SectionCode] = {"history": "hist", "conclusions": "impr"}
"""Sections of the groups that are not read as findings."""
STRUCTURER = RuleStructurer()


def misread(stated: Stated) -> str:
    """How sentences are read otherwise than they are meant; empty: they are not."""
    # Sentences of one report speak of the finding before; all others stand alone.
    if stated.group == "across_sentences":
        text = f"FINDINGS: {stated.text}"
        (answer,) = STRUCTURER.structure([cut_report("1", text)])
        return difference(stated, text, answer.mentions)
    section = SECTIONS.get(stated.group, "find")
    reading = STRUCTURER.read_sentence(stated.text, section)
    return difference(stated, stated.text, reading.mentions)


def test_sentences_state_their_rows():
    wrong = [
        f"{stated.group}: {stated.text} -> {'; '.join(stated.rows)}: {difference}"
        for stated in stated_in(STATEMENTS)
        if (difference := misread(stated))
    ]
    assert not wrong, "\n".join([f"{len(wrong)} sentences are misread", *wrong])


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
