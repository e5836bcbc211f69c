"""A sentence as units: spellings of the lexicon with their places, in order."""

from __future__ import annotations

import re

from lunguage_assets.structuring.contract import Span as Place
from lunguage_assets.structuring.contract import Value
from lunguage_assets.structuring.rules.lexicon import (
    AIM,
    ARTICLE,
    COPULA,
    DENY,
    ENDED,
    NORMAL,
    OPEN,
    OTHER,
    PAST,
    PLACE,
    PREPOSITION,
    QUESTION,
    WORD,
    Lexicon,
    Term,
    Token,
)

_UNKNOWN = Term(OTHER)
_SIZE = Term(WORD, code="measurement")
_LEVEL = Term(PLACE)
_DISTANCE = Term(PREPOSITION)
_FROM, _ABOUT = frozenset({"above", "below"}), frozenset({"approximately", "about"})
_LOOSE = frozenset({"of", "in", "from", "since", "than", "compared"})
"""Last words of a spelling that only lead on to the finding."""
_IN_REQUEST, _IN_REPORT = Term(OPEN, "list"), Term(AIM)
_UNITS_OF_SIZE = frozenset({"cm", "mm", "centimeter", "millimeter", "ml", "cc"})
_CLEAR, _CLEAR_OF = frozenset({"clear", "grossly", "otherwise"}), frozenset({"of", "from"})
"""Of "the lungs are clear of", which states two things."""
_DENIED, _DOUBTED = Term(DENY, "list", "d"), Term(DENY, "list", "t")
_NORMAL = Term(NORMAL, code="morphology")
_AUXILIARY = frozenset({"has", "have", "is", "are", "was", "were", "been", "now", "since"})
_AGE = frozenset({"year", "yr", "yo", "y", "month", "day", "week"})
_NUMBER = re.compile(r"\d")
_LEVEL_OF_BONE = re.compile(r"[ctls]\d{1,2}|\d{1,2}(?:st|nd|rd|th)")


class Unit:
    """A known spelling, or an unknown word, in a sentence.

    `denied` is "d" (absent), "t" (absent, with doubt) or ""; `open` whether the words leave it open; `past`
    the unit that makes it history; `before` whether it governs what follows ("resolution of"); `aside` why
    it is not about the patient now.
    """

    __slots__ = ("aside", "before", "begin", "code", "denied", "end", "form", "kind", "open", "past", "term")

    def __init__(self, term: Term, form: str, begin: int, end: int) -> None:
        self.term, self.kind, self.code = term, term.kind, term.code
        self.form, self.begin, self.end = form, begin, end
        self.denied = self.aside = ""
        self.open = self.before = False
        self.past: Unit | None = None

    @property
    def negative(self) -> bool:
        """Whether it begins with a denial: "no change in"."""
        return self.form in ("no", "not", "without")

    def become(self, term: Term) -> None:
        """Mean something else."""
        self.term, self.kind, self.code = term, term.kind, term.code

    def value(self, text: str) -> Value:
        return Value(text[self.begin : self.end], Place(self.begin, self.end))


def tagged(text: str, lexicon: Lexicon, *, request: bool) -> list[Unit]:
    """The units of a sentence; articles are left out. `request`: a sentence of the history."""
    tokens = lexicon.tokens(text)
    units: list[Unit] = []
    place, last = 0, len(tokens)
    while place < last:
        known, end = lexicon.match(tokens, place)
        if known is None:
            unit, end = _by_form(tokens, place, units)
        else:
            unit = _in_context(known, tokens, place, end, units, request=request)
        if unit.kind != ARTICLE:
            units.append(unit)
        place = end
    return units


def _by_form(tokens: list[Token], place: int, units: list[Unit]) -> tuple[Unit, int]:
    """A word that no spelling begins with, and what follows: a vertebra or rib, a size, a distance, or
    unknown.
    """
    token = tokens[place]
    if token.form == "than" and any(one.kind == OPEN and one.form == "more" for one in units):
        return Unit(_DOUBTED, token.form, token.begin, token.end), place + 1  # "more likely edema than ..."
    if _LEVEL_OF_BONE.fullmatch(token.form):
        return Unit(_LEVEL, token.form, token.begin, token.end), place + 1
    end = _end_of_size(tokens, place) if _NUMBER.match(token.form) else place + 1
    if end == place + 1:
        return Unit(_UNKNOWN, token.form, token.begin, token.end), end
    if end < len(tokens) and tokens[end].form in _FROM:
        return Unit(_DISTANCE, tokens[end].form, token.begin, tokens[end].end), end + 1
    begin = tokens[place - 1].begin if place and tokens[place - 1].form in _ABOUT else token.begin
    return Unit(_SIZE, token.form, begin, tokens[end - 1].end), end


def _in_context(
    term: Term, tokens: list[Token], place: int, end: int, units: list[Unit], *, request: bool
) -> Unit:
    """A known spelling, where its meaning depends on what stands before it or on the section."""
    token, final = tokens[place], tokens[end - 1]
    if term.kind == QUESTION:
        term = _IN_REQUEST if request else _IN_REPORT
    elif term.kind == PAST and token.form == "known" and end == place + 1 and not request:
        term = _UNKNOWN  # "known emphysema" of findings is emphysema now
    elif term.kind == DENY and token.form == "free" and units and units[-1].kind == COPULA:
        units.append(Unit(_NORMAL, token.form, token.begin, token.end))
    elif term.kind == PREPOSITION and units and units[-1].form in _CLEAR and token.form in _CLEAR_OF:
        term = _DENIED
    elif token.form == "raised" and any(one.kind == OPEN for one in units):
        term = _UNKNOWN  # "the possibility of pneumonia is raised"
    elif token.form == "old" and place and tokens[place - 1].form in _AGE:
        term = _UNKNOWN
    unit = Unit(term, token.form, token.begin, final.end)
    unit.before = final.form == "of"
    if term.kind == ENDED:
        unit.begin = _begin_of_end(tokens, place, end)
    if term.kind in (WORD, ENDED) and end - 1 > place and final.form in _LOOSE:
        unit.end = tokens[end - 2].end
    return unit


def _begin_of_end(tokens: list[Token], place: int, end: int) -> int:
    """Where what has happened begins: "removed" of "has now been removed"."""
    while place + 1 < end and tokens[place].form in _AUXILIARY:
        place += 1
    return tokens[place].begin


def _end_of_size(tokens: list[Token], place: int) -> int:
    """The token behind "2.3 x 1.4 cm" or "5 mm"; the next one when it is no size."""
    end = place
    while end < len(tokens) and (_NUMBER.match(tokens[end].form) or tokens[end].form in ("x", "by", "to")):
        end += 1
    if end < len(tokens) and tokens[end].form in _UNITS_OF_SIZE:
        return end + 1
    return place + 1
