"""What spellings mean, how they are found in a sentence, and where they come from: the word files
(`resources/structuring/*.yaml`; the header of each says what its groups mean), the hedging phrases of the
judges, and a delivered vocabulary (method.md section 7).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import RootModel

from lunguage_assets.corpus.vocabulary import Singulars, built_in_forms, category_code
from lunguage_assets.data_files import read_as, resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.rules.lexicon import bundled_lexicon
from lunguage_assets.tables import ATTRIBUTES, CATEGORIES

VERSION = "13"
"""Part of the structurer's identity: raise it with every change of rules that changes an answer."""

Kind = Literal[
    "finding", "anatomy", "place", "word", "abnormal", "normal", "deny", "deny after", "ended", "open",
    "open after", "alternative", "break", "copula", "seen", "link", "preposition", "with", "past", "source",
    "advice", "aim", "exam", "condition", "somebody else", "article", "and", "comma", "question", "other",
]  # fmt: skip
"""What a spelling is for the rules; `other` is an unknown word."""

UNDECIDED = "undecided"
"""Name of words that are themselves between normal and abnormal: "borderline"."""

_TOKEN = re.compile(
    r"and/or|//|vs\b\.?|[wc]/o?|[rs]/[op]|[hb]/[ol]|[ctls]\d{1,2}\b|\d{1,2}(?:st|nd|rd|th)\b|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?"
    r"|_+|(?<=\s)[-–]+(?=\s)|—|[;:.,?()/&+\[\]]"
)
ELSEWHERE = "elsewhere"
"""Name of places that a chest film does not show."""
_ADVERB = "adverb"
_ALTERNATIVES = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class Sense:
    """What a spelling means.

    `name` is the canonical name of a finding or a part of the body, or the reach of a denial or hedge;
    `code` the category of a finding or the column of an attribute.
    """

    kind: Kind
    name: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a sentence in the form in which words are compared, and its characters."""

    form: str
    begin: int
    end: int


class ReportLexicon:
    """All spellings as one tree of words; the longest spelling at a place wins. `words`: single words that
    are read as another, form -> spellings.
    """

    def __init__(self, words: Mapping[str, list[str]]) -> None:
        self._singulars = Singulars(built_in_forms())
        self._spellings = {
            spelling.lower(): form.lower() for form, spellings in words.items() for spelling in spellings
        }
        self._form = lru_cache(maxsize=200_000)(self._form_of)
        self._tree: dict[str | None, Any] = {}

    def tokens(self, text: str) -> list[Token]:
        """The words of a text; hyphens split, other signs are words of their own."""
        lower = text.lower()
        found = _TOKEN.finditer(lower if len(lower) == len(text) else text)
        return [Token(self._form(word.group()), *word.span()) for word in found]

    def _form_of(self, word: str) -> str:
        word = word.replace("’", "'").rstrip(".") or word
        if word in self._spellings:
            return self._spellings[word]
        form = self._singulars.of_word(word)
        return self._spellings.get(form, form)

    def add(self, spelling: str, sense: Sense, *, widen: bool = False) -> None:
        """Add every alternative of a spelling; `widen`: only where nothing is known yet."""
        for one in alternatives(spelling):
            self.add_literal(one, sense, widen=widen)

    def add_literal(self, spelling: str, sense: Sense, *, widen: bool = True) -> None:
        """Add a spelling in which brackets mean nothing; one without words is left out."""
        branch = self._tree
        for token in self.tokens(spelling):
            branch = branch.setdefault(token.form, {})
        if branch is not self._tree and not (widen and None in branch):
            branch[None] = sense

    def match(self, tokens: list[Token], start: int) -> tuple[Sense | None, int]:
        """The longest known spelling that begins at a token, and the token behind it.

        "adverb" of a spelling is any word that ends in -ly.
        """
        branch, found, end = self._tree, None, start + 1
        for place in range(start, len(tokens)):
            form = tokens[place].form
            following = branch.get(form) or (branch.get(_ADVERB) if form.endswith("ly") else None)
            if following is None:
                break
            branch = following
            sense = branch.get(None)
            if sense is not None:
                found, end = sense, place + 1
        return found, end


def alternatives(spelling: str) -> Iterator[str]:
    """Every wording of "(a|b|) c", without repeated blanks; an alternative may itself hold "(c|d)"."""
    inner = _ALTERNATIVES.search(spelling)
    if inner is None:
        yield " ".join(spelling.split())
        return
    pieces = _ALTERNATIVES.split(spelling)
    if any("(" in piece or ")" in piece for piece in pieces[::2]):
        for choice in inner.group(1).split("|"):
            yield from alternatives(spelling[: inner.start()] + choice + spelling[inner.end() :])
        return
    for choices in product(*(piece.split("|") if n % 2 else [piece] for n, piece in enumerate(pieces))):
        yield " ".join("".join(choices).split())


# --- the words put together


Meant = tuple[Iterable[str], Sense]
"""Spellings, and what all of them mean."""

_FILES = ("attributes", "devices", "findings", "places", "scope", "words")
_SIGNS: Mapping[Kind, tuple[str, ...]] = {
    "copula": (":",),
    "break": (";", ".", "//"),
    "comma": (",", "(", ")", "[", "]", "-", "–", "—"),
    "and": ("and", "&", "+", "/"),
}
_GRAMMAR = {
    ("prepositions", ""): Sense("preposition"),
    ("articles", ""): Sense("article"),
    ("seen", ""): Sense("seen"),
    ("links", ""): Sense("link"),
    ("with", ""): Sense("with"),
    ("copulas", ""): Sense("copula"),
    ("breaks", ""): Sense("break"),
}
_SCOPES = {
    ("open", "near"): Sense("open", "near"),
    ("open", "list"): Sense("open", "list"),
    ("open", "after"): Sense("open after"),
    ("open", "alternatives"): Sense("alternative"),
    ("denied", "before"): Sense("deny", "list", "d"),
    ("denied", "near"): Sense("deny", "near", "d"),
    ("denied", "after"): Sense("deny after", code="d"),
    ("denied", "ended"): Sense("ended", code="d"),
    ("doubted", "before"): Sense("deny", "list", "t"),
    ("doubted", "after"): Sense("deny after", code="t"),
    ("conditions", ""): Sense("condition"),
    ("past", ""): Sense("past"),
    ("source", ""): Sense("source"),
    ("somebody_else", ""): Sense("somebody else"),
    ("advice", "exams"): Sense("exam"),
    ("advice", "aims"): Sense("aim"),
    ("advice", "verbs"): Sense("advice"),
    ("advice", "moves"): Sense("advice", "move"),
    ("parts", ""): Sense("other", "part"),
    ("settings", ""): Sense("open after", "setting"),
}
_QUESTION = ("question", "")
_SAID: Mapping[str, tuple[Kind, str]] = {
    "words": ("word", ""),
    "abnormal": ("abnormal", ""),
    "normal": ("normal", ""),
    "undecided": ("abnormal", UNDECIDED),
}
"""Groups of attributes.yaml."""


class _WordFile(RootModel[dict[str, list[str] | dict[str, list[str]]]]):
    """Groups of spellings, or of names with their spellings."""


def word_file(name: str) -> dict[tuple[str, str], list[str]]:
    """Spellings of `resources/structuring/NAME.yaml` by group and name; "" in a group without names.

    Raises:
        ConfigurationError: it cannot be read; names file and field.
    """
    remedy = "The header of the file explains its form."
    flat: dict[tuple[str, str], list[str]] = {}
    for group, named in read_as(_path(name), _WordFile, remedy).root.items():
        flat |= {(group, ""): named} if isinstance(named, list) else {(group, k): v for k, v in named.items()}
    return flat


def _path(name: str) -> Path:
    return resource("structuring", f"{name}.yaml")


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
    lexicon = ReportLexicon({form: spellings for (_, form), spellings in word_file("words").items()})
    scope = word_file("scope")
    known = (*_GRAMMAR, *_SCOPES, _QUESTION)
    found, expected = ({" ".join(key).strip() for key in keys} for keys in (scope, known))
    _require("scope", found, sorted(expected), whole=True)
    grammar, scopes = ([(scope[key], sense) for key, sense in part.items()] for part in (_GRAMMAR, _SCOPES))
    for spellings, sense in (*grammar, *_signs(), *_attributes(), *_places(), *_hedges(), *scopes):
        for spelling in spellings:
            lexicon.add(spelling, sense)
    for spelling in scope[_QUESTION]:  # most of them mean the same in a report
        lexicon.add(spelling, Sense("question"), widen=True)
    for spellings, sense in (*_findings("findings"), *_findings("devices")):
        for spelling in spellings:
            lexicon.add(spelling, sense)
    return lexicon, content_hash() if terms is None else content_hash(_widen(lexicon, terms))


def content_hash(*more: bytes) -> str:
    """Hash of the bundled words, and of what widens them; no lexicon is put together for it."""
    content = [_path(name).read_bytes() for name in _FILES]
    content += [resource(name).read_bytes() for name in ("hedges.yaml", "terms.yaml")]
    return hashlib.blake2b(b"\x1f".join([*content, *more]), digest_size=8).hexdigest()


def _signs() -> Iterator[Meant]:
    for kind, signs in _SIGNS.items():
        yield signs, Sense(kind)


def _attributes() -> Iterator[Meant]:
    file = word_file("attributes")
    _require("attributes", {group for group, _ in file}, _SAID, whole=True)
    _require("attributes", {column for _, column in file}, ATTRIBUTES)
    for said, (kind, name) in _SAID.items():
        for (group, column), spellings in file.items():
            if group == said:
                yield spellings, Sense(kind, name, column)


def _places() -> Iterator[Meant]:
    file = word_file("places")
    _require(
        "places", {group for group, _ in file}, ("anatomy", "normal", "details", "elsewhere"), whole=True
    )
    yield file["details", ""], Sense("place")
    yield file["elsewhere", ""], Sense("place", ELSEWHERE)
    for (group, name), spellings in file.items():
        if group == "anatomy":
            yield (name, *spellings), Sense("anatomy", name)
    for (group, name), spellings in file.items():
        if group == "normal":
            yield spellings, Sense("anatomy", name, "normal")


def _hedges() -> Iterator[Meant]:
    for hedge in bundled_lexicon().hedges:
        if hedge.structured and hedge.side == "left":
            yield (hedge.phrase,), Sense("open after")
        elif hedge.structured and hedge.side != "list":
            yield (hedge.phrase,), Sense("open", "list" if " " in hedge.phrase else "near")


def _findings(file: str) -> Iterator[Meant]:
    found = word_file(file)
    _require(file, {category for category, _ in found}, CATEGORIES)
    for (category, name), spellings in found.items():
        yield (name, *spellings), Sense("finding", name, category)


def _widen(lexicon: ReportLexicon, terms: pd.DataFrame) -> bytes:
    """Add a delivered vocabulary's spellings that the bundled words lack; its text, for the hash."""
    columns = {published: column for column, published in ATTRIBUTES.items()}
    cells = (terms[name].tolist() for name in ("category", "target_term", "normed_term"))
    rows = sorted(set(zip(*cells, strict=True)))
    for category, spelling, name in rows:
        code, group = category_code(category), " ".join(category.lower().split())
        column = columns.get(group, group)
        if code is not None:
            named = " ".join((name or spelling).lower().split())
            lexicon.add_literal(spelling, Sense("finding", named, code))
        elif group == "location":
            lexicon.add_literal(spelling, Sense("place"))
        elif column in ATTRIBUTES:
            lexicon.add_literal(spelling, Sense("word", code=column))
    return repr(rows).encode("utf-8", "surrogatepass")


def _require(file: str, found: set[str], expected: Iterable[str], *, whole: bool = False) -> None:
    wrong = found ^ set(expected) if whole else found - set(expected)
    for name in sorted(wrong):
        what = "is no code" if name in found else "is missing"
        raise ConfigurationError(f"{_path(file)}, {name!r} {what}; expected {', '.join(expected)}.")
