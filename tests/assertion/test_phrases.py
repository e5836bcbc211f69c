"""Which words of a phrase are denied."""

import pytest

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
