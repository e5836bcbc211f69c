"""What a sentence says that is not about the patient now: advice, conditions, somebody else
(method.md section 6, points 5 and 6).
"""

from __future__ import annotations

from lunguage_assets.structuring.rules.tagging import Unit

_DEVICE = "OTH"
RECOMMENDATION, IF, OTHER_PERSON = "recommendation", "condition", "somebody else"


def mark_asides(units: list[Unit]) -> None:
    """Mark the units that are advice, a condition, or about somebody else."""
    for at, unit in enumerate(units):
        if unit.kind == "somebody else":
            _mark(units, at, len(units), OTHER_PERSON)
            return
        if unit.kind == "advice":
            moved = _moved(units, at)
            _mark(units, _begin_of_advice(units, at), _end(units, at), RECOMMENDATION)
            for device in moved:
                device.aside = ""
        elif unit.kind == "aim":
            _mark(units, _begin_of_aim(units, at), _end(units, at), RECOMMENDATION)
        elif unit.kind == "condition":
            _mark(units, at, _end_of_condition(units, at), IF)


def _mark(units: list[Unit], begin: int, end: int, reason: str) -> None:
    for unit in units[begin:end]:
        unit.aside = unit.aside or reason


def _moved(units: list[Unit], at: int) -> list[Unit]:
    """The devices that are asked to be moved, so that they are there ("consider advancing the tube")."""
    if units[at].sense.name != "move":
        return []
    clause = units[_begin_of_advice(units, at) : _end(units, at)]
    return [unit for unit in clause if unit.kind == "finding" and unit.code == _DEVICE and not unit.aside]


def _begin_of_advice(units: list[Unit], at: int) -> int:
    """Where "... CT of the chest is recommended" begins: at the examination that is asked for."""
    begin = at
    for place in range(at - 1, -1, -1):
        kind = units[place].kind
        if kind in ("finding", "break", "comma") and not units[place].aside:
            break
        if kind in ("exam", "source"):
            begin = place
    return begin


def _begin_of_aim(units: list[Unit], at: int) -> int:
    """Where "... a CT to exclude" begins: at the examination, when it stands before the aim."""
    for place in range(at - 1, max(-1, at - 4), -1):
        if units[place].kind in ("exam", "source"):
            return place
    return at


def _end(units: list[Unit], at: int) -> int:
    """The unit behind the clause."""
    for place in range(at + 1, len(units)):
        if units[place].kind == "break" and units[place].form != "that":
            return place
    return len(units)


def _end_of_condition(units: list[Unit], at: int) -> int:
    """A condition that opens the sentence ends at its comma, any other one with the clause."""
    end = _end(units, at)
    if at == 0 or units[at - 1].kind == "break":
        for place in range(at + 1, end):
            if units[place].kind == "comma":
                return place
    return end
