"""What every cue of a sentence says, and what wins (method.md section 6).

Which words are cues, where they look, how far they reach and where they end is data
(`resources/assertion/`); what a category does is the table of `categories.py`. How far
a cue reaches is found in `lists.py`, `ends.py`, `hedging.py` and `asides.py`. What no
cue answers for is no matter of this module (`unanswered.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from lunguage_assets.assertion.asides import (
    is_not_assessed,
    is_past,
    is_seen_then,
    is_set_aside,
    reserved,
)
from lunguage_assets.assertion.categories import Category
from lunguage_assets.assertion.denials import denied
from lunguage_assets.assertion.ends import ended, unite_with_neighbours
from lunguage_assets.assertion.hedging import alternatives, borderline, hedged
from lunguage_assets.assertion.lists import Says
from lunguage_assets.assertion.units import (
    LIMITATION,
    TaggedToken,
    first_beyond,
    is_adjective,
    kind_beyond,
)
from lunguage_assets.assertion.vocabulary import UNDECIDED, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_ORDER: Mapping[Says, int] = {
    "undecided": 0,
    "aside": 1,
    "negated": 2,
    "doubted": 2,
    "ended": 2,
    "reserved": 3,
    "hedged": 4,
    "past": 5,
}
"""Nothing is denied in what is set aside. A hedge inside a denial changes nothing, and
what an earlier film left open was open then.
"""


class Claim(NamedTuple):
    """What a cue says of a unit."""

    says: Says
    cue: TaggedToken
    target: TaggedToken


def mark_claims(units: list[TaggedToken]) -> None:
    """Mark what every cue says of the units that it reaches.

    Args:
        units: of the sentence; changed in place.
    """
    for at, unit in enumerate(units):
        if unit.form in WORDS["appearances"] and _is_plain_copula(units, at):
            unit.become(LexiconEntry("copula"))
    unite_with_neighbours(units)
    claims = [claim for at in range(len(units)) for claim in _claims(units, at)]
    # Between a denial before and one behind, the one before decides.
    claims.sort(
        key=lambda claim: (_ORDER[claim.says], claim.cue.begin > claim.target.begin)
    )
    for claim in claims:
        _mark(claim)
    for unit in units:
        # The words that say what cannot be seen are in the row that they limit.
        if unit.is_of("limitation") or unit.kind == "mimic before":
            unit.become(LIMITATION._replace(cue=unit.cue))


def _is_plain_copula(units: list[TaggedToken], at: int) -> bool:
    """Whether a verb only joins what is said to its subject: "the lungs appear clear".

    "There appears to be an effusion" hedges.
    """
    judgement = first_beyond(units[at + 1 :], ("word", "place", "other", "copula"))
    if judgement is None:
        return True
    subject = kind_beyond(reversed(units[:at]), ("word", "other"))
    is_abnormal = judgement.kind == "abnormal" or is_adjective(judgement)
    is_judged = is_abnormal and subject in ("anatomy", "place")
    return judgement.kind == "normal" or is_judged


def _claims(units: list[TaggedToken], at: int) -> Iterator[Claim]:
    """Yield what a cue says of what it reaches."""
    unit = units[at]
    says: Says = ""
    targets: list[TaggedToken] = []
    if unit.code == "other_source":
        # "A nodule was seen on the prior CT"
        says = "past"
        targets = is_seen_then(units, at)
    elif unit.name == UNDECIDED:
        says = "hedged"
        targets = borderline(units, at)
    elif unit.cue is not None and unit.cue.category in _REACHES:
        says = unit.makes
        # "Though a small one could be missed" doubts what is denied elsewhere.
        if unit.is_of("reservation"):
            says = "reserved"
        elif unit.kind.startswith("hedged") and unit.reach == "clause":
            says = "undecided"
        targets = _REACHES[unit.cue.category](units, at)
    for target in targets:
        yield Claim(says, unit, target)


def _mark(claim: Claim) -> None:
    says, cue, target = claim
    if says == "aside":
        target.set_aside(cue.rule.reason, cue)
    elif says == "past":
        target.make_past(cue)
    elif says == "reserved":
        target.doubt_denial(cue)
    elif says in ("hedged", "undecided"):
        # "Edema or effusion is not seen" denies both.
        if target.negation and cue.is_of("alternative"):
            cue.has_spoken = True
        else:
            target.leave_open(cue)
    elif target.is_hedged:
        # "Unclear whether it has resolved" denies nothing.
        cue.has_spoken = True
    else:
        target.negate(cue, with_doubt=says == "doubted")
        if says == "ended" and target.kind == "finding":
            target.make_past(cue)


_REACHES: Mapping[Category, Callable[[list[TaggedToken], int], list[TaggedToken]]] = {
    "negated": denied,
    "doubted": denied,
    "mimic": denied,
    "ended": ended,
    "hedged": hedged,
    "setting": hedged,
    "alternative": alternatives,
    "reservation": reserved,
    "past": is_past,
    "examination": is_seen_then,
    "aim": is_set_aside,
    "recommendation": is_set_aside,
    "repositioning": is_set_aside,
    "condition": is_set_aside,
    "relative": is_set_aside,
    "limitation": is_not_assessed,
}
"""What cues of a category reach."""
