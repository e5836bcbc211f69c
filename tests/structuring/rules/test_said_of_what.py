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
FINDINGS = ("effusion", "pneumothorax", "consolidation", "nodule", "rib fracture")


def read(text):
    """Return name, status, location and attributes of what a report's findings say."""
    report = cut_report("1", f"FINDINGS: {text}")
    (answer,) = STRUCTURER.structure([report])

    def words(spans):
        return ", ".join(span.of(report.text) for span in spans)

    rows = []
    for mention in answer.mentions:
        described = {name: words(spans) for name, spans in mention.attributes.items()}
        place = words(mention.location)
        rows.append((mention.normed_ent, mention.status, place, described))
    return rows


STATEMENTS = (
    "No effusion", "Possible edema", "No pneumonia or fracture", "Small effusion at the left base",
    "No nodule at the right apex",
)  # fmt: skip
JUDGEMENTS = ("lungs clear", "lungs are clear", "heart is large", "heart normal", "hila are prominent")  # fmt: skip


@examples(60)
@given(
    st.sampled_from(STATEMENTS),
    st.sampled_from([", ", " and ", ", and ", ", the ", " and the "]),
    st.sampled_from(JUDGEMENTS),
)
def test_a_part_that_is_judged_is_a_statement_of_its_own(statement, joint, judgement):
    together = read(f"{statement}{joint}{judgement}.")
    assert together == read(f"{statement}.") + read(f"The {judgement}.")


@pytest.mark.parametrize(("text", "rows"), [
    ("No displaced, healing rib fractures.", ["dn fracture"]),
    ("No enlarged, calcified nodes.", ["dn lymph nodes"]),
    ("No effusion and possible pneumonia.", ["dn pleural effusion", "tp pneumonia"]),
    ("No edema and stable effusion.", ["dn pulmonary edema", "dp pleural effusion"]),
    ("No effusion and clear lungs.", ["dn pleural effusion", "dn lungs"]),
    ("No pneumothorax, normal heart.", ["dn pneumothorax", "dn heart"]),
    ("No fracture, findings compatible with emphysema.", ["dn fracture", "tp emphysema"]),
    ("No effusion appreciated the nodule is unchanged.", ["dn pleural effusion", "dp nodule"]),
    ("Lungs are clear and pneumothorax: negative.", ["dn lungs", "dn pneumothorax"]),
    ("The heart is normal and the effusion has resolved.", ["dn heart", "dn pleural effusion"]),
    ("Not edema, effusion, or emphysema on this study.", ["dn pulmonary edema", "dn pleural effusion", "dn emphysema"]),
    ("Effusion in name only.", ["tp pleural effusion"]),
])  # fmt: skip
def test_a_denial_reaches_its_noun_and_no_statement_behind_it(text, rows):
    assert [f"{status} {name}" for name, status, *_ in read(text)] == rows


@examples(60)
@given(
    st.lists(st.sampled_from(FINDINGS), min_size=1, max_size=5, unique=True),
    st.sampled_from([": no", ": none", ": absent", " - no", " (no)", " unlikely"]),
    st.data(),
)
def test_every_answer_of_a_template_is_of_its_own_finding(findings, denial, data):
    answers = data.draw(st.lists(st.sampled_from([denial, ": mild"]), min_size=5))
    answered = list(zip(findings, answers, strict=False))
    text = ", ".join(map("".join, answered))
    certainty = "t" if "unlikely" in denial else "d"
    statuses = [f"{certainty}n" if answer == denial else "dp" for _, answer in answered]
    assert [status for _, status, *_ in read(f"{text}.")] == statuses


@pytest.mark.parametrize("answer", [": none", " - no", " absent", ": all gone"])
def test_where_a_denial_reached_the_last_of_a_list_the_others_are_left_open(answer):
    statuses = [status for _, status, *_ in read(f"Nodule, effusion, edema{answer}.")]
    assert statuses == ["tp", "tp", "dn"]


@pytest.mark.parametrize("text", [
    "Pneumothorax: per report.", "Pneumothorax: -", "Pneumothorax: as described.",
    "The lungs are clear, except for the left base.", "The lungs are clear apart from the right apex.",
    "The line described is a skin fold.",
])  # fmt: skip
def test_what_an_answer_or_an_exception_leaves_open_is_not_certain(text):
    assert read(text)[0][1].startswith("t")


def test_words_are_said_of_the_side_and_of_the_axis_beside_which_they_stand():
    right, left = read("Moderate right and small left effusions.")
    assert (right[2:], left[2:]) == (
        ("right", {"severity": "Moderate"}),
        ("left", {"measurement": "small"}),
    )
    # Labels read the size from this cell: "large, normal" is neither.
    (heart,) = read("The heart is large; its contour is normal.")
    assert heart[3] == {"measurement": "large"}
    (heart,) = read("Heart normal, slightly larger.")
    assert heart[:2] == ("heart", "dn")
    (heart,) = read("The heart is normal in size to slightly enlarged.")
    assert heart[:2] == ("heart", "dp")
    *_, hila = read("Mediastinum midline, not widened, hila normal.")
    assert hila == ("hilum", "dn", "", {})


def test_what_was_there_before_is_there_now():
    (nodule,) = read("Nodule at the right apex. It was present on the prior CT.")
    assert nodule[:3] == ("nodule", "dp", "right apex")
    assert "past_hx" not in nodule[3]
