"""What invented sentences state, rule by rule (structure.md sections 6 and 7)."""

from __future__ import annotations

import re

import pytest
import statements

from lunguage_assets.structuring.contract import Mention, SectionCode
from lunguage_assets.structuring.rules.structurer import RuleStructurer

_ROW = re.compile(
    r"(?P<status>[dt][pn]) (?P<name>[^@\[<]+?)(?: @(?P<place>[^\[<]+?))?"
    r"(?: \[(?P<column>\w+): (?P<words>[^\]]+)\])?(?: <-(?P<support>\d))?"
)
STRUCTURER = RuleStructurer.bundled()


def _cases(table: str) -> list[tuple[str, str]]:
    pairs = (line.split("->") for line in table.strip().splitlines() if not line.startswith("#"))
    return [(line[0].strip(), "->".join(line[1:]).strip()) for line in pairs]


def _check(sentence: str, expected: str, section: SectionCode = "find") -> None:
    reading = STRUCTURER.read_sentence(sentence, section)
    rows = [row for row in (part.strip() for part in expected.split(";")) if row]
    assert [f"{m.status} {m.normed_ent}" for m in reading.mentions] == [_name(row) for row in rows]
    assert (reading.account == "findings") == bool(rows)
    for mention, row in zip(reading.mentions, rows, strict=True):
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
        assert ", ".join(value.words for value in mention.location) == match["place"]
    if match["column"]:
        found = ", ".join(value.words for value in mention.attributes.get(match["column"], ()))
        assert found == match["words"]
    if match["support"]:
        assert mention.evidence == (int(match["support"]),)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.DENIALS))
def test_a_denial_reaches_over_its_list(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.DENIALS_END))
def test_a_denial_ends_where_something_else_is_stated(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.CHANGE_DENIED))
def test_a_change_is_not_the_finding(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.HEDGES))
def test_a_hedge_reaches_what_it_leaves_open(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.DOUBTS))
def test_a_doubt_is_a_tentative_denial(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.ANATOMY))
def test_normal_anatomy_is_negative_and_abnormal_anatomy_positive(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.PLACES))
def test_a_finding_has_one_row_per_place(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.ATTRIBUTES))
def test_words_of_a_finding_are_its_attributes(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.DEVICES))
def test_devices_are_present_until_removed(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.ASIDES))
def test_what_is_not_about_the_patient_now_states_nothing(sentence, expected):
    _check(sentence, expected)


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.HISTORY))
def test_the_history_holds_complaints_questions_and_past(sentence, expected):
    _check(sentence, expected, "hist")


@pytest.mark.parametrize(("sentence", "expected"), _cases(statements.SPELLINGS))
def test_spellings_mean_their_finding(sentence, expected):
    _check(sentence, expected)
