"""The words that the offline structurer knows, and how they are found in a sentence (structure.md section 7).

The words are data (`resources/structuring/`); which rules use them is in the other modules of this package.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from lunguage_assets.corpus.vocabulary import Singulars, built_in_forms, category_code
from lunguage_assets.data_files import resource
from lunguage_assets.errors import ConfigurationError
from lunguage_assets.judges.rules.lexicon import bundled_lexicon
from lunguage_assets.tables import ATTRIBUTES, CATEGORIES

VERSION = "1"
"""Part of the structurer's identity: raise it with every change of rules that changes an answer."""

FILES = ("findings", "devices", "places", "attributes", "scope", "words")

FINDING, ANATOMY, PLACE, WORD, ABNORMAL, NORMAL = "finding", "anatomy", "place", "word", "abnormal", "normal"
DENY, DENY_AFTER, ENDED = "deny", "deny after", "ended"
OPEN, OPEN_AFTER, ALTERNATIVE = "open", "open after", "alternative"
BREAK, COPULA, SEEN, LINK, PREPOSITION, WITH = "break", "copula", "seen", "link", "preposition", "with"
PAST, SOURCE, ADVICE, AIM, EXAM, CONDITION = "past", "source", "advice", "aim", "exam", "condition"
SOMEBODY_ELSE, ARTICLE, AND, COMMA, OTHER = "somebody else", "article", "and", "comma", "other"
QUESTION = "question"

