"""What spellings mean, how they are found in a sentence, and where they come from: the word files
(`resources/structuring/*.yaml`; the header of each says what its groups mean), the hedging phrases of the
judges, and a delivered vocabulary (method.md section 7).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import pandas as pd

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.vocabulary import Singulars, built_in_forms, category_code
from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.rules.lexicon import bundled_lexicon
from lunguage_assets.structuring.text.sections import require, word_file, word_path
from lunguage_assets.tables import ATTRIBUTES
from lunguage_assets.tables.columns import CATEGORIES

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
_ALTERNATIVES = re.compile(r"\(([^()]*)\)")


class _RuleWords(dict[str, frozenset[str]]):
    def __missing__(self, group: str) -> frozenset[str]:
        raise ConfigurationError(f"{word_path('rules')}: group {group!r} is missing. Restore it.")


WORDS = _RuleWords({group: frozenset(words) for (group, _), words in word_file("rules").items()})
"""The words by which the rules decide, by group: `resources/structuring/rules.yaml`."""


class Sense(NamedTuple):
    """What a spelling means; `name` is canonical, or the reach of a denial or hedge, `code` the column."""

    kind: Kind
    name: str = ""
    code: str = ""


class Token(NamedTuple):
    """A word of a sentence in the form in which words are compared, and its characters."""

    form: str
    begin: int
    end: int


class ReportLexicon:
    """All spellings as one tree of words, the longest wins; `words`: form -> words read as it."""

    def __init__(self, words: Mapping[str, list[str]]) -> None:
        self._singulars = Singulars(built_in_forms())
        self._spellings = {
            spelling.lower(): form.lower() for form, spellings in words.items() for spelling in spellings
        }
        self._form = remembered(self._form_of)
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

    def add(self, spelling: str, sense: Sense) -> None:
        """Add every alternative of a spelling; of a question, those that mean nothing else in a report."""
        for one in alternatives(spelling):
            self.add_literal(one, sense, widen=sense.kind == "question")

    def add_literal(self, spelling: str, sense: Sense, *, widen: bool = True) -> None:
        """Add a spelling in which brackets mean nothing; one without words is left out."""
        branch = self._tree
        for token in self.tokens(spelling):
            branch = branch.setdefault(token.form, {})
        if branch is not self._tree and not (widen and None in branch):
            branch[None] = sense

    def match(self, tokens: list[Token], start: int) -> tuple[Sense | None, int]:
        """The longest known spelling at a token, and the token behind it; "adverb" is any word in -ly."""
        branch, found, end = self._tree, None, start + 1
        for place in range(start, len(tokens)):
            form = tokens[place].form
            following = branch.get(form) or (branch.get("adverb") if form.endswith("ly") else None)
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
    for choice in inner.group(1).split("|"):
        yield from alternatives(spelling[: inner.start()] + choice + spelling[inner.end() :])


# --- the words put together

_FILES = ("attributes", "devices", "findings", "places", "rules", "scope", "words")
_GRAMMAR: Mapping[str, Kind] = {
    "prepositions": "preposition", "articles": "article", "seen": "seen", "links": "link", "with": "with",
    "copulas": "copula", "breaks": "break", "commas": "comma", "ands": "and",
}  # fmt: skip
_SCOPES = {
    "open near": Sense("open", "near"),
    "open list": Sense("open", "list"),
    "open after": Sense("open after"),
    "open alternatives": Sense("alternative"),
    "denied before": Sense("deny", "list", "d"),
    "denied near": Sense("deny", "near", "d"),
    "denied after": Sense("deny after", code="d"),
    "denied ended": Sense("ended", code="d"),
    "doubted before": Sense("deny", "list", "t"),
    "doubted after": Sense("deny after", code="t"),
    "conditions": Sense("condition"),
    "past": Sense("past"),
    "source": Sense("source"),
    "somebody_else": Sense("somebody else"),
    "advice exams": Sense("exam"),
    "advice aims": Sense("aim"),
    "advice verbs": Sense("advice"),
    "advice moves": Sense("advice", "move"),
    "parts": Sense("other", "part"),
    "settings": Sense("open after", "setting"),
    "question": Sense("question"),
}
"""Groups of scope.yaml."""
_SAID: Mapping[str, tuple[Kind, str]] = {
    "words": ("word", ""),
    "abnormal": ("abnormal", ""),
    "normal": ("normal", ""),
    "undecided": ("abnormal", UNDECIDED),
}
"""Groups of attributes.yaml."""


def build_lexicon(terms: pd.DataFrame | None = None) -> tuple[ReportLexicon, str]:
    """The bundled words, widened by a delivered vocabulary (a `tables.TERMS` frame), and the hash of both.

    Raises:
        ConfigurationError: a file of `resources/structuring/` that cannot be read; names file and field.
    """
    if terms is None:
        return _build(())
    cells = (terms[name].tolist() for name in ("category", "target_term", "normed_term"))
    return _build(tuple(sorted(set(zip(*cells, strict=True)))))


def content_hash(*more: bytes) -> str:
    """Hash of the bundled words, and of what widens them; no lexicon is put together for it."""
    content = [word_path(name).read_bytes() for name in _FILES]
    content += [resource(name).read_bytes() for name in ("hedges.yaml", "terms.yaml")]
    return hashlib.blake2b(b"\x1f".join([*content, *more]), digest_size=8).hexdigest()


@lru_cache(maxsize=2)
def _build(terms: tuple[tuple[str, str, str], ...]) -> tuple[ReportLexicon, str]:
    lexicon = ReportLexicon({form: spellings for (_, form), spellings in word_file("words").items()})
    for spellings, sense in _bundled():
        for spelling in spellings:
            lexicon.add(spelling, sense)
    if not terms:
        return lexicon, content_hash()
    columns = {published: column for column, published in ATTRIBUTES.items()}
    for category, spelling, name in terms:
        code, group = category_code(category), " ".join(category.lower().split())
        column = columns.get(group, group)
        if code is not None:
            named = " ".join((name or spelling).lower().split())
            lexicon.add_literal(spelling, Sense("finding", named, code))
        elif group == "location":
            lexicon.add_literal(spelling, Sense("place"))
        elif column in ATTRIBUTES:
            lexicon.add_literal(spelling, Sense("word", code=column))
    return lexicon, content_hash(repr(list(terms)).encode("utf-8", "surrogatepass"))


def _bundled() -> Iterator[tuple[Iterable[str], Sense]]:
    """Spellings with their meaning; what comes later replaces what came before: the order of precedence."""
    scope = {" ".join(key).strip(): spellings for key, spellings in word_file("scope").items()}
    require("scope", scope, (*_GRAMMAR, *_SCOPES))
    for group, grammatical in _GRAMMAR.items():
        yield scope.get(group, ()), Sense(grammatical)
    attributes = word_file("attributes")
    require("attributes", (group for group, _ in attributes), _SAID)
    require("attributes", (column for _, column in attributes), ATTRIBUTES)
    for said, (kind, name) in _SAID.items():
        for (group, column), spellings in attributes.items():
            if group == said:
                yield spellings, Sense(kind, name, column)
    places = word_file("places")
    require("places", (group for group, _ in places), ("anatomy", "normal", "details", "elsewhere"))
    yield places.get(("details", ""), ()), Sense("place")
    yield places.get(("elsewhere", ""), ()), Sense("place", ELSEWHERE)
    for part, code in (("anatomy", ""), ("normal", "normal")):
        for (group, name), spellings in places.items():
            if group == part:
                yield spellings if code else (name, *spellings), Sense("anatomy", name, code)
    for hedge in bundled_lexicon().hedges:
        if hedge.structured and hedge.side == "left":
            yield (hedge.phrase,), Sense("open after")
        elif hedge.structured and hedge.side != "list":
            yield (hedge.phrase,), Sense("open", "list" if " " in hedge.phrase else "near")
    for group, sense in _SCOPES.items():
        yield scope.get(group, ()), sense
    for file in ("findings", "devices"):
        found = word_file(file)
        require(file, (category for category, _ in found), CATEGORIES)
        for (category, name), spellings in found.items():
            yield (name, *spellings), Sense("finding", name, category)
