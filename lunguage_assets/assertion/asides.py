"""What is not said of the patient now: advice, conditions, somebody else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from lunguage_assets.assertion.units import DEVICE, TaggedToken
from lunguage_assets.assertion.vocabulary import REPOSITIONING

_WORDS_BEFORE_AN_AIM = 3
"""How near an examination stands to its aim: "a repeat CT to exclude"."""


def mark_asides(units: list[TaggedToken]) -> None:
    """Mark the units that are advice, a condition, or about somebody else."""
    for at, unit in enumerate(units):
        if unit.kind == "relative":
            _mark(_reached_behind(units, at), "somebody else", unit)
        elif unit.kind == "recommendation":
            _mark(_advice(units, at), "recommendation", unit)
        elif unit.kind == "aim":
            begin = _begin_of_aim(units, at)
            end = _end_of_reach(units, at)
            _mark(units[begin:end], "recommendation", unit)
        elif unit.kind == "condition":
            _mark(_condition(units, at), "condition", unit)


def _reached_behind(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    return units[at : _end_of_reach(units, at)]


def _advice(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """ "Consider advancing the tube" is advice; the tube is there."""
    clause = units[_begin_of_advice(units, at) : _end_of_reach(units, at)]
    if units[at].name != REPOSITIONING:
        return clause
    return [unit for unit in clause if not _is_device(unit)]


def _begin_of_aim(units: list[TaggedToken], at: int) -> int:
    """ "... a CT to exclude": from the examination on."""
    nearest = range(at - 1, max(-1, at - 1 - _WORDS_BEFORE_AN_AIM), -1)
    return next((n for n in nearest if _is_examination(units[n])), at)


def _condition(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Take what a condition reaches; one that opens a sentence ends at its comma."""
    clause = _reached_behind(units, at)
    is_opening = at == 0 or units[at - 1].kind == "break"
    if is_opening and units[at].reaches("clause"):
        return list(takewhile(lambda unit: unit.kind != "comma", clause))
    return clause


def _mark(units: Sequence[TaggedToken], reason: str, by: TaggedToken) -> None:
    for unit in units:
        unit.set_aside(reason, by)


def _is_device(unit: TaggedToken) -> bool:
    return unit.kind == "finding" and unit.code == DEVICE


def _is_examination(unit: TaggedToken) -> bool:
    return unit.kind in ("examined", "examination")


def _end_of_reach(units: list[TaggedToken], at: int) -> int:
    """Find where what an aside reaches ends: its clause, or its sentence."""
    cue = units[at]
    for position in range(at + 1, len(units)):
        unit = units[position]
        ends_clause = unit.kind == "break" and unit.form != "that"
        if cue.stops_at(unit) or (ends_clause and cue.reaches("clause")):
            return position
    return len(units)


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
