"""What is not of now: history, and what an earlier examination showed."""

from __future__ import annotations

from lunguage_assets.assertion.units import Unit, clause_around
from lunguage_assets.assertion.word_files import WORDS

_BEFORE_VERB = (
    "other", "examination", "examined", "preposition", "link", "comma", "place",
    "anatomy",
)  # fmt: skip
"""What may stand between an examination and its verb: "the CT of yesterday showed"."""
_SYMPTOMS = "PATIENT INFO."


def mark_history(units: list[Unit], at: int) -> None:
    """Mark what stands behind "history of" as past."""
    for position, unit in enumerate(units[at + 1 :]):
        if unit.kind in ("break", "copula", "with", "hedged", "negated"):
            break
        if units[at].stops_at(unit):
            break
        if unit.kind == "finding":
            if unit.code == _SYMPTOMS and position:
                break  # what the patient feels is now: "history of asthma, cough"
            unit.make_past(units[at], "list behind")
            if units[at].reaches("next"):
                break


def mark_examination(units: list[Unit], at: int) -> None:
    """Mark what an earlier examination showed: "was seen on the prior film"."""
    cue = units[at].cue
    tells_time = cue is not None and cue.id == "examination.then"
    verb = _verb_of_examination(units, at)
    if verb is None and (units[at].form == "on" or tells_time):
        verb = _begin_of_past_clause(units, at)
    clause = clause_around(units, at if verb is None else verb)
    if verb is None and not _is_told_in_past(clause):
        return
    # "Was not seen on the prior film" is about now: it is new; so is what was not
    # there yesterday, but "no effusion was seen yesterday" is of yesterday.
    denies_now = verb is None and not tells_time
    end = clause[-1].end if clause else 0
    for unit in clause:
        if unit.begin > units[at].begin and units[at].stops_at(unit):
            break
        if unit.kind not in ("finding", "anatomy") or unit.past is not None:
            continue
        # "The CT showed a nodule, which is not visible": not now.
        is_denied_behind = any(edge.begin >= end for edge in unit.edges)
        if not is_denied_behind and not (denies_now and unit.negation):
            unit.make_past(units[at], "clause")


def _is_told_in_past(clause: list[Unit]) -> bool:
    return any(unit.kind == "copula" and unit.form in WORDS["then"] for unit in clause)


def _verb_of_examination(units: list[Unit], at: int) -> int | None:
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


def _begin_of_past_clause(units: list[Unit], at: int) -> int | None:
    """Find "there was" of "there was no effusion on the prior film"."""
    for position in range(at - 1, -1, -1):
        if units[position].kind == "break":
            is_past = units[position].code == "there was"
            return position + 1 if is_past else None
    return None
