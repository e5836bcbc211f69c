"""Words of a sentence with their characters, in the form in which they are compared.

What belongs here: how a text is cut, and what is the same word in another writing
("effusions", "oedema", "c/w"). What a word means stands in `vocabulary.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from lunguage_assets.assertion.plurals import singular_of
from lunguage_assets.assertion.word_files import WORDS, word_file
from lunguage_assets.caches import remembered

MASK = "<finding>"
"""Stands for the finding in a judge's question."""
GAP = "<gap>"
"""Form of what de-identification leaves of a word."""

_NUMBER = r"\d[\d.,]*"
BRACKETS = re.compile(r"\(([^()]*)\)")


class Token(NamedTuple):
    """A word or sign of a sentence: its form, and its characters."""

    form: str
    begin: int
    end: int


def choices_of(pattern: str) -> list[list[str]]:
    """Cut a pattern: "no (a|b|) c" is [["no "], ["a", "b", ""], [" c"]]."""
    parts = BRACKETS.split(pattern)
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


def _meant_by(group: str) -> dict[str, str]:
    """Read what the writings of a group of `words.yaml` stand for."""
    meaning_by_writing: dict[str, str] = {}
    for meaning, writings in word_file("words")[group].items():
        for writing in writings:
            meaning_by_writing["".join(writing.split())] = meaning
    return meaning_by_writing


_SHORTHAND = _meant_by("shorthand")
_SPELLINGS = _meant_by("spellings")


def _any_shorthand() -> str:
    """Write a pattern of all abbreviations, with blanks or without."""
    writings: list[str] = []
    # The longest first; one with a capital letter is matched in exactly this writing.
    for key in sorted(_SHORTHAND, key=len, reverse=True):
        spaced = r"\s*".join(map(re.escape, key))
        writings.append(spaced if key == key.lower() else rf"(?<!\d\s)(?-i:{spaced})")
    # "L" of "L/R", of "L1" or of "2 L" is no side, "w/o" is not "w/" before an o.
    return rf"(?<![\w/])(?:{'|'.join(writings)})(?![\w/])"


_BEGINS_OF_SHORTHAND = "|".join(re.findall(r"(?i)\b[a-z]{2}", " ".join(_SHORTHAND)))
"""A pattern of what an abbreviation may begin with, as a word does."""

WORD_OR_SIGN = re.compile(
    rf"""(?!{_BEGINS_OF_SHORTHAND} | vs | xx | and/)
      [^\W\d_]{{2,}} (?![\w'’])                     # most words: what follows is rare
    | (?!\s)(?:
    <(?:finding|size|vertebra|ordinal)>            # as files of words write them
    | (?P<shorthand>{_any_shorthand()})
    | (?P<size>                                     # "2.3 x 1.4 cm", "2 to 3 cm"
        {_NUMBER} (?:\s*(?:x|by|to|-|–)\s*{_NUMBER})* [\s-]*
        (?:{"|".join(WORDS["units_of_size"])})s?\b
      )
    | (?P<vertebra>[ctls]\d{{1,2}}\b)
    | (?P<ordinal>\d{{1,2}}(?:st|nd|rd|th)\b)       # a rib, or one of several
    | and/or | // | vs\b\.?
    | [wc]/o? | [rs]/[op] | [hb]/[ol]               # "w/o", "c/o", "s/p", "h/o", "b/l"
    | n/a\b                                         # not applicable
    | \d+(?:[.,]\d+)*
    | (?P<gap>x{{3,}}\b | _+)                        # what de-identification leaves
    | [^\W\d_]+(?:['’][^\W\d_]+)?                  # a word, an apostrophe in it
    | (?<=\s)[-–]+(?=\s) | —                       # a dash, and no hyphen
    | [;:.,?()/&+\[\]]
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""What a named group matches is one word to all rules, "<size>"; shorthand is the words
that it stands for.
"""


def tokens_of(text: str) -> list[Token]:
    """Cut a text into tokens; a hyphen separates, other signs are tokens of their own.

    The tokens of an abbreviation share its characters.
    """
    tokens: list[Token] = []
    for match in WORD_OR_SIGN.finditer(text):
        kind = match.lastgroup
        word = match.group()
        if kind is None:
            tokens.append(Token(_form_of(word.lower()), *match.span()))
            continue
        forms: tuple[str, ...] = (f"<{kind}>",)
        if kind == "shorthand":
            key = "".join(word.split())
            forms = forms_of(_SHORTHAND.get(key) or _SHORTHAND[key.lower()])
        tokens += [Token(form, *match.span()) for form in forms]
    return tokens


@remembered
def forms_of(words: str) -> tuple[str, ...]:
    """Give the forms of the words of a spelling."""
    # Blanks around tell a dash between words from a hyphen inside one.
    return tuple(token.form for token in tokens_of(f" {words} "))


@remembered
def _form_of(word: str) -> str:
    """Bring a word to the form in which it is compared.

    Reports repeat their words: each is brought to its form once.
    """
    plain = word.replace("’", "'")
    # "vs." is "vs", but a full stop stays one.
    plain = plain.rstrip(".") or word
    # "Oedemas": the spelling of the singular is the one that is listed.
    singular = singular_of(plain)
    form = _SPELLINGS.get(singular, singular)
    return _SPELLINGS.get(plain, form)
