"""Where a statement ends that no sign ends: "no effusion heart is normal".

Without a break the heart would be denied. Dictated reports lack their signs often.
"""

from __future__ import annotations

from lunguage_assets.assertion.lists import STATEMENT_BEGINS
from lunguage_assets.assertion.units import (
    TaggedToken,
    Units,
    is_adjective,
    kind_at,
    kind_beyond,
)
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_PREDICATES: frozenset[Kind] = frozenset({"normal", "abnormal"})
_BEFORE_PREDICATE: frozenset[Kind] = _PREDICATES | {"word", "other", "place"}
_BEFORE_JOINT: frozenset[Kind] = frozenset({"word", "place", "anatomy", "preposition"})
_JOINTS: frozenset[Kind] = frozenset({"comma", "and"})
_BREAK = LexiconEntry("break")


def divide_run_ons(units: Units) -> None:
    """Put a break where a new statement begins without a sign between.

    Args:
        units: of the sentence; changed in place.
    """
    is_denied = False
    at = 1
    while at < len(units):
        if units[at - 1].kind in ("negated", "break"):
            is_denied = units[at - 1].kind == "negated"
        # A part of the body that is judged begins anew always, a finding only behind a
        # denial, which would deny it. What is joined to a denial says `lists.py`.
        may_begin_finding = is_denied and units[at - 1].kind not in _JOINTS
        begins_anew = _begins_judgement(units, at) or (
            may_begin_finding and _begins_finding(units, at)
        )
        if begins_anew and _ends_statement(units, at - 1):
            begin = units[at].begin
            units.insert(at, TaggedToken(_BREAK, "", begin, begin))
        at += 1


def _ends_statement(units: Units, at: int) -> bool:
    """Whether a statement may end here: a finding is named, a predicate is said."""
    unit = units[at]
    if unit.kind in _JOINTS:
        # "No effusion on the left, lungs clear", but not "heart, lungs clear".
        named = kind_beyond(reversed(units[:at]), _BEFORE_JOINT)
        return named == "finding" or _ends_statement(units, at - 1)
    if unit.kind in _PREDICATES or is_adjective(unit):
        # "Normal heart size is ..." and "flattened diaphragms are ..." go on.
        subject = kind_beyond(reversed(units[:at]), _BEFORE_PREDICATE)
        return subject in ("copula", "anatomy")
    return unit.kind in ("finding", "seen")


def _begins_judgement(units: Units, at: int) -> bool:
    """Whether a part of the body is judged here: "no effusion | heart is normal"."""
    part = at
    while kind_at(units, part) == "place":
        part += 1
    # "No effusion lungs clear"
    is_judged = kind_at(units, part + 1) in ("copula", "normal", "abnormal")
    return is_judged and kind_at(units, part) == "anatomy"


def _begins_finding(units: Units, at: int) -> bool:
    """Whether a finding with its size or its verb follows.

    "No pneumothorax | small effusion", "no pneumothorax seen | the effusion is large".
    """
    first = units[at]
    # "No pneumothorax large effusion" lacks an "or".
    is_size = first.code in STATEMENT_BEGINS and first.form not in WORDS["denied_sizes"]
    predicate = kind_beyond(units[at:], ("word", "place", "finding"))
    return is_size or (units[at - 1].kind == "seen" and predicate == "copula")
