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


@pytest.mark.parametrize(("sentence", "finding", "nearest"), [
    ("No Definite other large hernia.", "hernia", ("hernia", "large", "other", "definite")),
    # A second denial begins its own list.
    ("No new mass, and no effusion.", "effusion", ("effusion", "no")),
    # Only the denied one of two mentions is read.
    ("No large effusion on the left, but a small effusion on the right.", "effusion", ("effusion", "large", "no")),
])  # fmt: skip
def test_the_nearest_word_of_a_denial_comes_first(
    sentence: str, finding: str, nearest: tuple[str, ...]
) -> None:
    assert denial_in(sentence, finding).words[: len(nearest)] == nearest


def test_without_a_denial_words_before_a_finding_are_said_of_it_alone() -> None:
    denial = denial_in("Scarring: large effusion not there.", "effusion")
    assert (denial.words[:2], denial.is_behind_denial) == (("effusion", "large"), False)
    assert "scarring" not in denial.words


def test_what_has_gone_has_gone_whole() -> None:
    denial = denial_in("Interval removal of the stent.", "stent")
    assert not denial.is_behind_denial
