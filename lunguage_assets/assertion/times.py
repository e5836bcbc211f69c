"""What is not of now: history, and what an earlier examination showed.

Both fill `past hx`, so that the row does not count now (method.md section 7, point 7).
"""

from __future__ import annotations

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
    cue = units[at]
    for position in range(at + 1, len(units)):
        unit = units[position]
        if unit.kind in ("break", "copula", "with", "hedged", "negated"):
            return
        if cue.stops_at(unit):
            return
        if unit.kind != "finding":
            continue
        # What the patient feels is now ("history of asthma, cough"), unless the history
        # is of that: "history of cough".
        is_next = position == at + 1
        if unit.code == _SYMPTOMS and not is_next:
            return
        unit.make_past(cue, "list behind")
        if cue.reaches("next"):
            return


def mark_examination(units: list[TaggedToken], at: int) -> None:
    """Mark what an earlier examination showed: "was seen on the prior film"."""
    examination = units[at]
    verb = _verb_of_examination(units, at)
    if verb is None:
        verb = _begin_of_past_clause(units, at)
    if verb is not None:
        clause = clause_around(units, verb)
    else:
        clause = clause_around(units, at)
        if not _is_told_in_past(clause):
            return
    # "Was not seen on the prior film" is about now: it is new; so is what was not
    # there yesterday, but "no effusion was seen yesterday" is of yesterday.
    denies_now = verb is None and not _tells_time(examination)
    for unit in clause:
        if unit.begin > examination.begin and examination.stops_at(unit):
            return
        if denies_now and unit.negation:
            continue
        if _can_be_past(unit, clause):
            unit.make_past(examination, "clause")


def _can_be_past(unit: TaggedToken, clause: list[TaggedToken]) -> bool:
    """Whether nothing is said of a finding or part that holds now."""
    if unit.kind not in ("finding", "anatomy") or unit.past is not None:
        return False
    # "The CT showed a nodule, which is not visible": not visible now.
    end_of_clause = clause[-1].end
    return all(edge.begin < end_of_clause for edge in unit.edges)


def _is_told_in_past(clause: list[TaggedToken]) -> bool:
    """Whether the verb of a clause is "was" or "were"."""
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
            is_verb = unit.form == "did" or position > at + 1
            return position if is_verb else None
        if unit.kind not in _BEFORE_VERB and unit.form not in ("which", "that"):
            return None
    return None


def _begin_of_past_clause(units: list[TaggedToken], at: int) -> int | None:
    """Find "there was" of "there was no effusion on the prior film"."""
    examination = units[at]
    if examination.form != "on" and not _tells_time(examination):
        return None
    for position in range(at - 1, -1, -1):
        unit = units[position]
        if unit.kind == "break":
            return position + 1 if unit.code == "there was" else None
    return None
