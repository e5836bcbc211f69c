"""What is left open: hedges and alternatives (method.md section 7, point 4).

Which words hedge stands in `resources/hedges.yaml` and `resources/assertion/`; how sure
a hedge sounds is a matter of the judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from lunguage_assets.assertion.reach import (
    OWN_WORDS,
    finding_beside,
    list_before,
    list_behind,
    own_words_before,
)
from lunguage_assets.assertion.units import (
    TaggedToken,
    clause_around,
    first_beyond,
    kind_at,
    rest_of_clause,
)
from lunguage_assets.assertion.vocabulary import UNDECIDED
from lunguage_assets.assertion.word_files import WORDS

_BESIDE = 5
"""Words after which a comparison is said of something else."""


def mark_undecided_clause(units: list[TaggedToken], at: int) -> None:
    """Leave open all that "it is unclear whether" governs, denials in it included.

    "Whether the edema has cleared is unclear" turns it round.
    """
    hedge = units[at]
    if not hedge.reaches("clause"):
        return
    if hedge.looks("behind"):
        governed = rest_of_clause(units, at)
    else:
        before = reversed(units[:at])
        governed = list(takewhile(lambda unit: unit.form != "whether", before))
    for unit in governed:
        unit.undecided_by = hedge


def mark_hedge(units: list[TaggedToken], at: int) -> None:
    """Leave open the list behind a hedge, or before it where it ends its clause."""
    hedge = units[at]
    # A hedge that is denied says nothing ("not suspicious for"), and one of a place
    # leaves the place open alone.
    if hedge.negation or _is_of_place(units, at):
        return
    behind = [] if _is_glued(units, at) else list_behind(units, at)
    for unit in behind:
        if not _is_known_or_gone(units, unit):
            unit.leave_open(hedge, "list behind")
    if behind or not hedge.looks("before"):
        return
    if not _is_predicate(units, at):
        return
    before = list_before(units, at, of_hedge=True)
    if hedge.form == "?":
        # "Edema, pneumonia?": the sign asks about the nearest one.
        before = before[:1]
    for unit in before:
        unit.leave_open(hedge, "list before")


def _is_known_or_gone(units: list[TaggedToken], finding: TaggedToken) -> bool:
    """Whether a hedge cannot leave a finding open any more.

    "Consistent with known emphysema": the emphysema is there.
    """
    if finding.past is not None and finding.past.kind == "ended":
        return True
    own_words = own_words_before(units, finding)
    return any(word.form == "known" for word in own_words)


def _is_glued(units: list[TaggedToken], at: int) -> bool:
    """Whether a sign stands right behind its finding: "Atelectasis? Pneumonia?"."""
    hedge = units[at]
    if hedge.form != "?" or at == 0:
        return False
    return units[at - 1].end == hedge.begin


def _is_predicate(units: list[TaggedToken], at: int) -> bool:
    """Whether a hedge is said of what stands before it: "edema is possible"."""
    is_last = at + 1 == len(units)
    if is_last or _is_glued(units, at):
        return True
    hedge = units[at]
    following = units[at + 1]
    if following.aside:
        return True
    if following.kind in ("break", "comma", "seen", "preposition", "and"):
        return True
    # "Is probably not seen", "is more likely than edema".
    if following.kind == "negated before" or following.doubts:
        return True
    # "Pneumonia is favored over edema", "... is suspected more than edema".
    nearest = units[at + 1 : at + 1 + _BESIDE]
    compared = first_beyond(nearest, ("word", "other", "hedged"))
    if compared is not None and compared.kind == "negated" and compared.doubts:
        return True
    # "Edema may well be there", "edema is questionable on this view".
    if hedge.form in WORDS["modals"]:
        return True
    is_behind_verb = kind_at(units, at - 1) == "copula"
    return is_behind_verb and hedge.form in WORDS["predicates"]


def mark_hedge_behind(units: list[TaggedToken], at: int) -> None:
    """Leave open what stands before a hedge such as "cannot be excluded"."""
    hedge = units[at]
    # "Atelectasis, scarring, or both".
    is_last_of_list = hedge.form == "or"
    reached = list_before(units, at, of_hedge=True, of_alternatives=is_last_of_list)
    if not reached:
        # "Minimal, if any, edema", "another possibility is edema".
        behind = first_beyond(units[at + 1 :], {*OWN_WORDS, "comma", "copula"})
        if behind is not None and behind.kind == "finding":
            reached = [behind]
    for unit in reached:
        unit.leave_open(hedge, "list before")


def mark_undecided(units: list[TaggedToken], at: int) -> None:
    """Leave open "borderline" and what it qualifies: "borderline enlarged"."""
    for unit in units[at:]:
        if unit.kind in ("abnormal", "finding"):
            unit.leave_open(units[at], "next behind")
        if unit.kind not in ("word", "place", "abnormal"):
            return


def _is_of_place(units: list[TaggedToken], at: int) -> bool:
    """Whether only the place is left open: "opacity, possibly in the lingula"."""
    hedge = units[at]
    if kind_at(units, at + 1) != "preposition":
        return False
    if kind_at(units, at + 2) not in ("place", "anatomy"):
        return False
    # "Pneumonia is likely in the left base" leaves open the pneumonia.
    is_predicate = hedge.form == "likely" and kind_at(units, at - 1) == "copula"
    if is_predicate:
        return False
    is_adverb = hedge.form.endswith("ly")
    if not is_adverb and hedge.form not in WORDS["of_the_place"]:
        return False
    # The finding whose place it is stands before.
    for unit in clause_around(units, at):
        if unit.kind == "finding" and unit.begin < hedge.begin:
            return True
    return False


def mark_alternatives(units: list[TaggedToken], at: int) -> None:
    """Leave open "A or B", and "A versus" something unknown, unless they are denied.

    Of a doubted tail ("A or, less likely, B") the head is open.
    """
    joint = units[at]
    if joint.form == "either":
        for member in _members_of_either(units, at):
            member.leave_open(joint, "list behind")
        return
    before = finding_beside(units, at, -1)
    behind = finding_beside(units, at, 1)
    if before is not None and behind is not None:
        _mark_two(units, at, before, behind)
        return
    finding = before or behind
    other_side = at - 1 if behind is not None else at + 1
    has_alternative = kind_at(units, other_side) in (*OWN_WORDS, "hedged", "comma")
    is_versus = joint.form in ("versus", "vs")
    if finding is not None and is_versus and has_alternative:
        # "Edema versus overlap": what is in no word list may be it, too.
        finding.leave_open(joint, "list around")
    else:
        _mark_states(units, at)


def _mark_two(
    units: list[TaggedToken], at: int, before: TaggedToken, behind: TaggedToken
) -> None:
    """Leave open the findings around a joint, unless a denial is about them.

    Args:
        units: of the sentence.
        at: position of the joint.
        before: the finding before it.
        behind: the finding behind it.
    """
    joint = units[at]
    # "A or, less likely, B" denies B with doubt, and leaves A open.
    is_denied = before.negation or behind.negation == "definite"
    if is_denied or _is_change_denied(units, before):
        return
    listed_before = list_before(units, at, of_alternatives=True)
    for unit in (*listed_before, behind):
        unit.leave_open(joint, "list around")


def _members_of_either(units: list[TaggedToken], at: int) -> Iterator[TaggedToken]:
    """Yield the findings of "either A or B", up to the one behind the "or"."""
    is_last = False
    for unit in units[at + 1 :]:
        if unit.kind == "finding":
            yield unit
            if is_last:
                return
        elif unit.kind == "alternative":
            if unit.form == "either":
                return
            is_last = True
        elif unit.kind in ("break", "copula", "negated", "hedged"):
            return


def _mark_states(units: list[TaggedToken], at: int) -> None:
    """Leave open "normal or mildly enlarged"."""
    between = ("word", "other")
    before = first_beyond(reversed(units[:at]), between)
    behind = first_beyond(units[at + 1 :], between)
    if before is None or behind is None:
        return
    if {before.kind, behind.kind} == {"normal", "abnormal"}:
        before.leave_open(units[at], "next")
        behind.leave_open(units[at], "next")


def _is_change_denied(units: list[TaggedToken], finding: TaggedToken) -> bool:
    """Whether two findings are stated, of which a change is denied.

    "No change in effusion or edema" states both.
    """
    for unit in reversed(units[: units.index(finding)]):
        if unit.code == "no_change":
            return unit.form in WORDS["change_denied"]
        if unit.kind in ("finding", "break", "copula", "hedged"):
            return False
    return False


def is_undecided(unit: TaggedToken) -> bool:
    """Whether a word is between normal and abnormal itself."""
    return unit.name == UNDECIDED
