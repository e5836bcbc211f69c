"""What has gone, what has nearly gone, and what has not: words beside an end.

"Resolved" is absent now, "nearly resolved" is there and improved, "not resolved" is
there, "probably resolved" is absent with doubt. The table of categories on the page of
the method (implicit.md) says the same.
"""

from __future__ import annotations

from lunguage_assets.assertion.units import UNKNOWN, TaggedToken
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry

_PASSED_OVER = frozenset({"copula", "other"})
"""Kinds between a word and the end that it changes: "has probably now resolved"."""
_MAX_PASSED_OVER = 3
_IMPROVED = LexiconEntry("word", code="improved")
_PERSISTS = LexiconEntry("word", code="no_change")


def settle_ends(units: list[TaggedToken]) -> None:
    """Read each end together with the word before it that undoes or weakens it.

    Args:
        units: of the sentence; changed in place.
    """
    for at, unit in enumerate(units):
        if unit.kind == "ended":
            _settle_end(units, at)
        elif unit.code == _IMPROVED.code:
            _settle_improvement(units, at)
        elif unit.kind == "partial before":
            # "Resolution of the edema is incomplete": it has improved.
            _change_end_before(units, at, _IMPROVED)
        elif unit.kind == "hedged before":
            # "Resolution of the effusion cannot be confirmed": whether it has is open.
            _change_end_before(units, at, UNKNOWN)
    for unit in units:
        # "Largely unchanged", "partially calcified": no end is near.
        if unit.kind in ("partial", "partial before"):
            unit.become(UNKNOWN)


def _settle_end(units: list[TaggedToken], at: int) -> None:
    modifier = _modifier_of(units, at)
    if modifier is None:
        return
    end = units[at]
    if modifier.kind == "partial":
        _unite(modifier, end, _IMPROVED)
    elif modifier.kind == "hedged":
        # "Has probably resolved": absent, with doubt.
        end.doubted_by = modifier
        modifier.become(UNKNOWN)
    elif modifier.doubts:
        # "Not definitely resolved": it may still be there.
        kind: Kind = "hedged before" if end.looks("before") else "hedged"
        _unite(modifier, end, LexiconEntry(kind, cue=modifier.cue))
    else:
        # "Has not resolved": it is there, unchanged.
        _unite(modifier, end, _PERSISTS)


def _settle_improvement(units: list[TaggedToken], at: int) -> None:
    """ "No evidence of improvement of the edema": the edema is there, unchanged."""
    modifier = _modifier_of(units, at)
    if modifier is not None and modifier.kind == "negated":
        _unite(modifier, units[at], _PERSISTS)


def _modifier_of(units: list[TaggedToken], at: int) -> TaggedToken | None:
    """Find the denial, hedge or "nearly" that is said of an end, if there is one."""
    first = max(0, at - _MAX_PASSED_OVER - 1)
    for unit in reversed(units[first:at]):
        if unit.kind in ("partial", "negated", "hedged"):
            return unit
        if unit.kind not in _PASSED_OVER and unit.form != "to":
            return None
    return None


def _unite(modifier: TaggedToken, end: TaggedToken, sense: LexiconEntry) -> None:
    """Make one unit of both: a row quotes "nearly resolved" as a whole."""
    end.begin = modifier.begin
    end.form = modifier.form
    end.become(sense)
    modifier.become(UNKNOWN)


def _change_end_before(units: list[TaggedToken], at: int, sense: LexiconEntry) -> None:
    """Give "resolution of", said earlier in the clause, another meaning."""
    for unit in reversed(units[:at]):
        if unit.kind == "break":
            return
        if unit.kind == "ended" and not unit.looks("before"):
            unit.become(sense)
            return
