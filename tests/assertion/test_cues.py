"""Bundled cues give what their examples say, and no words belong to two. A home's own:
what they change, and what is refused, with file, entry, found, expected.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest

from lunguage_assets.assertion.categories import CATEGORIES, PRECEDENCE, Meant
from lunguage_assets.assertion.cues import Cue, bundled_cues
from lunguage_assets.assertion.own_cues import faults_of_examples, read_own_cues
from lunguage_assets.assertion.reader import read_assertions
from lunguage_assets.assertion.tokens import alternatives, forms_of
from lunguage_assets.assertion.vocabulary import (
    Vocabulary,
    build_vocabulary,
    content_hash,
)
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.structuring.rules.structurer import RuleStructurer

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


DEVOID = """
- id: negated.nix
  category: negated
  patterns: [nix (of|)]
  examples:
    - {text: "Nix edema or effusion.", edema: negated, effusion: negated}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "assertion.yaml"


def meanings_of(text: str, vocabulary: Vocabulary) -> dict[str, str]:
    return {
        text[assertion.begin : assertion.end]: assertion.shown
        for assertion in read_assertions(text, "find", vocabulary)
    }


def test_an_own_cue_changes_what_a_sentence_states(file: Path) -> None:
    text = "Nix effusion."
    (before,) = RuleStructurer().read_sentence(text, "find").mentions
    file.write_text(DEVOID)
    (after,) = RuleStructurer(own_cues=file).read_sentence(text, "find").mentions
    assert (before.status, after.status) == ("dp", "dn")
    assert [use.cue for use in after.cues] == ["negated.nix"]


def test_own_cues_enter_the_identity_of_the_structurer(file: Path) -> None:
    identities = {RuleStructurer().identity}
    for content in (DEVOID, DEVOID + "# another byte\n"):
        file.write_text(content)
        identities.add(RuleStructurer(own_cues=file).identity)
    assert len(identities) == 3
    assert content_hash() != content_hash(own_cues=file)


def test_an_own_cue_takes_the_place_of_a_bundled_spelling(file: Path) -> None:
    file.write_text(DEVOID.replace("nix (of|)", "possible").replace("Nix", "Possible"))
    vocabulary = build_vocabulary(read_own_cues(file))
    assert meanings_of("Possible effusion.", vocabulary) == {"effusion": "negated"}


FIELDS = [
    ("nix", "reach: next", "{} edema and effusion.", ("negated", "asserted")),
    ("nox", "reach: list", "{} edema and effusion.", ("negated", "negated")),
    ("nux", "direction: before", "Edema. Effusion {}.", ("asserted", "negated")),
    ("nex", "direction: behind", "Edema: {} effusion.", ("asserted", "negated")),
    ("nax", "direction: both", "Edema; effusion: {}.", ("asserted", "negated")),
    ("zix", "ends_at: [apart]", "{} edema apart effusion.", ("negated", "asserted")),
    ("zox", "not_after: [also]", "Edema also {} effusion.", ("unanswered", "unanswered")),
    ("zux", "not_before: [changes]", "{0} edema; {0} change effusion.", ("negated", "asserted")),
    ("zex", "sections: [hist]", "{} edema, effusion.", ("asserted", "asserted")),
]  # fmt: skip


def test_every_field_of_an_own_cue_is_obeyed(file: Path) -> None:
    entries = ""
    for word, fields, *_ in FIELDS:
        example = (
            f"effusion {word}" if fields.endswith("before") else f"{word} effusion"
        )
        section = ", section: hist" if "sections" in fields else ""
        entries += (
            f"- id: negated.{word}\n  category: negated\n  patterns: [{word}]\n"
            f"  {fields}\n  examples:\n"
            f"    - {{text: {example!r}{section}, effusion: negated}}\n"
        )
    file.write_text(entries)
    vocabulary = build_vocabulary(read_own_cues(file))
    for word, fields, text, expected in FIELDS:
        meanings = meanings_of(text.format(word).lower(), vocabulary)
        assert (meanings["edema"], meanings["effusion"]) == expected, fields


REACHES = [
    ("hedged", "whiff of", "hedged"),
    ("past", "bygone", "past"),
    ("ended", "vanished", "ended"),
    ("recommendation", "urge", "aside"),
    ("aim", "so as to find", "aside"),
]


