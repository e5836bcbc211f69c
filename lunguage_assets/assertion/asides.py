"""What is not said of the patient now: advice, conditions, somebody else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from lunguage_assets.assertion.units import DEVICE, Unit
from lunguage_assets.assertion.vocabulary import REPOSITIONING

_WORDS_BEFORE_AN_AIM = 3
"""How near an examination stands to its aim: "a repeat CT to exclude"."""


def mark_asides(units: list[Unit]) -> None:
    """Mark the units that are advice, a condition, or about somebody else."""
    for at, unit in enumerate(units):
        if unit.kind == "relative":
            _mark(units[at : _end_of_reach(units, at)], "somebody else", unit)
        if unit.kind == "recommendation":
            begin = _begin_of_advice(units, at)
            clause = units[begin : _end_of_reach(units, at)]
            if unit.name == REPOSITIONING:
                # "Consider advancing the tube": the tube is there.
                clause = [one for one in clause if not _is_device(one)]
            _mark(clause, "recommendation", unit)
        elif unit.kind == "aim":
            # "... a CT to exclude": from the examination on.
            nearest = range(at - 1, max(-1, at - 1 - _WORDS_BEFORE_AN_AIM), -1)
            examined = (n for n in nearest if _is_examination(units[n]))
            begin = next(examined, at)
            _mark(units[begin : _end_of_reach(units, at)], "recommendation", unit)
        elif unit.kind == "condition":
            clause = units[at : _end_of_reach(units, at)]
            opens = at == 0 or units[at - 1].kind == "break"
            if opens and unit.reaches("clause"):
                # One that opens a sentence ends at its comma.
                clause = list(takewhile(lambda one: one.kind != "comma", clause))
            _mark(clause, "condition", unit)


def _mark(units: Sequence[Unit], reason: str, by: Unit) -> None:
    for unit in units:
        unit.set_aside(reason, by)


def _is_device(unit: Unit) -> bool:
    return unit.kind == "finding" and unit.code == DEVICE


def _is_examination(unit: Unit) -> bool:
    return unit.kind in ("examined", "examination")


def _end_of_reach(units: list[Unit], at: int) -> int:
    """Find where what an aside reaches ends: its clause, or its sentence."""
    cue = units[at]
    for position in range(at + 1, len(units)):
        unit = units[position]
        ends_clause = unit.kind == "break" and unit.form != "that"
        if cue.stops_at(unit) or (ends_clause and cue.reaches("clause")):
            return position
    return len(units)


def _begin_of_advice(units: list[Unit], at: int) -> int:
    """Find where "CT of the chest is recommended" begins: at what is asked for."""
    begin = at
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if unit.kind in ("finding", "break", "comma") and not unit.aside:
            break
        if _is_examination(unit):
            begin = position
    return begin
