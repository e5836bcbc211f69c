"""What invented sentences state, rule by rule (method.md sections 6 and 7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from lunguage_assets.structuring.contract import Mention, SectionCode
from lunguage_assets.structuring.rules.structurer import RuleStructurer
from lunguage_assets.structuring.text.read import sectioned

_ROW = re.compile(
    r"(?P<status>[dt][pn]) (?P<name>[^@\[<]+?)(?: @(?P<place>[^\[<]+?))?"
    r"(?: \[(?P<column>\w+): (?P<words>[^\]]*)\])?(?: <-(?P<support>\d))?"
)
STRUCTURER = RuleStructurer()


def _cases(group: str) -> list[tuple[str, str]]:
    """The sentences of a group of statements.txt, and what they state."""
    table = (Path(__file__).parent / "statements.txt").read_text(encoding="utf-8")
    lines = table.split(f"[{group}]\n")[1].split("\n\n")[0].splitlines()
    return [
        (sentence.strip(), rows.strip()) for sentence, _, rows in (line.partition("->") for line in lines)
    ]


def _check(sentence: str, expected: str, section: SectionCode = "find") -> None:
    reading = STRUCTURER.read_sentence(sentence, section)
    _check_rows(reading.mentions, expected)
    assert (reading.account == "findings") == bool(reading.mentions)


def _check_rows(mentions: Sequence[Mention], expected: str) -> None:
    rows = [row for row in (part.strip() for part in expected.split(";")) if row]
    assert [f"{m.status} {m.normed_ent}" for m in mentions] == [_name(row) for row in rows]
    for mention, row in zip(mentions, rows, strict=True):
        _check_details(mention, row)


def _parsed(row: str) -> re.Match[str]:
    match = _ROW.fullmatch(row)
    assert match is not None, row
    return match


def _name(row: str) -> str:
    match = _parsed(row)
    return f"{match['status']} {match['name']}"


def _check_details(mention: Mention, row: str) -> None:
    match = _parsed(row)
    if match["place"]:
        assert ", ".join(value.words for value in mention.location) == match["place"].strip("-")
    if match["column"]:
        found = ", ".join(value.words for value in mention.attributes.get(match["column"], ()))
        assert found == match["words"]
    if match["support"]:
        assert mention.evidence == (int(match["support"]),)


@pytest.mark.parametrize(("sentence", "expected"), _cases("denials"))
def test_a_denial_reaches_over_its_list(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("parts_of_devices"))
def test_a_device_whose_end_is_not_seen_is_there(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("moves"))
def test_advice_to_move_a_device_is_no_doubt_about_it(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("gone"))
def test_what_has_gone_takes_its_explanation_along(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("settings"))
def test_a_clinical_setting_is_no_place_and_leaves_open_what_nothing_else_does(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("one_statement"))
def test_a_denied_size_beside_a_statement_is_a_part_of_it(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("denials_end"))
def test_a_denial_ends_where_something_else_is_stated(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("change_denied"))
def test_a_change_is_not_the_finding(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("hedges"))
def test_a_hedge_reaches_what_it_leaves_open(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("doubts"))
def test_a_doubt_is_a_tentative_denial(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("anatomy"))
def test_normal_anatomy_is_negative_and_abnormal_anatomy_positive(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("places"))
def test_a_finding_has_one_row_per_place(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("attributes"))
def test_words_of_a_finding_are_its_attributes(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("devices"))
def test_devices_are_present_until_removed(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("asides"))
def test_what_is_not_about_the_patient_now_states_nothing(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("history"))
def test_the_history_holds_complaints_questions_and_past(sentence, expected):
    _check(sentence, expected, "hist")


@pytest.mark.parametrize(("sentence", "expected"), _cases("conclusions"))
def test_an_impression_of_normality_is_about_the_chest_and_one_of_bones_about_bones(sentence, expected):
    _check(sentence, expected, "impr")


@pytest.mark.parametrize(("sentence", "expected"), _cases("names"))
def test_a_finding_has_the_name_that_the_report_gives_it(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("spellings"))
def test_spellings_mean_their_finding(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("reports"))
def test_several_rules_hold_in_one_sentence(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("words"))
def test_words_of_anatomy_and_of_limits_are_read(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("then_and_elsewhere"))
def test_what_was_then_or_is_elsewhere_is_not_of_the_chest_now(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("hidden"))
def test_what_could_be_hidden_is_not_stated(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases("causes"))
def test_what_lies_over_the_lung_explains_a_shadow(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentences", "expected"), _cases("across_sentences"))
def test_a_sentence_may_speak_of_the_finding_before(sentences, expected):
    (answer,) = STRUCTURER.structure([sectioned("1", f"FINDINGS: {sentences}")])
    _check_rows([mention for _, mention in answer.mentions], expected)


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
def test_what_an_addendum_takes_back_is_past_by_its_heading(before, addendum, taken_back):
    text = f"IMPRESSION: {before}\n\nADDENDUM: {addendum}"
    (answer,) = STRUCTURER.structure([sectioned("1", text)])
    first, last = answer.mentions[0][1], answer.mentions[-1][1]
    assert [value.words for value in first.attributes.get("past_hx", ())] == ["ADDENDUM"] * taken_back
    assert "past_hx" not in last.attributes
