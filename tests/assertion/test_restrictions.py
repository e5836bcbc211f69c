"""Which words stand between a denial and the finding that it denies."""

import pytest

from lunguage_assets.assertion.named import denials_of


def words_of_list(sentence: str, finding: str) -> list[str]:
    (denial,) = denials_of(sentence, finding)
    return [described.word for described in denial.words if described.is_of_list]


def own_words(sentence: str, finding: str) -> list[str]:
    (denial,) = denials_of(sentence, finding)
    return [described.word for described in denial.words if described.is_own]


@pytest.mark.parametrize("finding", ["nodule", "effusion"])
def test_words_before_the_first_finding_are_of_the_whole_list(finding: str) -> None:
    sentence = "There is no new nodule or effusion."
    assert "new" in words_of_list(sentence, finding)


def test_words_of_a_later_member_are_its_own() -> None:
    sentence = "No pneumothorax or obvious left fracture."
    assert own_words(sentence, "fracture") == ["fracture", "left", "obvious"]
    assert "obvious" not in words_of_list(sentence, "fracture")


def test_the_words_of_another_member_are_not_its_own() -> None:
    assert "large" not in own_words("Without large bulla or cyst.", "cyst")


def test_a_word_inside_the_cue_counts() -> None:
    assert "definite" in words_of_list("No definite rib fracture.", "fracture")


def test_a_second_denial_begins_its_own_list() -> None:
    sentence = "No new mass, and no effusion."
    assert "new" not in words_of_list(sentence, "effusion")


def test_the_nearest_word_comes_first() -> None:
    (denial,) = denials_of("No other large hernia.", "hernia")
    assert [described.word for described in denial.words[:2]] == ["hernia", "large"]


def test_a_denial_names_its_cue() -> None:
    assert [denial.cue for denial in denials_of("No large cyst.", "cyst")] == [
        "negated.no"
    ]


def test_only_the_denied_one_of_two_mentions_is_read() -> None:
    sentence = "No large effusion on the left, but a small effusion on the right."
    (denial,) = denials_of(sentence, "effusion")
    assert "large" in [described.word for described in denial.words]


def test_without_a_denial_words_before_a_finding_are_said_of_it_alone() -> None:
    (denial,) = denials_of("Scarring: large effusion not there.", "effusion")
    assert "large" in [described.word for described in denial.words]
    assert not any(described.is_of_list for described in denial.words)


def test_what_has_gone_has_gone_whole() -> None:
    assert words_of_list("Interval removal of the stent.", "stent") == []


def test_words_are_given_as_written() -> None:
    assert "sizeable" in words_of_list("No Sizeable bulla.", "bulla")
