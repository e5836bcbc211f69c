"""The bundled cues: each gives what its examples say, and no words belong to two."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain

import pytest

from lunguage_assets.assertion.categories import CATEGORIES, PRECEDENCE, Meant
from lunguage_assets.assertion.cues import Cue, bundled_cues
from lunguage_assets.assertion.own_cues import faults_of_examples
from lunguage_assets.assertion.reader import read_assertions
from lunguage_assets.assertion.tokens import alternatives, forms_of
from lunguage_assets.assertion.vocabulary import build_vocabulary

VOCABULARY = build_vocabulary()


def words_of(cue: Cue) -> set[str]:
    """The spellings of a cue in the form in which words are compared."""
    wordings = chain.from_iterable(map(alternatives, cue.patterns))
    return {" ".join(forms_of(wording)) for wording in wordings}


def test_every_cue_gives_what_its_examples_say() -> None:
    assert list(faults_of_examples(bundled_cues(), VOCABULARY)) == []


def test_no_words_belong_to_two_cues() -> None:
    cues_by_words = defaultdict(set)
    for cue in bundled_cues():
        # Words of a request count only where they mean nothing else.
        if cue.category == "question" or cue.is_conditional:
            continue
        for words in words_of(cue):
            cues_by_words[words].add(cue.id)
    assert {words: ids for words, ids in cues_by_words.items() if len(ids) > 1} == {}


def test_ids_begin_with_a_category_and_stand_once() -> None:
    ids = [cue.id for cue in bundled_cues()]
    assert len(ids) == len(set(ids))
    # The engine asks for three of them in another category than the one that their
    # words have.
    assert {cue_id.split(".")[0] for cue_id in ids} <= {*CATEGORIES, "hedge"}


@pytest.mark.parametrize(
    ("wins", "loses", "sentence"),
    [
        ("aside", "past", "Recommend CT for history of pneumonia."),
        ("aside", "negated", "If there is no pneumonia, discharge."),
        ("aside", "hedged", "If there is possible pneumonia, repeat."),
        ("past", "hedged", "The prior film showed possible pneumonia."),
        ("ended", "hedged", "The possible pneumonia has resolved."),
        ("negated", "hedged", "No possible pneumonia."),
        ("doubted", "hedged", "No definite possible pneumonia."),
        ("hedged", "asserted", "Possible pneumonia."),
    ],
)
def test_the_category_named_first_wins_where_two_meet(
    wins: Meant, loses: Meant, sentence: str
) -> None:
    assert PRECEDENCE.index(wins) < PRECEDENCE.index(loses)
    begin = sentence.index("pneumonia")
    meanings = [
        assertion.shown
        for assertion in read_assertions(sentence, "find", VOCABULARY)
        if assertion.begin <= begin < assertion.end
    ]
    assert meanings == [wins]
