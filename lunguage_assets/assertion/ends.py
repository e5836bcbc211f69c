"""What has gone, and cues that change each other: "has not resolved" is there."""

from __future__ import annotations

from lunguage_assets.assertion.lists import (
    BETWEEN_STATEMENTS,
    NEAR,
    list_before,
    list_behind,
)
from lunguage_assets.assertion.units import (
    OWN_WORDS,
    UNKNOWN,
    TaggedToken,
    begin_of_clause,
    first_beyond,
    kind_beyond,
)
from lunguage_assets.assertion.vocabulary import LexiconEntry, entry_of
from lunguage_assets.assertion.word_files import WORDS

_IMPROVED = LexiconEntry("word", code="improved")
_PERSISTS = LexiconEntry("word", code="no_change")


def unite_with_neighbours(units: list[TaggedToken]) -> None:
    """Read cues together with the cue beside them that undoes or weakens them.

    "Nearly resolved" is there and improved, "not resolved" is there, "not definitely
    resolved" may be there. A row quotes both as a whole.

    Args:
        units: of the sentence; changed in place.
    """
    for at, unit in enumerate(units):
        if unit.kind == "ended" or unit.code == _IMPROVED.code:
            _unite_with_end(units, at)
        elif unit.kind in ("partial before", "hedged before"):
            _change_end_before(units, at)
        elif unit.kind == "hedged" and unit.form in WORDS["beliefs"]:
            _doubt_belief(units, at)


def _doubt_belief(units: list[TaggedToken], at: int) -> None:
    """ "Not suspicious for cancer" leaves a doubt, "not consistent with" none."""
    denial = units[at - 1] if at > 0 else units[at]
    if denial.cue is not None and denial.kind == "negated" and denial.reaches_next:
        doubt = denial.cue.model_copy(update={"category": "doubted"})
        denial.become(entry_of(doubt))
        units[at].has_spoken = True


def _unite_with_end(units: list[TaggedToken], at: int) -> None:
    """Make one unit of an end and the denial or "nearly" that is said of it."""
    end = units[at]
    near = reversed(units[max(0, at - NEAR) : at])
    modifier = first_beyond(near, ("copula", "other"))
    if modifier is None or modifier.kind not in ("partial", "negated"):
        return
    if modifier.doubts:
        # "Not definitely resolved": what the doubt is about is open.
        end.become(UNKNOWN)
        return
    end.become(_IMPROVED if modifier.kind == "partial" else _PERSISTS)
    end.begin = modifier.begin
    end.form = modifier.form
    modifier.become(UNKNOWN)
    modifier.has_spoken = True


def _change_end_before(units: list[TaggedToken], at: int) -> None:
    """ "Resolution of the edema is incomplete", "... cannot be confirmed"."""
    for unit in units[begin_of_clause(units, at) : at]:
        if unit.kind == "ended" and unit.direction == "behind":
            unit.become(_IMPROVED if units[at].kind == "partial before" else UNKNOWN)
            unit.has_spoken = units[at].has_spoken = True


def ended(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what has gone: what stands before, else what follows ("resolved edema").

    Args:
        units: of the sentence.
        at: position of the end.
    """
    end = units[at]
    behind = first_beyond(units[at + 1 :], OWN_WORDS)
    # "Lung cancer, now resolved pneumonia"
    before = kind_beyond(reversed(units[:at]), ("other", "seen"))
    is_first = before in ("", "break", "comma", "hedged", "link")
    is_adjective = is_first and behind is not None and behind.kind == "finding"
    gone: list[TaggedToken] = []
    if end.direction != "behind" and not is_adjective:
        gone = with_sign(units, list_before(units, at))
    if not gone and end.direction != "before":
        gone = list_behind(units, at)
    is_exchanged = bool(gone) and end.is_cue("ended.exchanged_for")
    if is_exchanged and behind is not None and behind.name == gone[0].name:
        # "The tube was exchanged for a longer tube": there is one again.
        end.has_spoken = True
        return []
    return gone


def with_sign(
    units: list[TaggedToken], reached: list[TaggedToken]
) -> list[TaggedToken]:
    """Add the sign that it explains: "the opacity concerning for edema has cleared".

    Args:
        units: of the sentence.
        reached: what is denied or has gone, the nearest first.
    """
    first = units.index(reached[-1]) if reached else 0
    is_explained = False
    for unit in reversed(units[max(0, first - 2 * NEAR) : first]):
        if unit.kind == "finding":
            return [*reached, unit] if is_explained else reached
        if unit.kind in ("hedged", "link"):
            is_explained = True
        elif unit.kind in BETWEEN_STATEMENTS and unit.form not in WORDS["that_was"]:
            # "The opacity that was concerning for edema" goes on at "that was".
            break
    return reached
