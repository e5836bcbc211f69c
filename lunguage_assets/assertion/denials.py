"""What a denial denies: what follows it, else what stands before it."""

from __future__ import annotations

from lunguage_assets.assertion.ends import with_sign
from lunguage_assets.assertion.lists import NEAR, list_before, list_behind
from lunguage_assets.assertion.units import (
    LIMITATION,
    TaggedToken,
    begin_of_clause,
    kind_at,
)


def denied(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what a denial, a doubt or a likeness is said of.

    Args:
        units: of the sentence.
        at: position of the cue.
    """
    cue = units[at]
    if _is_of_device_end(units, at):
        # "The tip of the tube is not seen": the tube is there.
        cue.has_spoken = True
        cue.become(LIMITATION)
        return []
    if cue.kind == "mimic before":
        return _due_to_technique(units, at)
    if cue.kind == "negated before" or _is_answer(units, at):
        return with_sign(units, list_before(units, at))
    return list_behind(units, at)


def _is_of_device_end(units: list[TaggedToken], at: int) -> bool:
    """Whether only the end of a device is not seen: "tip not seen"."""
    clause = units[begin_of_clause(units, at) : at]
    if units[at].kind == "negated":
        clause = units[at + 1 : at + 2]
    return any(unit.is_of("device_part") for unit in clause)


def _due_to_technique(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Find what "is due to the projection" is said of: the nearest finding or state."""
    for unit in reversed(units[max(0, at - 2 * NEAR) : at]):
        if unit.kind in ("finding", "abnormal"):
            return [unit]
    return []


def _is_answer(units: list[TaggedToken], at: int) -> bool:
    """Whether a denial is the whole answer: "Effusion: no", "pneumonia less likely"."""
    following = kind_at(units, at + 1)
    if units[at].direction != "both":
        return False
    # "Effusion (no), edema (mild)"
    if [unit.form for unit in units[max(0, at - 1) : at + 2 : 2]] == ["(", ")"]:
        return True
    # The colon behind a heading is read as its verb, a dash as a comma.
    before = kind_at(units, at - 1)
    if before == "comma":
        return following in ("", "break")
    return before in ("finding", "copula") and following in ("", "break", "comma")
