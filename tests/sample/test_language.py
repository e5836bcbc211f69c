"""The grammar that the reports are written with."""

from __future__ import annotations

import pytest

from lunguage_assets.errors import ConfigurationError
from lunguage_assets.sample.knowledge import knowledge, statement
from lunguage_assets.sample.prose.language import NounPhrase, article, enumeration, fill
from lunguage_assets.sample.prose.markup import say
from lunguage_assets.sample.records import Fact, stream


def noun(words: str, number: str, *before: str, after: str = "") -> NounPhrase:
    return NounPhrase(Fact(words, knowledge().term(words), "tp"), words, number, before, after)


@pytest.mark.parametrize(
    ("words", "expected"),
    [("opacity", "an"), ("unchanged opacity", "an"), ("unilateral effusion", "a"), ("8 mm nodule", "an"),
     ("11 mm nodule", "an"), ("1.8 cm mass", "a"), ("RUL opacity", "an"), ("T8 fracture", "a"),
     ("ill-defined opacity", "an"), ("healed fracture", "a")],
)  # fmt: skip
def test_the_article_follows_the_sound_of_the_next_word(words: str, expected: str) -> None:
    assert article(words) == expected


def test_mass_nouns_and_plurals_take_no_indefinite_article() -> None:
    for mention, expected in (
        (noun("pneumonia", "mass"), "there is pneumonia"),
        (noun("nodule", "one"), "there is a nodule"),
        (noun("opacities", "many"), "there are opacities"),
    ):
        assert fill("there {X:is|are} {a X}", {"X": mention}, {})[0] == expected


def test_the_verb_agrees_with_the_nearer_of_two_alternatives() -> None:
    first, second = noun("pneumonia", "mass"), noun("nodule", "many")
    first.alternative = second
    text, facts = fill("{a X} {X:is|are} possible", {"X": first}, {})
    assert text == "pneumonia or nodule are possible"
    assert facts == [first.fact, second.fact]


def test_a_sign_is_introduced_with_a_and_taken_up_with_the() -> None:
    sign = noun("opacity", "one", "hazy", after="at the left base")
    sign.new = True
    template = "{the O} {O:is|are} likely {a X}"
    words = {"O": sign, "X": noun("atelectasis", "mass")}
    assert fill(template, words, {})[0] == "a hazy opacity at the left base is likely atelectasis"
    sign.new = False
    assert fill(template, words, {})[0] == "the hazy opacity at the left base is likely atelectasis"
    assert (
        fill(template, words, {}, headline=True)[0] == "hazy opacity at the left base is likely atelectasis"
    )


def test_facts_come_in_the_order_in_which_the_sentence_names_them() -> None:
    sign, diagnosis = noun("opacity", "one"), noun("pneumonia", "mass")
    _, facts = fill("{X} cannot be excluded given {the O}", {"O": sign, "X": diagnosis}, {})
    assert facts == [diagnosis.fact, sign.fact]


def test_an_enumeration_reads_naturally() -> None:
    assert [enumeration(list("abc"[:n])) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


def test_the_words_of_a_statement_agree_over_its_sentences_and_cells() -> None:
    known = knowledge()
    for number, contradiction in enumerate(known.statements["contradictions"]):
        said = say(contradiction, stream("test", number), known)
        places = {fact.location for sentence in said.values() for fact in sentence.facts if fact.location}
        assert len(places) <= 1
        for sentence in said.values():
            assert all(
                place.lower() in sentence.text.lower() for place in {fact.location for fact in sentence.facts}
            )


def test_twins_never_draw_the_same_word_twice() -> None:
    known = knowledge()
    for twins in known.statements["twins"]:
        for draw in range(20):
            facts = say(twins, stream("twin", draw), known)["text"].facts
            assert len({(fact.location, fact.attributes.get("measurement")) for fact in facts}) == len(facts)


def test_a_statement_about_a_finding_that_no_file_defines_is_refused_when_it_is_read() -> None:
    with pytest.raises(ConfigurationError, match=r"flying saucer.*findings\.csv"):
        statement({"text": "A [flying saucer|dp] is seen.", "order": 1}, knowledge().terms)
