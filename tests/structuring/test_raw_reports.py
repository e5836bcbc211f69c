"""The twelve invented raw reports are read as anybody would read them, from text alone."""

from __future__ import annotations

import pytest
from raw_deliveries import REPORTS, RawReport

from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.read import sectioned

STRUCTURER = RuleStructurer()


def read(report: RawReport) -> list[tuple[str, str, str, set[str]]]:
    """Section, name, status and words of the place of every row."""
    cut = sectioned(f"s{report.study}", report.text)
    (answer,) = STRUCTURER.structure([cut])
    return [
        (
            cut.sentences[position].section,
            mention.normed_ent,
            mention.status,
            set(" ".join(value.words for value in mention.location).lower().split()),
        )
        for position, mention in answer.mentions
    ]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: str(report.study))
def test_what_a_report_states_is_found_and_what_it_does_not_state_is_not(report: RawReport) -> None:
    rows = read(report)
    for expected in report.expected:
        assert any(
            (section, name, status) == (expected.section, expected.name, expected.status)
            and set(expected.place.split()) <= place
            for section, name, status, place in rows
        ), expected
    present = {name for section, name, status, _ in rows if section != "hist" and status[1] == "p"}
    assert not present & set(report.absent)
