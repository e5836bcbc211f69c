"""The steps from a sentence to its assertions, in the order in which they are taken."""

from __future__ import annotations

from lunguage_assets.assertion.asides import mark_asides
from lunguage_assets.assertion.clauses import divide_run_ons
from lunguage_assets.assertion.ellipsis import restore_ellipsis
from lunguage_assets.assertion.ends import settle_ends
from lunguage_assets.assertion.hedging import (
    is_undecided,
    mark_alternatives,
    mark_hedge,
    mark_hedge_behind,
    mark_undecided,
    mark_undecided_clause,
)
from lunguage_assets.assertion.limitations import (
    mark_limitations,
    mark_reservations,
)
from lunguage_assets.assertion.meaning.settle import settle
from lunguage_assets.assertion.mimics import mark_mimics
from lunguage_assets.assertion.negation import mark_denials
from lunguage_assets.assertion.parts import restore_parts
from lunguage_assets.assertion.times import mark_examination, mark_history
from lunguage_assets.assertion.units import TaggedToken
from lunguage_assets.assertion.vocabulary import Vocabulary


def mark_assertions(
    units: list[TaggedToken], text: str, vocabulary: Vocabulary
) -> None:
    """Mark how every unit of a sentence is meant.

    Denials come before hedges, because a hedge inside a denial changes nothing; hedges
    before time, because what an earlier film left open was open then.

    Args:
        units: of the sentence (`tagging.tag`); changed in place.
        text: of the sentence.
        vocabulary: with which it was tagged.
    """
    divide_run_ons(units)
    settle_ends(units)
    restore_parts(units, text)
    restore_ellipsis(units)
    settle(units, text, vocabulary)
    # Nothing is denied or left open in what is not said of the patient.
    mark_asides(units)
    mark_limitations(units)
    mark_mimics(units)
    # "Unclear whether it has resolved": a denial in such a clause leaves open, so that
    # the clause has to be known before.
    for at, unit in enumerate(units):
        if unit.kind in ("hedged", "hedged before"):
            mark_undecided_clause(units, at)
    mark_denials(units)
    # "No effusion, though a small one could be missed" doubts what was denied.
    mark_reservations(units)
    for at, unit in enumerate(units):
        if unit.aside:
            continue
        if unit.kind == "hedged":
            mark_hedge(units, at)
        elif is_undecided(unit):
            mark_undecided(units, at)
        elif unit.kind == "hedged before":
            mark_hedge_behind(units, at)
        elif unit.kind == "alternative":
            mark_alternatives(units, at)
        elif unit.kind == "past":
            mark_history(units, at)
        elif unit.kind == "examination" or unit.code == "other_source":
            mark_examination(units, at)
