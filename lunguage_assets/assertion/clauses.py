"""Where a statement ends that no sign ends: run-ons and lost full stops."""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.assertion.reach import STATEMENT_BEGINS
from lunguage_assets.assertion.units import TaggedToken, first_beyond, is_adjective
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS

_PREDICATES: frozenset[Kind] = frozenset({"normal", "abnormal"})
_JUDGED: frozenset[Kind] = frozenset({"copula", "anatomy"})
"""What stands before a predicate."""
_BEFORE_PREDICATE: frozenset[Kind] = _PREDICATES | {"word", "other", "place"}
"""What may stand between: "the heart is mildly enlarged"."""
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
        begins_anew = _begins_description(units, at) or (
            is_denied and (_begins_finding(units, at) or _begins_behind_seen(units, at))
        )
        if begins_anew and _ends_statement(units, at - 1):
            units.insert(at, TaggedToken(_BREAK, "", units[at].begin, units[at].begin))
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
        judged = first_beyond(reversed(units[:at]), _BEFORE_PREDICATE)
        return judged is not None and judged.kind in _JUDGED
    return unit.kind == "finding"


def _begins_description(units: list[TaggedToken], at: int) -> bool:
    """ "No effusion | heart is normal": a part of the body that is judged."""
    position = at
    while position < len(units) and units[position].kind == "place":
        position += 1
    if position + 1 >= len(units) or units[position].kind != "anatomy":
        return False
    if units[position].code == "normal":
        return False
    following = units[position + 1]
    if following.kind == "copula":
        return following.form != ":"
    # "No effusion lungs clear", but "no effusion heart enlarged" may be a list.
    is_behind_normal = units[at - 1].kind == "normal"
    return following.kind == "normal" or (
        following.kind == "abnormal" and is_behind_normal
    )


def _begins_finding(units: list[TaggedToken], at: int) -> bool:
    """ "No pneumothorax | small left effusion": a size of its own behind a denial."""
    is_description = units[at].kind in ("word", "abnormal")
    if not is_description or units[at].code not in STATEMENT_BEGINS:
        return False
    if units[at].form in WORDS["denied_sizes"]:
        # "No pneumothorax large effusion" lacks an "or".
        return False
    for unit in units[at + 1 :]:
        if unit.kind == "finding":
            return True
        if unit.kind not in ("word", "abnormal", "place", "anatomy"):
            return False
    return False


def _begins_behind_seen(units: list[TaggedToken], at: int) -> bool:
    """ "No pneumothorax is seen | the effusion is larger": a subject with its verb."""
    if units[at - 1].kind != "seen":
        return False
    kinds = [unit.kind for unit in units[at:]]
    subject = list(takewhile(lambda kind: kind in ("word", "place", "finding"), kinds))
    has_verb = kinds[len(subject) : len(subject) + 1] == ["copula"]
    return "finding" in subject and has_verb
