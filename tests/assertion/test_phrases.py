"""Which words of a phrase are denied."""

import pytest

from lunguage_assets.assertion.phrases import split_by_denial


def denied(phrase: str) -> list[str]:
    return [segment.text for segment in split_by_denial(phrase) if segment.is_denied]


def stated(phrase: str) -> list[str]:
    return [
        segment.text for segment in split_by_denial(phrase) if not segment.is_denied
    ]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("no sign of septation", "septation"),
        ("never spiculated", "spiculated"),
        ("negative for cavitation", "cavitation"),
        ("no longer cavitary", "cavitary"),
        ("septation not seen", "septation"),
        ("cavitation: none", "cavitation"),
        ("unlikely cavitary", "cavitary"),
        ("not conspicuously enlarged", "conspicuously enlarged"),
        ("neither cavitary nor spiculated", "cavitary"),
    ],
)
def test_what_a_cue_denies_is_not_stated(phrase: str, expected: str) -> None:
    assert expected in " ".join(denied(phrase))
    assert expected not in " ".join(stated(phrase))


def test_what_stands_before_a_denial_is_stated() -> None:
    assert stated("lobulated without cavitation") == ["lobulated"]


def test_a_contrast_ends_a_denial() -> None:
    assert stated("not spiculated but lobulated") == ["lobulated"]


def test_a_prefix_denies_its_own_word_alone() -> None:
    assert stated("non-septated collection") == ["collection"]


def test_not_denies_what_follows_up_to_an_and() -> None:
    assert denied("not septated and large") == ["septated"]


def test_without_denies_what_an_and_joins() -> None:
    assert denied("without septation and cavitation") == ["septation and cavitation"]


def test_a_hedge_denies_nothing() -> None:
    assert denied("cavitation cannot be excluded") == []


def test_not_only_denies_nothing() -> None:
    assert denied("not only lobulated but also cavitary") == []


def test_a_phrase_without_a_cue_stays_as_it_is() -> None:
    assert stated("Large,  lobulated") == ["Large,  lobulated"]
