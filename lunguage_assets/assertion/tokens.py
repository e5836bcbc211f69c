"""Words of a sentence with their characters, in the form in which they are compared.

What belongs here: how a text is cut, and what is the same word in another writing
("effusions", "oedema", "c/w"). What a word means stands in `vocabulary.py`.
"""

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
    | [wc]/o? | [rs]/[op] | [hb]/[ol]               # "w/o", "c/o", "s/p", "h/o", "b/l"
    | n/a\b                                         # not applicable
    | [ctls]\d{1,2}\b                               # a vertebra
    | \d{1,2}(?:st|nd|rd|th)\b                      # a rib, or one of several
    | \d+(?:[.,]\d+)*
    | [^\W\d_]+(?:['’][^\W\d_]+)?                  # a word, an apostrophe in it
    | _+                                            # what de-identification leaves
    | (?<=\s)[-–]+(?=\s) | —                       # a dash, and no hyphen
    | [;:.,?()/&+\[\]]
    """,
    re.VERBOSE,
)
_BETWEEN_WORDS = " \t\n-–"
"""Signs that only separate words, and are no tokens themselves."""
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
    before = spelling[: inner.start()]
    behind = spelling[inner.end() :]
    choices = inner.group(1).split("|")
    for choice in choices:
        yield from alternatives(before + choice + behind)


def groups_of(spelling: str) -> list[list[str]]:
    """Cut a spelling into its groups: "no (a|b|) c" is [["no"], ["a", "b", ""], ["c"]].

    A bracket inside a bracket is written out; one without its other half is a sign.
    """
    if spelling.count("(") != spelling.count(")"):
        return [[spelling]]
    groups: list[list[str]] = []
    begin = 0
    depth = 0
    for at, sign in enumerate(spelling):
        if sign == "(":
            depth += 1
            # Only the outermost bracket begins a group.
            if depth == 1:
                words_before = spelling[begin:at]
                groups.append([words_before])
                begin = at + 1
        elif sign == ")":
            depth -= 1
            if depth == 0:
                inside = spelling[begin:at]
                groups.append(_choices(inside))
                begin = at + 1
    words_behind = spelling[begin:]
    groups.append([words_behind])
    return [group for group in groups if group != [""]]


def _choices(inside: str) -> list[str]:
    """List what a bracket offers, of which a choice may have brackets of its own."""
    choices: list[str] = []
    begin = 0
    depth = 0
    for at, sign in enumerate(inside):
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
        elif sign == "|" and depth == 0:
            choices += alternatives(inside[begin:at])
            begin = at + 1
    choices += alternatives(inside[begin:])
    return choices


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
            has_capital = abbreviation != abbreviation.lower()
            if has_capital:
                self._exact[key] = words
            else:
                self._folded[key] = words
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
    spaced: list[str] = []
    for abbreviation in longest_first:
        signs = map(re.escape, abbreviation)
        spaced.append(r"\s*".join(signs))
    any_of_them = "|".join(spaced)
    return f"(?:{any_of_them})"


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
        self._form_by_spelling: dict[str, str] = {}
        for form, listed in spellings.items():
            for spelling in listed:
                self._form_by_spelling[spelling.lower()] = form.lower()
        # Reports repeat their words: each is brought to its form once.
        self._form = remembered(self._form_of)
        self.shorthand = Shorthand(shorthand)

    def tokens(self, text: str) -> list[Token]:
        """Cut a text into tokens; those of an abbreviation share its characters."""
        # Shorthand is looked for in the text as written, whose capitals tell "L" (left)
        # from "l"; all other words in lower case.
        compared = text.lower()
        # A few letters have a longer lower case, which would shift what stands behind.
        if len(compared) != len(text):
            compared = text
        tokens: list[Token] = []
        end_of_last = 0
        for begin, end, meaning in self.shorthand.found_in(text):
            tokens += self._tokens_between(compared, end_of_last, begin)
            for word in _WORD_OR_SIGN.finditer(meaning):
                form = self._form(word.group())
                tokens.append(Token(form, begin, end))
            end_of_last = end
        tokens += self._tokens_between(compared, end_of_last, len(text))
        return tokens

    def unseen(self, text: str) -> str:
        """Find a sign that is read nowhere, if there is one: "§" of "no § effusion"."""
        end_of_last = 0
        for token in self.tokens(text):
            between = text[end_of_last : token.begin]
            unseen = between.strip(_BETWEEN_WORDS)
            if unseen:
                return unseen
            # Tokens of one abbreviation share their characters.
            end_of_last = max(end_of_last, token.end)
        behind_last = text[end_of_last:]
        return behind_last.strip(_BETWEEN_WORDS)

    def _tokens_between(self, text: str, begin: int, end: int) -> list[Token]:
        return [
            Token(self._form(word.group()), word.start(), word.end())
            for word in _WORD_OR_SIGN.finditer(text, begin, end)
        ]

    def _form_of(self, word: str) -> str:
        plain = word.replace("’", "'")
        # "vs." is "vs", but a full stop stays one.
        plain = plain.rstrip(".") or word
        if plain in self._form_by_spelling:
            return self._form_by_spelling[plain]
        singular = self._singulars.of_word(plain)
        # "Oedemas": the spelling of the singular is the one that is listed.
        return self._form_by_spelling.get(singular, singular)


class _Plurals(BaseModel):
    """The part of `resources/terms.yaml` about plurals; its header says more."""

    plurals: dict[str, list[str]]
    invariable: list[str]


class _ShorthandFile(RootModel[dict[str, str]]):
    """Abbreviation -> the words that it stands for."""


@cache
def bundled_tokenizer() -> Tokenizer:
    """Build the tokenizer of the bundled words."""
    remedy = "The header of the file explains its form."
    plurals = read_as(resource("terms.yaml"), _Plurals, remedy)
    singulars = Singulars(plurals.plurals, plurals.invariable)
    listed_by_group = word_file("words")
    spellings = {form: listed for (_, form), listed in listed_by_group.items()}
    shorthand_file = resource("assertion", "shorthand.yaml")
    shorthand = read_as(shorthand_file, _ShorthandFile, remedy)
    return Tokenizer(singulars, spellings, shorthand.root)
