"""The lexicon put together: the word files (`resources/structuring/*.yaml`; the header of each says what its
keys mean), the hedging phrases of the judges, and a delivered vocabulary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, RootModel

from lunguage_assets.corpus.vocabulary import category_code
from lunguage_assets.data_files import read_as, resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.rules.lexicon import bundled_lexicon
from lunguage_assets.structuring.rules.lexicon import ELSEWHERE, UNDECIDED, Kind, ReportLexicon, Sense
from lunguage_assets.structuring.text.words import WordGroup
from lunguage_assets.tables import ATTRIBUTES, CATEGORIES

_FILES = ("attributes", "devices", "findings", "places", "scope", "words")
Spellings = dict[str, list[str]]
_Form = TypeVar("_Form", bound=BaseModel)


class FindingFile(RootModel[dict[str, Spellings]]):
    """Findings or devices: category code -> canonical name -> spellings."""

    model_config = ConfigDict(frozen=True)


class PlaceFile(WordGroup):
    """Parts of the body, statements that are normal as a whole, and details of places."""

    anatomy: Spellings
    normal: Spellings
    details: list[str]
    elsewhere: list[str]


class AttributeFile(WordGroup):
    """Attribute column -> spellings."""

    words: Spellings
    abnormal: Spellings
    normal: Spellings
    undecided: Spellings


class SpellingFile(WordGroup):
    """Words that are read as another."""

    spellings: Spellings


class Denied(WordGroup):
    before: list[str]
    near: list[str]
    after: list[str]
    ended: list[str]


class Doubted(WordGroup):
    before: list[str]
    after: list[str]


class Open(WordGroup):
    near: list[str]
    list_: list[str] = Field(alias="list")
    after: list[str]
    alternatives: list[str]


class Advice(WordGroup):
    moves: list[str]
    verbs: list[str]
    aims: list[str]
    exams: list[str]


class ScopeFile(WordGroup):
    """Words that decide what is said of a finding."""

    denied: Denied
    doubted: Doubted
    open: Open
    question: list[str]
    breaks: list[str]
    copulas: list[str]
    seen: list[str]
    links: list[str]
    prepositions: list[str]
    with_: list[str] = Field(alias="with")
    past: list[str]
    source: list[str]
    parts: list[str]
    settings: list[str]
    advice: Advice
    conditions: list[str]
    somebody_else: list[str]
    articles: list[str]


def word_file(name: str) -> Path:
    """Path of a word file."""
    return resource("structuring", f"{name}.yaml")


def read_words(path: Path, form: type[_Form]) -> _Form:
    """One file in its form; raises `ConfigurationError` that names file and field."""
    return read_as(path, form, "The header of the file explains its form.")


def build_lexicon(terms: pd.DataFrame | None = None) -> tuple[ReportLexicon, str]:
    """The bundled words, widened by a delivered vocabulary (a `tables.TERMS` frame), and the hash of both.

    Raises:
        ConfigurationError: a file of `resources/structuring/` that cannot be read; names file and field.
    """
    return _bundled() if terms is None or terms.empty else _build(terms)


@lru_cache(maxsize=1)
def _bundled() -> tuple[ReportLexicon, str]:
    return _build(None)


def _build(terms: pd.DataFrame | None) -> tuple[ReportLexicon, str]:
    """What is added later replaces what was added before, so the order is the order of precedence."""
    lexicon = ReportLexicon(read_words(word_file("words"), SpellingFile).spellings)
    scope = read_words(word_file("scope"), ScopeFile)
    for spellings, sense in (
        *_grammar(scope), *_attributes(), *_places(), *_hedges(), *_open_and_denied(scope), *_asides(scope),
    ):  # fmt: skip
        for spelling in spellings:
            lexicon.add(spelling, sense)
    for spelling in scope.question:  # most of them mean the same in a report
        lexicon.add(spelling, Sense("question"), widen=True)
    for spellings, sense in (*_findings("findings"), *_findings("devices")):
        for spelling in spellings:
            lexicon.add(spelling, sense)
    return lexicon, content_hash() if terms is None else content_hash(_widen(lexicon, terms))


def content_hash(*more: bytes) -> str:
    """Hash of the bundled words, and of what widens them; no lexicon is put together for it."""
    content = [word_file(name).read_bytes() for name in _FILES]
    content += [resource(name).read_bytes() for name in ("hedges.yaml", "terms.yaml")]
    return hashlib.blake2b(b"\x1f".join([*content, *more]), digest_size=8).hexdigest()


_Meant = tuple[Iterable[str], Sense]
"""Spellings, and what all of them mean."""


def _grammar(scope: ScopeFile) -> Iterator[_Meant]:
    yield scope.prepositions, Sense("preposition")
    yield scope.articles, Sense("article")
    yield scope.seen, Sense("seen")
    yield scope.links, Sense("link")
    yield scope.with_, Sense("with")
    yield (*scope.copulas, ":"), Sense("copula")
    yield (*scope.breaks, ";", ".", "//"), Sense("break")
    yield (",", "(", ")", "[", "]", "-", "–", "—"), Sense("comma")
    yield ("and", "&", "+", "/"), Sense("and")


def _attributes() -> Iterator[_Meant]:
    file = read_words(word_file("attributes"), AttributeFile)
    groups: tuple[tuple[Kind, str, Spellings], ...] = (
        ("word", "", file.words), ("abnormal", "", file.abnormal), ("normal", "", file.normal),
        ("abnormal", UNDECIDED, file.undecided),
    )  # fmt: skip
    for kind, name, group in groups:
        for column, spellings in group.items():
            _check_code(column, ATTRIBUTES, "attributes", kind)
            yield spellings, Sense(kind, name, column)


def _places() -> Iterator[_Meant]:
    file = read_words(word_file("places"), PlaceFile)
    yield file.details, Sense("place")
    yield file.elsewhere, Sense("place", ELSEWHERE)
    for name, spellings in file.anatomy.items():
        yield (name, *spellings), Sense("anatomy", name)
    for name, spellings in file.normal.items():
        yield spellings, Sense("anatomy", name, "normal")


def _hedges() -> Iterator[_Meant]:
    for hedge in (known for known in bundled_lexicon().hedges if known.structured):
        if hedge.side == "left":
            yield (hedge.phrase,), Sense("open after")
        elif hedge.side != "list":
            yield (hedge.phrase,), Sense("open", "list" if " " in hedge.phrase else "near")


def _open_and_denied(scope: ScopeFile) -> Iterator[_Meant]:
    yield scope.open.near, Sense("open", "near")
    yield scope.open.list_, Sense("open", "list")
    yield scope.open.after, Sense("open after")
    yield scope.open.alternatives, Sense("alternative")
    yield scope.denied.before, Sense("deny", "list", "d")
    yield scope.denied.near, Sense("deny", "near", "d")
    yield scope.denied.after, Sense("deny after", code="d")
    yield scope.denied.ended, Sense("ended", code="d")
    yield scope.doubted.before, Sense("deny", "list", "t")
    yield scope.doubted.after, Sense("deny after", code="t")


def _asides(scope: ScopeFile) -> Iterator[_Meant]:
    yield scope.conditions, Sense("condition")
    yield scope.past, Sense("past")
    yield scope.source, Sense("source")
    yield scope.somebody_else, Sense("somebody else")
    yield scope.advice.exams, Sense("exam")
    yield scope.advice.aims, Sense("aim")
    yield scope.advice.verbs, Sense("advice")
    yield scope.advice.moves, Sense("advice", "move")
    yield scope.parts, Sense("other", "part")
    yield scope.settings, Sense("open after", "setting")


def _findings(file: str) -> Iterator[_Meant]:
    for category, by_name in read_words(word_file(file), FindingFile).root.items():
        _check_code(category, CATEGORIES, file, category)
        for name, spellings in by_name.items():
            yield (name, *spellings), Sense("finding", name, category)


def _widen(lexicon: ReportLexicon, terms: pd.DataFrame) -> bytes:
    """Add a delivered vocabulary's spellings that the bundled words lack; its text, for the hash."""
    columns = {published: column for column, published in ATTRIBUTES.items()}
    cells = (terms[name].tolist() for name in ("category", "target_term", "normed_term"))
    rows = sorted(set(zip(*cells, strict=True)))
    for category, spelling, name in rows:
        code = category_code(category)
        group = " ".join(category.lower().split())
        column = columns.get(group, group)
        if code is not None:
            lexicon.add_literal(
                spelling, Sense("finding", " ".join((name or spelling).lower().split()), code)
            )
        elif group == "location":
            lexicon.add_literal(spelling, Sense("place"))
        elif column in ATTRIBUTES:
            lexicon.add_literal(spelling, Sense("word", code=column))
    return repr(rows).encode("utf-8", "surrogatepass")


def _check_code(found: str, expected: Iterable[str], file: str, place: str) -> None:
    if found not in expected:
        raise ConfigurationError(
            f"{word_file(file)}, {place}: {found!r} is no code. Expected one of {', '.join(expected)}."
        )
