"""Words of a sentence with their characters, in the form in which they are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from pydantic import BaseModel, RootModel

from lunguage_assets.assertion.plurals import Singulars
from lunguage_assets.assertion.word_files import word_file
from lunguage_assets.caches import remembered
from lunguage_assets.packaged_data import read_as, resource

MASK = "<finding>"
"""Stands for the finding in a judge's question."""
_WORD_OR_SIGN = re.compile(
    r"""<finding>                                   # the finding of a judge's question
    | and/or | // | vs\b\.?
    | [wc]/o? | [rs]/[op] | [hb]/[ol]
    | [ctls]\d{1,2}\b                               # a vertebra
    | \d{1,2}(?:st|nd|rd|th)\b | \d+(?:[.,]\d+)*
    | [^\W\d_]+(?:['’][^\W\d_]+)?
    | _+                                            # what de-identification leaves
    | (?<=\s)[-–]+(?=\s) | — | [;:.,?()/&+\[\]]
    """,
    re.VERBOSE,
)
_PARTS_WORDS = " \t\n-–"
_ALTERNATIVES = re.compile(r"\(([^()]*)\)")


class Token(NamedTuple):
    """A word or sign of a sentence: its form, and its characters."""

    form: str
    begin: int
    end: int


def alternatives(spelling: str) -> Iterator[str]:
    """Yield every wording of "(a|b|) c", whose brackets may be nested."""
    inner = _ALTERNATIVES.search(spelling)
    if inner is None:
        yield " ".join(spelling.split())
        return
    before, behind = spelling[: inner.start()], spelling[inner.end() :]
    for choice in inner.group(1).split("|"):
        yield from alternatives(before + choice + behind)


def groups_of(spelling: str) -> list[list[str]]:
    """Cut a spelling into its groups: "no (a|b|) c" is [["no"], ["a", "b", ""], ["c"]].

    A bracket inside a bracket is written out; one without its other half is a sign.
    """
    if spelling.count("(") != spelling.count(")"):
        return [[spelling]]
    groups: list[list[str]] = []
    begin = depth = 0
    for at, sign in enumerate(spelling):
        if sign == "(":
            if depth == 0:
                groups.append([spelling[begin:at]])
                begin = at + 1
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth == 0:
                groups.append(_choices(spelling[begin:at]))
                begin = at + 1
    groups.append([spelling[begin:]])
    return [group for group in groups if group != [""]]


def _choices(inside: str) -> list[str]:
    """List what a bracket offers, of which a choice may have brackets of its own."""
    choices: list[str] = []
    begin = depth = 0
    for at, sign in enumerate(inside):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth == 0:
            choices += alternatives(inside[begin:at])
            begin = at + 1
    return [*choices, *alternatives(inside[begin:])]


class Shorthand:
    """Finds abbreviations of the ward in a text, and what they stand for.

    Args:
        meanings: abbreviation -> words. One with a capital letter is matched in exactly
            this writing ("L" is left, "l" is nothing), others in any.
    """

    def __init__(self, meanings: Mapping[str, str]) -> None:
        self._exact: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        for abbreviation, words in meanings.items():
            key = "".join(abbreviation.split())
            is_exact = abbreviation != abbreviation.lower()
            (self._exact if is_exact else self._folded)[key] = words
        exact = _pattern_of(self._exact)
        folded = _pattern_of(self._folded)
        # "L" of "L/R", of "L1" or of "2 L" is no side, "w/o" is not "w/" before an o.
        self._pattern = re.compile(
            rf"(?<![\w/])(?:(?<!\d\s){exact}|(?i:{folded}))(?![\w/])"
        )

    def found_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where each abbreviation begins and ends, and its words."""
        for match in self._pattern.finditer(text):
            abbreviation = "".join(match.group().split())
            meaning = self._exact.get(abbreviation)
            if meaning is None:
                meaning = self._folded[abbreviation.lower()]
            yield match.start(), match.end(), meaning


def _pattern_of(abbreviations: Iterable[str]) -> str:
    """Match any of some abbreviations, the longest first, with blanks or without."""
    longest_first = sorted(abbreviations, key=len, reverse=True)
    spaced = (r"\s*".join(map(re.escape, key)) for key in longest_first)
    return f"(?:{'|'.join(spaced)})"


class Tokenizer:
    """Cuts a text into tokens; a hyphen separates, other signs are tokens of their own.

    Args:
        singulars: bring plurals to one form.
        spellings: form -> words that are read as it (British, slips of the keyboard).
        shorthand: abbreviation -> words that it stands for. A key with a capital letter
            is matched in exactly this writing ("L" is left, "l" is nothing).
    """

    def __init__(
        self,
        singulars: Singulars,
        spellings: Mapping[str, list[str]],
        shorthand: Mapping[str, str],
    ) -> None:
        self._singulars = singulars
        self._form_by_spelling = {
            spelling.lower(): form.lower()
            for form, listed in spellings.items()
            for spelling in listed
        }
        self._form = remembered(self._form_of)
        self._shorthand = Shorthand(shorthand)

    def tokens(self, text: str) -> list[Token]:
        """Cut a text into tokens; those of an abbreviation share its characters."""
        tokens: list[Token] = []
        end = 0
        lower = text.lower()
        # A few letters have a longer lower case, which would shift what stands behind.
        compared = lower if len(lower) == len(text) else text
        for begin, behind, meaning in self._shorthand.found_in(text):
            tokens += self._tokens_between(compared, end, begin)
            for word in _WORD_OR_SIGN.finditer(meaning):
                tokens.append(Token(self._form(word.group()), begin, behind))
            end = behind
        tokens += self._tokens_between(compared, end, len(text))
        return tokens

    def unseen(self, text: str) -> str:
        """Find a sign that no token has and that parts no words, if there is one."""
        begin = 0
        for token in self.tokens(text):
            between = text[begin : token.begin]
            begin = max(begin, token.end)
            if between.strip(_PARTS_WORDS):
                return between.strip(_PARTS_WORDS)
        return text[begin:].strip(_PARTS_WORDS)

    def _tokens_between(self, text: str, begin: int, end: int) -> list[Token]:
        return [
            Token(self._form(word.group()), word.start(), word.end())
            for word in _WORD_OR_SIGN.finditer(text, begin, end)
        ]

    def _form_of(self, word: str) -> str:
        word = word.replace("’", "'").rstrip(".") or word
        if word in self._form_by_spelling:
            return self._form_by_spelling[word]
        singular = self._singulars.of_word(word)
        return self._form_by_spelling.get(singular, singular)


class _Forms(BaseModel):
    """The part of `resources/terms.yaml` about plurals; its header says more."""

    plurals: dict[str, list[str]]
    invariable: list[str]


class _Shorthand(RootModel[dict[str, str]]):
    """Abbreviation -> the words that it stands for."""


@cache
def bundled_tokenizer() -> Tokenizer:
    """Build the tokenizer of the bundled words."""
    remedy = "The header of the file explains its form."
    forms = read_as(resource("terms.yaml"), _Forms, remedy)
    spellings = {form: listed for (_, form), listed in word_file("words").items()}
    file = resource("assertion", "shorthand.yaml")
    shorthand = read_as(file, _Shorthand, remedy).root
    return Tokenizer(Singulars(forms.plurals, forms.invariable), spellings, shorthand)
