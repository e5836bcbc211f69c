"""Words of a sentence with their characters, in the form in which they are compared.

What belongs here: how a text is cut, and what is the same word in another writing
("effusions", "oedema", "c/w"). What a word means stands in `vocabulary.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from typing import NamedTuple

from pydantic import BaseModel, RootModel

from lunguage_assets.assertion.plurals import Singulars
from lunguage_assets.assertion.word_files import word_file
from lunguage_assets.caches import remembered
from lunguage_assets.packaged_data import read_as, resource

MASK = "<finding>"
"""Stands for the finding in a judge's question."""
WORD_OR_SIGN = re.compile(
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
_BRACKETS = re.compile(r"\(([^()]*)\)")


class Token(NamedTuple):
    """A word or sign of a sentence: its form, and its characters."""

    form: str
    begin: int
    end: int


def choices_of(pattern: str) -> list[list[str]]:
    """Cut a pattern: "no (a|b|) c" is [["no "], ["a", "b", ""], [" c"]]."""
    parts = _BRACKETS.split(pattern)
    choices: list[list[str]] = []
    for number, part in enumerate(parts):
        is_bracket = number % 2 == 1
        choices.append(part.split("|") if is_bracket else [part])
    return choices


def alternatives(pattern: str) -> Iterator[str]:
    """Yield every wording of "(a|b|) c"."""
    for words in product(*choices_of(pattern)):
        joined = "".join(words)
        yield " ".join(joined.split())


def _any_shorthand(abbreviations: Iterable[str]) -> re.Pattern[str]:
    """Match any of some abbreviations, the longest first, with blanks or without.

    One with a capital letter is matched in exactly this writing.
    """
    exact: list[str] = []
    folded: list[str] = []
    for key in sorted(abbreviations, key=len, reverse=True):
        group = folded if key == key.lower() else exact
        group.append(r"\s*".join(map(re.escape, key)))
    # "L" of "L/R", of "L1" or of "2 L" is no side, "w/o" is not "w/" before an o.
    return re.compile(
        rf"(?<![\w/])(?:(?<!\d\s)(?:{'|'.join(exact)})|(?i:{'|'.join(folded)}))(?![\w/])"
    )


class Tokenizer:
    """Cuts a text into tokens; a hyphen separates, other signs are tokens of their own.

    Args:
        singulars: bring plurals to one form.
        spellings: form -> words that are read as it (British, slips of the keyboard).
        shorthand: abbreviation -> words that it stands for.
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
        self._meanings = {"".join(key.split()): shorthand[key] for key in shorthand}
        self._shorthand = _any_shorthand(self._meanings)

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
        for match in self._shorthand.finditer(text):
            begin, end = match.span()
            key = "".join(match.group().split())
            meaning = self._meanings.get(key) or self._meanings[key.lower()]
            tokens += self._tokens_between(compared, end_of_last, begin)
            words = WORD_OR_SIGN.findall(meaning)
            tokens += [Token(self._form(word), begin, end) for word in words]
            end_of_last = end
        tokens += self._tokens_between(compared, end_of_last, len(text))
        return tokens

    def forms(self, words: str) -> tuple[str, ...]:
        """Give the forms of the words of a spelling."""
        # Blanks around tell a dash between words from a hyphen inside one.
        return tuple(token.form for token in self.tokens(f" {words} "))

    def _tokens_between(self, text: str, begin: int, end: int) -> list[Token]:
        return [
            Token(self._form(word.group()), word.start(), word.end())
            for word in WORD_OR_SIGN.finditer(text, begin, end)
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


@cache
def bundled_tokenizer() -> Tokenizer:
    """Build the tokenizer of the bundled words."""
    terms = read_as(resource("terms.yaml"), _Plurals)
    singulars = Singulars(terms.plurals, terms.invariable)
    spellings = word_file("words")["spellings"]
    path = resource("assertion", "shorthand.yaml")
    shorthand = read_as(path, RootModel[dict[str, str]]).root
    return Tokenizer(singulars, spellings, shorthand)
