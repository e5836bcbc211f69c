"""Which words stand between a denial and the finding that it denies."""

import pytest

from lunguage_assets.assertion.named import NamedDenial, denials_of


def denial_in(sentence: str, finding: str) -> NamedDenial:
    (denial,) = denials_of(sentence, finding)
    return denial


@pytest.mark.parametrize("finding", ["nodule", "effusion"])
def test_words_before_the_first_finding_are_of_the_whole_list(finding: str) -> None:
    denial = denial_in("There is no new nodule or effusion.", finding)
    assert denial.is_behind_denial
    assert "new" in denial.words


def test_the_nearest_word_comes_first_in_lower_case() -> None:
    words = denial_in("No Definite other large hernia.", "hernia").words
    assert words[:4] == ("hernia", "large", "other", "definite")


def test_a_second_denial_begins_its_own_list() -> None:
    assert "new" not in denial_in("No new mass, and no effusion.", "effusion").words


def test_only_the_denied_one_of_two_mentions_is_read() -> None:
    sentence = "No large effusion on the left, but a small effusion on the right."
    assert "large" in denial_in(sentence, "effusion").words


def test_without_a_denial_words_before_a_finding_are_said_of_it_alone() -> None:
    denial = denial_in("Scarring: large effusion not there.", "effusion")
    assert (denial.words[:2], denial.is_behind_denial) == (("effusion", "large"), False)
    assert "scarring" not in denial.words


def test_what_has_gone_has_gone_whole() -> None:
    denial = denial_in("Interval removal of the stent.", "stent")
    assert not denial.is_behind_denial
