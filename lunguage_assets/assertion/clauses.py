"""Where a statement ends that no sign ends: run-ons and lost full stops.

"No effusion heart is normal": without a break the heart would be denied. Dictated
reports lack their signs often. How far a denial reaches inside its statement is in
`reach.py`.
"""

from __future__ import annotations

from lunguage_assets.assertion.reach import STATEMENT_BEGINS
from lunguage_assets.assertion.units import (
    TaggedToken,
    has_kind,
    is_adjective,
    kind_at,
    kind_beyond,
)
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_PREDICATES: frozenset[Kind] = frozenset({"normal", "abnormal"})
_JUDGED: frozenset[Kind] = frozenset({"copula", "anatomy"})
"""What stands before a predicate."""
_BEFORE_PREDICATE: frozenset[Kind] = _PREDICATES | {"word", "other", "place"}
"""What may stand between: "the heart is mildly enlarged"."""
_BEFORE_FINDING: frozenset[Kind] = frozenset({"word", "abnormal", "place", "anatomy"})
_BREAK = LexiconEntry("break")


def divide_run_ons(units: list[TaggedToken]) -> None:
    """Put a break where a new statement begins without a sign between.

    Args:
        units: of the sentence; changed in place.
    """
    is_denied = False
    at = 1
    while at < len(units):
        before = units[at - 1]
        if before.kind == "negated":
            is_denied = True
        elif before.kind == "break":
            is_denied = False
        # A part of the body that is judged begins anew always, a finding only behind a
        # denial, which would deny it.
        begins_anew = _begins_description(units, at)
        if is_denied and not begins_anew:
            begins_anew = _begins_finding(units, at) or _begins_behind_seen(units, at)
        if begins_anew and _ends_statement(units, at - 1):
            begin = units[at].begin
            units.insert(at, TaggedToken(_BREAK, "", begin, begin))
            is_denied = False
            at += 1
        at += 1


def _ends_statement(units: list[TaggedToken], at: int) -> bool:
    """Whether a statement may end here: a finding is named, a predicate is said.

    "Normal heart size is ..." and "flattened diaphragms are ..." go on.
    """
    unit = units[at]
    if unit.kind == "seen":
        return True
    if unit.kind in _PREDICATES or is_adjective(unit):
        subject = kind_beyond(reversed(units[:at]), _BEFORE_PREDICATE)
        return subject in _JUDGED
    return unit.kind == "finding"


def _begins_description(units: list[TaggedToken], at: int) -> bool:
    """Whether a part of the body is judged here: "no effusion | heart is normal"."""
    part = at
    while kind_at(units, part) == "place":
        part += 1
    # "Normal chest" judges itself, and needs no predicate.
    if kind_at(units, part) != "anatomy" or units[part].code == "normal":
        return False
    predicate = kind_at(units, part + 1)
    if predicate == "copula":
        # A colon counts as a verb elsewhere, but begins no judgement.
        return units[part + 1].form != ":"
    # "No effusion lungs clear", but "no effusion heart enlarged" may be a list.
    is_behind_normal = units[at - 1].kind == "normal"
    return predicate == "normal" or (predicate == "abnormal" and is_behind_normal)


def _begins_finding(units: list[TaggedToken], at: int) -> bool:
    """Whether a finding with its size follows: "no pneumothorax | small effusion"."""
    first = units[at]
    if first.kind not in ("word", "abnormal"):
        return False
    if first.code not in STATEMENT_BEGINS:
        return False
    # "No pneumothorax large effusion" lacks an "or".
    if first.form in WORDS["denied_sizes"]:
        return False
    return kind_beyond(units[at + 1 :], _BEFORE_FINDING) == "finding"


def _begins_behind_seen(units: list[TaggedToken], at: int) -> bool:
    """Whether a subject and its verb follow a verb.

    "No pneumothorax is seen | the effusion is larger".
    """
    if units[at - 1].kind != "seen":
        return False
    verb = at
    while kind_at(units, verb) in ("word", "place", "finding"):
        verb += 1
    names_finding = has_kind(units[at:verb], "finding")
    return names_finding and kind_at(units, verb) == "copula"
