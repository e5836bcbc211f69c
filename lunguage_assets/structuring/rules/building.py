"""The lexicon put together: the word files, the hedging phrases of the judges, and a delivered vocabulary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import pandas as pd

from lunguage_assets.corpus.vocabulary import category_code
from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.rules.lexicon import bundled_lexicon
from lunguage_assets.structuring.rules import lexicon as kinds
from lunguage_assets.structuring.rules.lexicon import Lexicon, Term
from lunguage_assets.structuring.rules.word_files import (
    AttributeFile,
    FindingFile,
    PlaceFile,
    ScopeFile,
    SpellingFile,
    Spellings,
    read_words,
    word_file,
)
from lunguage_assets.tables import ATTRIBUTES, CATEGORIES

_FILES = ("attributes", "devices", "findings", "places", "scope", "words")
_COMMAS = (",", "(", ")", "[", "]", "-", "–", "—")
_STOPS = (";", ".", "//")
_ANDS = ("and", "&", "+", "/")


def build_lexicon(terms: pd.DataFrame | None = None) -> tuple[Lexicon, str]:
    """The bundled words, widened by a delivered vocabulary (a `tables.TERMS` frame), and the hash of both.

    Raises:
        ConfigurationError: a file of `resources/structuring/` that cannot be read; names file and field.
    """
    return _bundled() if terms is None or terms.empty else _build(terms)


@lru_cache(maxsize=1)
def _bundled() -> tuple[Lexicon, str]:
    return _build(None)


def _build(terms: pd.DataFrame | None) -> tuple[Lexicon, str]:
    """What is added later replaces what was added before, so the order is the order of precedence."""
    lexicon = Lexicon(read_words(word_file("words"), SpellingFile).spellings)
    scope = read_words(word_file("scope"), ScopeFile)
    _add_grammar(lexicon, scope)
    _add_attributes(lexicon, read_words(word_file("attributes"), AttributeFile))
    _add_places(lexicon, read_words(word_file("places"), PlaceFile))
    _add_hedges(lexicon, scope)
    _add_denials(lexicon, scope)
    _add_asides(lexicon, scope)
    for file in ("findings", "devices"):
        _add_findings(lexicon, read_words(word_file(file), FindingFile).root, file)
    return lexicon, content_hash() if terms is None else content_hash(_widen(lexicon, terms))


def content_hash(*more: bytes) -> str:
    """Hash of the bundled words, and of what widens them; no lexicon is put together for it."""
    content = [word_file(name).read_bytes() for name in _FILES]
    content += [resource(name).read_bytes() for name in ("hedges.yaml", "terms.yaml")]
    return hashlib.blake2b(b"\x1f".join([*content, *more]), digest_size=8).hexdigest()


def _add_grammar(lexicon: Lexicon, scope: ScopeFile) -> None:
    for kind, spellings in (
        (kinds.PREPOSITION, scope.prepositions), (kinds.ARTICLE, scope.articles), (kinds.SEEN, scope.seen),
        (kinds.LINK, scope.links), (kinds.WITH, scope.with_), (kinds.COPULA, scope.copulas),
        (kinds.BREAK, scope.breaks), (kinds.COMMA, _COMMAS), (kinds.BREAK, _STOPS), (kinds.COPULA, [":"]),
        (kinds.AND, _ANDS),
    ):  # fmt: skip
        _add_all(lexicon, spellings, Term(kind))


def _add_attributes(lexicon: Lexicon, attributes: AttributeFile) -> None:
    for group, kind in (
        (attributes.words, kinds.WORD), (attributes.abnormal, kinds.ABNORMAL),
        (attributes.normal, kinds.NORMAL),
    ):  # fmt: skip
        for column, spellings in group.items():
            _check_code(column, ATTRIBUTES, "attributes", kind)
            _add_all(lexicon, spellings, Term(kind, code=column))


def _add_places(lexicon: Lexicon, places: PlaceFile) -> None:
    _add_all(lexicon, places.details, Term(kinds.PLACE))
    for name, spellings in places.anatomy.items():
        _add_all(lexicon, [name, *spellings], Term(kinds.ANATOMY, name))
    for name, spellings in places.normal.items():
        _add_all(lexicon, spellings, Term(kinds.ANATOMY, name, kinds.NORMAL))


def _add_hedges(lexicon: Lexicon, scope: ScopeFile) -> None:
    for hedge in (known for known in bundled_lexicon().hedges if known.structured):
        if hedge.side == "left":
            lexicon.add(hedge.phrase, Term(kinds.OPEN_AFTER))
        elif hedge.side != "list":
            lexicon.add(hedge.phrase, Term(kinds.OPEN, "list" if " " in hedge.phrase else "near"))
    _add_all(lexicon, scope.open.near, Term(kinds.OPEN, "near"))
    _add_all(lexicon, scope.open.list_, Term(kinds.OPEN, "list"))
    _add_all(lexicon, scope.open.after, Term(kinds.OPEN_AFTER))
    _add_all(lexicon, scope.open.alternatives, Term(kinds.ALTERNATIVE))


def _add_denials(lexicon: Lexicon, scope: ScopeFile) -> None:
    _add_all(lexicon, scope.denied.before, Term(kinds.DENY, "list", "d"))
    _add_all(lexicon, scope.denied.near, Term(kinds.DENY, "near", "d"))
    _add_all(lexicon, scope.denied.after, Term(kinds.DENY_AFTER, code="d"))
    _add_all(lexicon, scope.denied.ended, Term(kinds.ENDED, code="d"))
    _add_all(lexicon, scope.doubted.before, Term(kinds.DENY, "list", "t"))
    _add_all(lexicon, scope.doubted.after, Term(kinds.DENY_AFTER, code="t"))


def _add_asides(lexicon: Lexicon, scope: ScopeFile) -> None:
    for kind, spellings in (
        (kinds.CONDITION, scope.conditions), (kinds.PAST, scope.past), (kinds.SOURCE, scope.source),
        (kinds.SOMEBODY_ELSE, scope.somebody_else), (kinds.EXAM, scope.advice.exams),
        (kinds.AIM, scope.advice.aims), (kinds.ADVICE, scope.advice.verbs),
    ):  # fmt: skip
        _add_all(lexicon, spellings, Term(kind))
    for spelling in scope.question:  # most of them mean the same in a report
        lexicon.add(spelling, Term(kinds.QUESTION), widen=True)


def _add_findings(lexicon: Lexicon, by_category: dict[str, Spellings], file: str) -> None:
    for category, by_name in by_category.items():
        _check_code(category, CATEGORIES, file, category)
        for name, spellings in by_name.items():
            _add_all(lexicon, [name, *spellings], Term(kinds.FINDING, name, category))


def _widen(lexicon: Lexicon, terms: pd.DataFrame) -> bytes:
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
                spelling, Term(kinds.FINDING, " ".join((name or spelling).lower().split()), code)
            )
        elif group == "location":
            lexicon.add_literal(spelling, Term(kinds.PLACE))
        elif column in ATTRIBUTES:
            lexicon.add_literal(spelling, Term(kinds.WORD, code=column))
    return repr(rows).encode("utf-8", "surrogatepass")


def _add_all(lexicon: Lexicon, spellings: Iterable[str], term: Term) -> None:
    for spelling in spellings:
        lexicon.add(spelling, term)


def _check_code(found: str, expected: Iterable[str], file: str, place: str) -> None:
    if found not in expected:
        raise ConfigurationError(
            f"{word_file(file)}, {place}: {found!r} is no code. Expected one of {', '.join(expected)}."
        )
