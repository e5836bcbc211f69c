"""Which words of a phrase are denied, or stand between a denial and its finding."""

import pytest

from lunguage_assets.assertion.named import NamedDenial, denials_of
from lunguage_assets.assertion.phrases import split_by_denial


@pytest.mark.parametrize(
    ("phrase", "stated", "denied"),
    [
        ("no sign of septation", [], ["septation"]),
        ("never spiculated", [], ["spiculated"]),
        ("negative for cavitation", [], ["cavitation"]),
        ("no longer cavitary", [], ["cavitary"]),
        ("septation not seen", [], ["septation"]),
        ("cavitation: none", [], ["cavitation"]),
        ("unlikely cavitary", [], ["cavitary"]),
        ("not conspicuously enlarged", [], ["conspicuously enlarged"]),
        ("neither cavitary nor spiculated", [], ["cavitary nor spiculated"]),
        # What stands before a denial is stated, and a contrast ends one.
        ("lobulated without cavitation", ["lobulated"], ["cavitation"]),
        ("not spiculated but lobulated", ["lobulated"], ["spiculated"]),
        # A prefix denies its own word alone.
        ("non-septated collection", ["collection"], ["septated"]),
        # "Not" reaches up to an "and", "without" what it joins.
        ("not septated and large", ["large"], ["septated"]),
        ("without septation and cavitation", [], ["septation and cavitation"]),
        # A hedge and "not only" deny nothing.
        ("cavitation cannot be excluded", ["cavitation cannot be excluded"], []),
        ("not only lobulated", ["not only lobulated"], []),
        # A phrase without a cue stays as it is.
        ("Large,  lobulated", ["Large,  lobulated"], []),
    ],
)
def test_a_phrase_is_split_into_what_it_states_and_what_it_denies(
    phrase: str, stated: list[str], denied: list[str]
) -> None:
    segments = split_by_denial(phrase)
    assert [segment.text for segment in segments if not segment.is_denied] == stated
    assert [segment.text for segment in segments if segment.is_denied] == denied


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