@pytest.mark.parametrize("ends_at", ["  ends_at: [so]\n", ""])
def test_the_reach_of_every_category_ends_at_the_words_named(
    file: Path, ends_at: str
) -> None:
    entries = "".join(
        f"- id: {category}.own\n  category: {category}\n  patterns: [{words}]\n{ends_at}"
        f"  examples:\n    - {{text: {words} edema, edema: {expected}}}\n"
        for category, words, expected in REACHES
    )
    file.write_text(entries)
    vocabulary = build_vocabulary(read_own_cues(file))
    for category, words, expected in REACHES:
        meanings = meanings_of(f"{words} edema and so effusion.", vocabulary)
        behind = "asserted" if ends_at else expected
        assert meanings == {"edema": expected, "effusion": behind}, category


NIX = "negated.nix"
REFUSED = [
    ("category: negated", "category: negative", "field 0", "'negative'", "'negated'"),
    ("nix (of|)", "nix (of|", NIX, "'nix (of|'", "none nested"),
    ("nix (of|)", "nix|nil", NIX, "beside brackets", '"(a|b) c"'),
    ("nix (of|)", "(nix|)", NIX, "empty", "words in each"),
    ("nix (of|)", "nix § of", NIX, "'§'", "words and signs"),
    ("nix (of|)", "(a|b)" * 20, NIX, "wordings", "several patterns"),
    ("nix (of|)", "(a|" * 9 + "nix" + ")" * 9, NIX, "beside brackets", "none nested"),
    ("[nix (of|)]", "[no]", "field 0", "valid string", "need quotes"),
    ("negated.nix", "negated.no", "'negated.no'", "twice", "an id of its own"),
    ("effusion: negated", "effusion: hedged", NIX, "to be negated", "expected hedged"),
    ("effusion: negated", "effusion: gone", "field 0", "effusion", "'asserted'"),
    ("effusion: negated", "nodule: negated", NIX, "'nodule'", "expected negated"),
    ("effusion", "patient", NIX, "'patient' to be no known word", "negated"),
    (", edema: negated, effusion: negated", "", NIX, "no mention", "how it is meant"),
    ("Nix edema", "No edema", NIX, "no example with its words", "expected one"),
    ("negated\n", "negated\n  reach: clause\n", NIX, "'clause'", "list or next"),
    ("negated\n", "examined\n  reach: next\n", NIX, "'next'", "no such field"),
    ("negated\n", "negated\n  ends_at: [so far]\n", NIX, "'so far'", "one word"),
    ("negated\n", "negated\n  ends: [so]\n", "field 0", "not known", "'ends_at'"),
]


@pytest.mark.parametrize(("old", "new", "entry", "found", "expected"), REFUSED)
def test_a_wrong_entry_is_refused_with_file_entry_found_expected(
    file: Path, old: str, new: str, entry: str, found: str, expected: str
) -> None:
    assert old in DEVOID
    file.write_text(DEVOID.replace(old, new))
    with pytest.raises(ConfigurationError) as refused:
        read_own_cues(file)
    message = str(refused.value)
    assert message.startswith(str(file))
    for words in (entry, found, expected):
        assert words in message, message


def test_more_bytes_than_are_read_in_a_moment_are_refused(file: Path) -> None:
    file.write_text(DEVOID * 10_000)
    with pytest.raises(ConfigurationError, match="bytes"):
        read_own_cues(file)


def test_a_home_calls_its_own_words_harmless(file: Path) -> None:
    text = "The edema has zigzagged."
    entry = (
        "- id: harmless.own\n  category: harmless\n  patterns: [zigzagged]\n"
        f"  examples:\n    - {{text: {text!r}, edema: asserted}}\n"
    )
    file.write_text(entry)
    statuses = [
        RuleStructurer(own_cues=cues).read_sentence(text, "find").mentions[0].status
        for cues in (None, file)
    ]
    assert statuses == ["tp", "dp"]


def test_a_file_that_is_edited_is_read_again(file: Path) -> None:
    file.write_text(DEVOID)
    read_own_cues(file)
    file.write_text(DEVOID.replace("nix", "nixx").replace("Nix", "Nixx"))
    (cue,) = read_own_cues(file)
    assert cue.id == "negated.nixx"
