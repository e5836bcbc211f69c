"""Word files hold what the code asks for, and nothing that nobody asks for."""

import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import lunguage_assets
from lunguage_assets.assertion.categories import CATEGORIES
from lunguage_assets.assertion.cues import bundled_cues
from lunguage_assets.assertion.hedges import bundled_lexicon
from lunguage_assets.assertion.named import PREFERRED
from lunguage_assets.assertion.tokens import BRACKETS
from lunguage_assets.assertion.word_files import WORDS, word_file, words_by_group
from lunguage_assets.tables.columns import ATTRIBUTES
from lunguage_assets.tables.columns import CATEGORIES as CODES

_PACKAGE = Path(lunguage_assets.__file__).parent
_NEGATIONS = {"no", "not", "without", "nor", "neither", "never", "denies", "negative"}


def texts_in(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def collections_of_words_in(module: Path) -> Iterator[set[str]]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Set | ast.List | ast.Tuple):
            yield {
                item.value
                for item in node.elts
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            }


def test_every_group_of_rule_words_is_asked_for() -> None:
    texts_in_code = {
        text for module in _PACKAGE.rglob("*.py") for text in texts_in(module)
    }
    assert sorted(set(WORDS) - texts_in_code) == []


def test_columns_and_categories_of_words_are_those_of_the_tables() -> None:
    columns = set().union(*word_file("attributes").values())
    codes = {*word_file("findings"), *word_file("devices")}
    assert (columns - set(ATTRIBUTES), codes - set(CODES)) == (set(), set())


def test_no_spelling_has_a_bracket_inside_a_bracket() -> None:
    files = ("attributes", "devices", "findings", "grammar", "places")
    groups = chain.from_iterable(words_by_group(file).values() for file in files)
    spellings = chain.from_iterable(groups)
    assert [it for it in spellings if "|" in BRACKETS.sub("", it)] == []


def test_every_place_of_a_cue_is_that_of_a_known_cue() -> None:
    cues = {cue.id for cue in bundled_cues()}
    known_cues = cues | {*CATEGORIES, PREFERRED}
    assert sorted(set(bundled_lexicon().places_by_cue) - known_cues) == []


def test_no_module_lists_words_of_negation() -> None:
    listing = {
        module.name
        for module in _PACKAGE.rglob("*.py")
        for words in collections_of_words_in(module)
        if len(words & _NEGATIONS) > 1
    }
    assert listing == set()
