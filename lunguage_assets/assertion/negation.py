"""What is denied, and what has gone (method.md section 7, point 3)."""

from __future__ import annotations

from collections.abc import Iterable

from lunguage_assets.assertion.reach import (
    is_statement_behind,
    list_before,
    reaches_next,
)
from lunguage_assets.assertion.units import Unit
from lunguage_assets.assertion.word_files import WORDS

_BETWEEN_STATEMENTS = frozenset(
    {"break", "comma", "negated", "negated before", "ended", "and", "with"}
)


def mark_denials(units: list[Unit]) -> None:
    """Mark what is denied: by what stands before it, then by what stands behind it."""
    _deny_behind(units)
    for at, unit in enumerate(units):
        if unit.aside:
            continue
        if unit.kind == "negated before" or _is_answer(units, at):
            _deny(_with_sign(units, list_before(units, at)), unit, "list before")
        elif _dismisses(units, at):
            _deny(list_before(units, at, of_hedge=True)[:1], unit, "next before")
        elif unit.kind == "ended":
            _end(units, at)


def _deny_behind(units: list[Unit]) -> None:
    """Deny the list behind each denial, in one pass from left to right."""
    denial: Unit | None = None
    is_any_denied = False
    for at, unit in enumerate(units):
        if unit.aside or unit.kind in ("break", "ended"):
            denial = None
        elif unit.kind == "negated before" and denial is None:
            continue
        elif unit.kind == "negated":
            denial = None if _dismisses(units, at) else unit
            is_any_denied = False
        elif denial is not None:
            if (
                is_any_denied
                and unit.kind == "hedged"
                and units[at - 1].kind == "copula"
            ):
                denial = None  # "without fever this is more likely edema"
            elif unit.kind in ("finding", "abnormal", "normal"):
                unit.negate(denial, "list behind")
                is_any_denied |= unit.kind == "finding" or reaches_next(denial)
            elif unit.kind in ("hedged", "hedged before", "link"):
                unit.negate(denial, "list behind")
            elif (
                is_any_denied
                and unit.kind in ("comma", "and", "with")
                and is_statement_behind(units, at, denial)
            ):
                denial = None


def _deny(reached: Iterable[Unit], by: Unit, reason: str) -> None:
    for unit in reached:
        unit.negate(by, reason)


def _dismisses(units: list[Unit], at: int) -> bool:
    """ "Atelectasis more likely, pneumonia less likely": a doubt behind its finding."""
    if units[at].kind != "negated" or not units[at].doubts or at == 0:
        return False
    is_last = at + 1 == len(units) or units[at + 1].kind in ("break", "comma")
    return is_last and units[at - 1].kind in ("finding", "place")


def _is_answer(units: list[Unit], at: int) -> bool:
    """ "Effusion: no": a denial that is the whole answer to a heading."""
    if units[at].kind != "negated" or at == 0:
        return False
    is_last = at + 1 == len(units) or units[at + 1].kind == "break"
    return is_last and units[at - 1].kind == "copula"


def _end(units: list[Unit], at: int) -> None:
    """Mark what has gone: what stands before, else what follows ("resolved edema")."""
    gone = [] if units[at].leads else _with_sign(units, list_before(units, at))
    reason = "list before" if gone else "next behind"
    if not gone:
        gone = _gone_behind(units, at)
    for unit in gone:
        unit.negate(units[at], reason)
        unit.past = units[at]


def _gone_behind(units: list[Unit], at: int) -> list[Unit]:
    """Find what has gone behind "resolution of", with what explained it."""
    gone: list[Unit] = []
    is_explained = False
    for unit in units[at + 1 :]:
        if unit.kind == "finding" and (is_explained or not gone):
            gone.append(unit)
            is_explained = False
        elif unit.kind in ("hedged", "link"):
            is_explained = bool(gone)
        elif unit.kind in ("break", "comma", "copula", "finding"):
            break
    return gone


def _with_sign(units: list[Unit], reached: list[Unit]) -> list[Unit]:
    """Add the sign that it explains: "the opacity concerning for edema has cleared"."""
    if not reached:
        return reached
    is_explained = False
    for unit in reversed(units[: units.index(reached[-1])]):
        if unit.kind == "finding":
            return [*reached, unit] if is_explained else reached
        if unit.kind in ("hedged", "link"):
            is_explained = True
        elif unit.kind == "break" and unit.form in ("that", "which"):
            continue
        elif unit.kind in _BETWEEN_STATEMENTS or (
            unit.kind == "copula" and unit.form not in WORDS["then"]
        ):
            break
    return reached
