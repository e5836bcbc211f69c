"""What is not said of the patient now: advice, conditions, somebody else.

These state nothing (method.md section 7, point 2): "recommend CT to exclude an abscess"
has no abscess. What an examination cannot show is in `limitations.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from lunguage_assets.assertion.units import DEVICE, TaggedToken, kind_at
from lunguage_assets.assertion.vocabulary import REPOSITIONING

_WORDS_BEFORE_AN_AIM = 3
"""How near an examination stands to its aim: "a repeat CT to exclude"."""


def mark_asides(units: list[TaggedToken]) -> None:
    """Mark the units that are advice, a condition, or about somebody else."""
    for at, unit in enumerate(units):
        if unit.kind == "relative":
            # "Mother had breast cancer."
            _mark(_reached_behind(units, at), "somebody else", unit)
        elif unit.kind == "recommendation":
            _mark(_advice(units, at), "recommendation", unit)
        elif unit.kind == "aim":
            # "A repeat CT to exclude an abscess": from the examination on.
            begin = _begin_of_aim(units, at)
            aim = [*units[begin:at], *_reached_behind(units, at)]
            _mark(aim, "recommendation", unit)
        elif unit.kind == "condition":
            _mark(_condition(units, at), "condition", unit)


def _reached_behind(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take what an aside reaches, itself first: its clause, or its sentence."""
    cue = units[at]
    for position in range(at + 1, len(units)):
        unit = units[position]
        if cue.stops_at(unit):
            return units[at:position]
        # "It is recommended that a CT be done" goes on at "that".
        ends_clause = unit.kind == "break" and unit.form != "that"
        if ends_clause and cue.reaches("clause"):
            return units[at:position]
    return units[at:]


def _advice(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take what is advised; a device that should be moved is there.

    "Consider advancing the tube".
    """
    begin = _begin_of_advice(units, at)
    advice = [*units[begin:at], *_reached_behind(units, at)]
    if units[at].name == REPOSITIONING:
        advice = [unit for unit in advice if not _is_device(unit)]
    return advice


def _is_device(unit: TaggedToken) -> bool:
    return unit.kind == "finding" and unit.code == DEVICE


def _begin_of_aim(units: list[TaggedToken], at: int) -> int:
    """Find the examination whose aim it is; the aim itself where none is near."""
    first = max(0, at - _WORDS_BEFORE_AN_AIM)
    for position in range(at - 1, first - 1, -1):
        if _is_examination(units[position]):
            return position
    return at


def _condition(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take what a condition reaches."""
    clause = _reached_behind(units, at)
    is_opening = kind_at(units, at - 1) in ("", "break")
    if not is_opening or not units[at].reaches("clause"):
        return clause
    # "If fever persists, there is still an effusion": one that opens a sentence ends at
    # its comma.
    return list(takewhile(lambda unit: unit.kind != "comma", clause))


def _mark(units: Sequence[TaggedToken], reason: str, by: TaggedToken) -> None:
    for unit in units:
        unit.set_aside(reason, by)


def _is_examination(unit: TaggedToken) -> bool:
    return unit.kind in ("examined", "examination")


def _begin_of_advice(units: list[TaggedToken], at: int) -> int:
    """Find where "CT of the chest is recommended" begins: at what is asked for."""
    begin = at
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if unit.kind in ("finding", "break", "comma") and not unit.aside:
            break
        if _is_examination(unit):
            begin = position
    return begin
