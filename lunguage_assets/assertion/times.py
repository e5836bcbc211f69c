"""What is not of now: history, and what an earlier examination showed.

Both fill `past hx`, so that the row does not count now (method.md section 7, point 7).
"""

from __future__ import annotations

from collections.abc import Iterator

from lunguage_assets.assertion.units import TaggedToken, clause_around
from lunguage_assets.assertion.word_files import WORDS

_BEFORE_VERB = (
    "other", "examination", "examined", "preposition", "link", "comma", "place",
    "anatomy",
)  # fmt: skip
"""What may stand between an examination and its verb: "the CT of yesterday showed"."""
_SYMPTOMS = "PATIENT INFO."


def mark_history(units: list[TaggedToken], at: int) -> None:
    """Mark what stands behind "history of" as past."""
    for position, unit in enumerate(units[at + 1 :]):
        if unit.kind in ("break", "copula", "with", "hedged", "negated"):
            break
        if units[at].stops_at(unit):
            break
        if unit.kind == "finding":
            # What the patient feels is now: "history of asthma, cough".
            if unit.code == _SYMPTOMS and position:
                break
            unit.make_past(units[at], "list behind")
            if units[at].reaches("next"):
                break


def mark_examination(units: list[TaggedToken], at: int) -> None:
    """Mark what an earlier examination showed: "was seen on the prior film"."""
    examination = units[at]
    verb = _verb_of_examination(units, at)
    if verb is None and (examination.form == "on" or _tells_time(examination)):
        verb = _begin_of_past_clause(units, at)
    clause = clause_around(units, at if verb is None else verb)
    if verb is None and not _is_told_in_past(clause):
        return
    # "Was not seen on the prior film" is about now: it is new; so is what was not
    # there yesterday, but "no effusion was seen yesterday" is of yesterday.
    denies_now = verb is None and not _tells_time(examination)
    for unit in _up_to_end(clause, examination):
        is_of_now = denies_now and bool(unit.negation)
        if _can_be_past(unit, clause) and not is_of_now:
            unit.make_past(examination, "clause")


def _up_to_end(
    clause: list[TaggedToken], examination: TaggedToken
) -> Iterator[TaggedToken]:
    """Yield the units of a clause, up to what ends the reach of the examination."""
    for unit in clause:
        if unit.begin > examination.begin and examination.stops_at(unit):
            return
        yield unit


def _can_be_past(unit: TaggedToken, clause: list[TaggedToken]) -> bool:
    if unit.kind not in ("finding", "anatomy") or unit.past is not None:
        return False
    # "The CT showed a nodule, which is not visible": not visible now.
    return all(edge.begin < clause[-1].end for edge in unit.edges)


def _is_told_in_past(clause: list[TaggedToken]) -> bool:
    return any(unit.kind == "copula" and unit.form in WORDS["then"] for unit in clause)


def _tells_time(examination: TaggedToken) -> bool:
    """ "Yesterday", "on the film of the morning"."""
    return examination.is_cue("examination.then")


def _verb_of_examination(units: list[TaggedToken], at: int) -> int | None:
    """Find the verb of "the prior film showed", with nothing else between."""
    for position in range(at + 1, len(units)):
        unit = units[position]
        if unit.form in WORDS["told"]:
            return position
        if unit.kind == "negated" and unit.form in ("do", "did"):
            # "The prior film did not show an effusion"
            return position if position > at + 1 or unit.form == "did" else None
        if unit.kind not in _BEFORE_VERB and unit.form not in ("which", "that"):
            return None
    return None


def _begin_of_past_clause(units: list[TaggedToken], at: int) -> int | None:
    """Find "there was" of "there was no effusion on the prior film"."""
    for position in range(at - 1, -1, -1):
        if units[position].kind == "break":
            is_past = units[position].code == "there was"
            return position + 1 if is_past else None
    return None
