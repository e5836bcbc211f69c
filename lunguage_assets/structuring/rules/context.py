"""Units whose meaning depends on units further on in their sentence (structure.md section 6)."""

from __future__ import annotations

from lunguage_assets.structuring.rules.lexicon import (
    ALTERNATIVE,
    ANATOMY,
    AND,
    BREAK,
    COMMA,
    COPULA,
    DENY,
    FINDING,
    OPEN,
    OTHER,
    PLACE,
    PREPOSITION,
    WITH,
    Lexicon,
    Term,
)
from lunguage_assets.structuring.rules.tagging import Unit

_ENDS = frozenset({BREAK, COMMA, COPULA, WITH, AND})
_FAVORED = ("favor", "favored", "favors", "favoring")
_INCLUDE = frozenset({"include", "includes", "including"})
_DEGREES = frozenset({"mildly", "moderately", "slightly", "minimally", "somewhat", "remote"})
"""Of a hedge: "mildly concerning for", "a remote possibility of"."""
_UNCERTAIN, _DOUBTED, _UNKNOWN = Term(OPEN, "list"), Term(DENY, "list", "t"), Term(OTHER)


def settle(units: list[Unit], text: str, lexicon: Lexicon) -> None:
    """Give units the meaning that they have in their sentence."""
    for at, unit in enumerate(units):
        if unit.kind == PREPOSITION and unit.form == "over":
            _favored_over(units, at)
        elif unit.kind == OPEN:
            if at and units[at - 1].form in _DEGREES:
                units[at - 1].become(_UNKNOWN)
            if unit.form == "differential":
                _differential_of(units, at)
        elif unit.kind in (AND, ALTERNATIVE):
            _share_noun(units, at, text, lexicon)


def _favored_over(units: list[Unit], at: int) -> None:
    """ "Favors edema over pneumonia": what follows is less likely; "over the left base" is a place."""
    if not any(unit.kind == OPEN and unit.form in _FAVORED for unit in units[:at]):
        return
    for unit in units[at + 1 :]:
        if unit.kind in _ENDS:
            return
        if unit.kind == FINDING:
            units[at].become(_DOUBTED)
            return


def _differential_of(units: list[Unit], at: int) -> None:
    """ "The differential for the opacity includes edema": the opacity is there, what follows is open."""
    for place in range(at + 1, len(units)):
        if units[place].kind == BREAK:
            return
        if units[place].form in _INCLUDE:
            if any(unit.kind == FINDING for unit in units[at:place]):
                units[at].become(_UNKNOWN)
                units[place].become(_UNCERTAIN)
            return


def _share_noun(units: list[Unit], at: int, text: str, lexicon: Lexicon) -> None:
    """ "Pleural or pericardial effusion" names two findings, "hilar or mediastinal adenopathy" one."""
    if not 0 < at < len(units) - 1:
        return
    before, behind = units[at - 1], units[at + 1]
    if before.kind not in (PLACE, ANATOMY) or behind.kind != FINDING:
        return
    noun = text[behind.begin : behind.end].split()[-1]
    tokens = lexicon.tokens(f"{text[before.begin : before.end]} {noun}")
    term, end = lexicon.match(tokens, 0)
    if term is None or term.kind != FINDING or end < len(tokens):
        return
    if term.name != behind.term.name:
        before.become(term)