_TOKEN = re.compile(
    r"and/or|vs\b\.?|[wc]/o?|[rs]/[op]|[hb]/[ol]|[ctls]\d{1,2}\b|\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?"
    r"|_+|(?<=\s)[-–]+(?=\s)|—|[;:.,?()/&+\[\]]"
)
_Form = TypeVar("_Form", bound=BaseModel)
_ALTERNATIVES = re.compile(r"\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class Term:
    """What a spelling means: `kind` is one of this module's constants.

    `name` is the canonical name of a finding or a part of the body, or the reach of a denial or hedge;
    `code` the category of a finding or the column of an attribute.
    """

    kind: str
    name: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a sentence in the form in which words are compared, and its characters."""

    form: str
    begin: int
    end: int


class _Words(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    spellings: dict[str, list[str]]


class _Findings(RootModel[dict[str, dict[str, list[str]]]]):
    model_config = ConfigDict(frozen=True)


class _Places(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    anatomy: dict[str, list[str]]
    details: list[str]


class _Attributes(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    words: dict[str, list[str]]
    abnormal: dict[str, list[str]]
    normal: dict[str, list[str]]


class _Scope(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    denied: dict[str, list[str]]
    doubted: dict[str, list[str]]
    open: dict[str, list[str]]
    question: list[str]
    breaks: list[str]
    copulas: list[str]
    seen: list[str]
    links: list[str]
    prepositions: list[str]
    with_: list[str] = Field(alias="with")
    past: list[str]
    source: list[str]
    advice: dict[str, list[str]]
    conditions: list[str]
    somebody_else: list[str]
    articles: list[str]

    def model_post_init(self, _: Any) -> None:
        for group, known in (
            (self.denied, _DENIALS),
            (self.doubted, _DOUBTS),
            (self.open, _HEDGES),
            (self.advice, _ADVICE),
        ):
            if set(group) != set(known):
                raise ValueError(f"keys {sorted(group)}, expected {sorted(known)}")


_DENIALS = {
    "before": Term(DENY, "list", "d"),
    "near": Term(DENY, "near", "d"),
    "after": Term(DENY_AFTER, "", "d"),
    "ended": Term(ENDED, "", "d"),
}
_DOUBTS = {"before": Term(DENY, "list", "t"), "after": Term(DENY_AFTER, "", "t")}
_HEDGES = {
    "near": Term(OPEN, "near"),
    "list": Term(OPEN, "list"),
    "after": Term(OPEN_AFTER),
    "alternatives": Term(ALTERNATIVE),
}
_ADVICE = {"verbs": Term(ADVICE), "aims": Term(AIM), "exams": Term(EXAM)}


class Lexicon:
    """All spellings as one tree of words; the longest spelling at a place wins.

    Terms that are added later replace earlier ones of the same spelling, except those of a delivered
    vocabulary, which only widens.
    """

    def __init__(self, words: Mapping[str, list[str]]) -> None:
        self._singulars = Singulars(built_in_forms())
        self._forms: dict[str, str] = {}
        self._spellings: dict[str, str] = {}
        for form, spellings in words.items():
            for spelling in spellings:
                self._spellings[spelling.lower()] = form.lower()
        self._tree: dict[str | None, Any] = {}

    def tokens(self, text: str) -> list[Token]:
        """The words of a text; hyphens split, other signs are words of their own."""
        known = self._forms
        found = []
        for match in _TOKEN.finditer(text.lower() if len(text.lower()) == len(text) else text):
            word = match.group()
            form = known.get(word)
            if form is None:
                form = known[word] = self._form(word)
            found.append(Token(form, match.start(), match.end()))
        return found

    def _form(self, word: str) -> str:
        word = word.replace("’", "'").rstrip(".") or word
        form = self._spellings.get(word)
        if form is None:
            form = self._singulars.of_word(word)
            form = self._spellings.get(form, form)
        if len(self._forms) > 200_000:
            self._forms.clear()
        return form

    def add(self, spelling: str, term: Term, *, widen: bool = False) -> None:
        """Add every alternative of a spelling."""
        for one in alternatives(spelling):
            branch = self._tree
            for token in self.tokens(one):
                branch = branch.setdefault(token.form, {})
            if branch is not self._tree and not (widen and None in branch):
                branch[None] = term

    def match(self, tokens: list[Token], start: int) -> tuple[Term | None, int]:
        """The longest known spelling that begins at a token, and the token behind it."""
        branch, found, end = self._tree, None, start + 1
        for place in range(start, len(tokens)):
            following = branch.get(tokens[place].form)
            if following is None:
                break
            branch = following
            term = branch.get(None)
            if term is not None:
                found, end = term, place + 1
        return found, end

    def knows(self, spelling: str) -> Term | None:
        """The term of a whole spelling."""
        tokens = self.tokens(spelling)
        term, end = self.match(tokens, 0) if tokens else (None, 0)
        return term if end == len(tokens) else None


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


@lru_cache(maxsize=1)
def bundled_lexicon_of_terms() -> tuple[Lexicon, str]:
    return _build(None)


def build_lexicon(terms: pd.DataFrame | None = None) -> tuple[Lexicon, str]:
    """The bundled words, widened by a delivered vocabulary (a `tables.TERMS` frame), and the hash of both.

    Raises:
        ConfigurationError: a file of `resources/structuring/` that cannot be read; names file and key.
    """
    return bundled_lexicon_of_terms() if terms is None or terms.empty else _build(terms)


def _build(terms: pd.DataFrame | None) -> tuple[Lexicon, str]:
    words, findings, devices, places, attributes, scope = _read_all()
    lexicon = Lexicon(words.spellings)
    for kind, spellings in (
        (PREPOSITION, scope.prepositions), (ARTICLE, scope.articles), (SEEN, scope.seen), (LINK, scope.links),
        (WITH, scope.with_), (COPULA, scope.copulas), (BREAK, scope.breaks),
    ):  # fmt: skip
        _add_all(lexicon, spellings, Term(kind))
    for comma in (",", "(", ")", "[", "]", "-", "–", "—"):
        lexicon.add(comma, Term(COMMA))
    for stop in (";", ".", "however"):
        lexicon.add(stop, Term(BREAK))
    lexicon.add(":", Term(COPULA))
    _add_all(lexicon, ["and", "&", "+", "/"], Term(AND))
    for group, kind in (
        (attributes.words, WORD), (attributes.abnormal, ABNORMAL), (attributes.normal, NORMAL),
    ):  # fmt: skip
        for column, spellings in group.items():
            _check_code(column, ATTRIBUTES, "attributes", kind)
            _add_all(lexicon, spellings, Term(kind, code=column))
    _add_all(lexicon, places.details, Term(PLACE))
    for name, spellings in places.anatomy.items():
        _add_all(lexicon, [name, *spellings], Term(ANATOMY, name))
    _add_scope(lexicon, scope)
    for file, by_category in (("findings", findings), ("devices", devices)):
        for category, by_name in by_category.items():
            _check_code(category, CATEGORIES, file, category)
            for name, spellings in by_name.items():
                _add_all(lexicon, [name, *spellings], Term(FINDING, name, category))
    content = [path.read_bytes() for path in _paths()]
    if terms is not None:
        content.append(_widen(lexicon, terms))
    digest = hashlib.blake2b(b"\x1f".join(content) + resource("hedges.yaml").read_bytes(), digest_size=8)
    return lexicon, digest.hexdigest()


def _add_scope(lexicon: Lexicon, scope: _Scope) -> None:
    for hedge in bundled_lexicon().hedges:
        if hedge.side == "left":
            lexicon.add(hedge.phrase, Term(OPEN_AFTER))
        elif hedge.side in ("right", "both") and not hedge.phrase.startswith(("no ", "without ", "less ")):
            lexicon.add(hedge.phrase, Term(OPEN, "list" if " " in hedge.phrase else "near"))
    for groups, meaning in ((scope.open, _HEDGES), (scope.denied, _DENIALS), (scope.doubted, _DOUBTS)):
        for key, spellings in groups.items():
            _add_all(lexicon, spellings, meaning[key])
    for kind, spellings in (
        (CONDITION, scope.conditions), (PAST, scope.past), (SOURCE, scope.source),
        (SOMEBODY_ELSE, scope.somebody_else),
    ):  # fmt: skip
        _add_all(lexicon, spellings, Term(kind))
    for key in ("exams", "aims", "verbs"):
        _add_all(lexicon, scope.advice[key], _ADVICE[key])
    for spelling in scope.question:
        lexicon.add(spelling, Term(QUESTION), widen=True)
    _add_all(lexicon, ["if any", "if present"], Term(OPEN_AFTER))


def _widen(lexicon: Lexicon, terms: pd.DataFrame) -> bytes:
    """Add a delivered vocabulary's spellings that the bundled words lack; its text, for the hash."""
    columns = {published: column for column, published in ATTRIBUTES.items()}
    rows = sorted(zip(*(terms[c].tolist() for c in ("category", "target_term", "normed_term")), strict=True))
    for category, spelling, name in rows:
        code = category_code(category)
        column = columns.get(category.strip().lower(), category.strip().lower())
        if not spelling.strip() or "(" in spelling or "|" in spelling:
            continue
        if code is not None:
            lexicon.add(spelling, Term(FINDING, name.strip().lower() or spelling, code), widen=True)
        elif column == "location":
            lexicon.add(spelling, Term(PLACE), widen=True)
        elif column in ATTRIBUTES:
            lexicon.add(spelling, Term(WORD, code=column), widen=True)
    return repr(rows).encode("utf-8", "surrogatepass")


def _add_all(lexicon: Lexicon, spellings: Iterable[str], term: Term) -> None:
    for spelling in spellings:
        lexicon.add(spelling, term)


def _paths() -> list[Path]:
    return [resource("structuring", f"{name}.yaml") for name in FILES]


def _check_code(found: str, expected: Iterable[str], file: str, place: str) -> None:
    if found not in expected:
        raise ConfigurationError(
            f"{resource('structuring', file + '.yaml')}, {place}: {found!r} is no code. "
            f"Expected one of {', '.join(expected)}."
        )


def _read_all() -> Any:
    """The contents of the files, checked: words, findings, devices, places, attributes, scope."""
    findings, devices, places, attributes, scope, words = (
        read_words(path, form)
        for path, form in zip(
            _paths(), (_Findings, _Findings, _Places, _Attributes, _Scope, _Words), strict=True
        )
    )
    return words, findings.root, devices.root, places, attributes, scope


def read_words(path: Path, form: type[_Form]) -> _Form:
    """One file in its form; raises `ConfigurationError` that names file and key."""
    try:
        return form.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{path}: not readable as YAML ({type(error).__name__}). Mend or restore the file."
        ) from None
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"]) or "the file"
        raise ConfigurationError(
            f"{path}, field {place}: {problem['msg']}. The header of the file explains its form."
        ) from None
