"""What stands behind a comma, an answer or a side is said of nothing else.

Each of these was once read as a certain untruth.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.report import cut_report

STRUCTURER = RuleStructurer()


def read(text):
    """Return name, status, location and attributes of what a report's findings say."""
    report = cut_report("1", f"FINDINGS: {text}")
    (answer,) = STRUCTURER.structure([report])

    def words(spans):
        return ", ".join(span.of(report.text) for span in spans)

    return [
        (
            mention.normed_ent,
            mention.status,
            words(mention.location),
            {name: words(spans) for name, spans in mention.attributes.items()},
        )
        for mention in answer.mentions
    ]


@examples(60)
@given(
    st.sampled_from(
        [
            "No effusion",
            "Possible edema",
            "No pneumonia or fracture",
            "Small effusion at the left base",
            "No nodule at the right apex",
        ]
    ),
    st.sampled_from([", ", " and ", ", and ", ", the ", " and the "]),
    st.sampled_from(
        [
            "lungs clear",
            "lungs are clear",
            "heart is large",
            "heart normal",
            "hila are prominent",
        ]
    ),
)
def test_a_part_that_is_judged_is_a_statement_of_its_own(statement, joint, judgement):
    together = read(f"{statement}{joint}{judgement}.")
    assert together == read(f"{statement}.") + read(f"The {judgement}.")


@pytest.mark.parametrize(("text", "rows"), [
    ("No displaced, healing rib fractures.", ["dn fracture"]),
    ("No enlarged, calcified nodes.", ["dn lymph nodes"]),
    ("No effusion and possible pneumonia.", ["dn pleural effusion", "tp pneumonia"]),
    ("No edema and stable effusion.", ["dn pulmonary edema", "dp pleural effusion"]),
    ("No effusion appreciated the nodule is unchanged.", ["dn pleural effusion", "dp nodule"]),
])  # fmt: skip
def test_a_denial_reaches_its_noun_and_no_statement_behind_it(text, rows):
    assert [f"{status} {name}" for name, status, *_ in read(text)] == rows


def test_a_description_behind_a_comma_waits_for_an_adjective_alone():
    *_, hila = read("Mediastinum midline, not widened, hila normal.")
    assert hila == ("hilum", "dn", "", {})
