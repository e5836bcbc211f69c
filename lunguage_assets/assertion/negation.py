"""What is denied, and what has gone (method.md section 7, point 3).

How far a denial reaches is decided here and in `reach.py`; which words deny stands in
`resources/assertion/negation.yaml`, what is neither there nor absent in
`limitations.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from lunguage_assets.assertion.reach import (
    OWN_WORDS,
    is_statement_behind,
    list_before,
    list_behind,
    reaches_next,
)
from lunguage_assets.assertion.units import (
    TaggedToken,
    first_beyond,
    first_kind,
    has_kind,
    kind_at,
    kind_beyond,
)
from lunguage_assets.assertion.word_files import WORDS

_BETWEEN_STATEMENTS = frozenset(
    {"comma", "negated", "negated before", "ended", "and", "with"}
)
"""What parts two statements: nothing behind it is said of what stands before."""
_ENDS_OF_RESOLUTION = frozenset({"break", "comma", "copula", "finding"})
"""What ends "resolution of ..."."""


def mark_denials(units: list[TaggedToken]) -> None:
    """Mark what is denied: by what stands before it, then by what stands behind it."""
    _deny_behind(units)
    for at, unit in enumerate(units):
        if unit.aside:
            continue
        if unit.kind == "negated before" or _is_answer(units, at):
            denied = _with_sign(units, list_before(units, at))
            _deny(denied, unit, "list before")
        elif _dismisses(units, at):
            before = list_before(units, at, of_hedge=True)
            _deny(before[:1], unit, "next before")
        elif unit.kind == "ended":
            _end(units, at)


def _deny_behind(units: list[TaggedToken]) -> None:
    """Deny the list behind each denial, in one pass from left to right."""
    denial: TaggedToken | None = None
    has_denied = False
    for at, unit in enumerate(units):
        if _ends_denial(units, at, denial):
            denial = None
        elif unit.kind == "negated":
            # "Pneumonia less likely" denies what stands before it, and no list behind.
            denial = None if _dismisses(units, at) else unit
            has_denied = False
        elif denial is not None and not _is_sign_of_doubt(units, at, denial):
            if has_denied and _begins_statement(units, at, denial):
                denial = None
            elif _deny_at(units, at, denial):
                has_denied = True


def _ends_denial(units: list[TaggedToken], at: int, denial: TaggedToken | None) -> bool:
    """Whether the list of a denial ends here, whatever it has denied."""
    unit = units[at]
    # "No effusion but edema", "no new nodule, resolved edema".
    if unit.aside or unit.kind in ("break", "ended"):
        return True
    if denial is not None and denial.stops_at(unit):
        return True
    # "Edema, as opposed to infection, is suspected": the verb is said of edema.
    is_verb_next = kind_at(units, at + 1) == "copula"
    return unit.kind == "comma" and is_verb_next


def _begins_statement(units: list[TaggedToken], at: int, denial: TaggedToken) -> bool:
    """Whether something else is stated from here on, behind what was denied."""
    unit = units[at]
    if unit.kind == "hedged":
        # "Without fever this is more likely edema"
        return units[at - 1].kind == "copula"
    if unit.kind not in ("comma", "and", "with"):
        return False
    return is_statement_behind(units, at, denial)


def _deny_at(units: list[TaggedToken], at: int, denial: TaggedToken) -> bool:
    """Deny a unit of the list; whether the list may end behind it."""
    unit = units[at]
    if unit.kind in ("finding", "abnormal", "normal"):
        unit.negate(denial, "list behind")
        # An adjective ends the list of "not enlarged, stable"; "no enlarged, calcified
        # nodes" goes on to its noun.
        return unit.kind == "finding" or reaches_next(denial)
    if unit.kind in ("hedged", "hedged before", "link"):
        unit.negate(denial, "list behind")
        is_direct = units[at - 1] is denial and reaches_next(denial)
        if is_direct and unit.form in WORDS["beliefs"]:
            # "Not suspicious for cancer" denies with doubt, "not consistent with
            # cancer" without.
            denial.doubted_by = unit
    return False


def _is_sign_of_doubt(units: list[TaggedToken], at: int, denial: TaggedToken) -> bool:
    """Whether a doubt is not about this finding, but about what it means.

    "It is unlikely that the opacity represents pneumonia": the opacity is there.
    """
    if units[at].kind != "finding" or not denial.is_cue("doubted.that"):
        return False
    verb = first_beyond(units[at + 1 :], {*OWN_WORDS, "preposition"})
    if verb is None or verb.kind not in ("link", "hedged", "copula"):
        return False
    # "... the opacity is there" is doubted itself: no other finding follows.
    behind_verb = units[units.index(verb) + 1 :]
    return first_kind(behind_verb, ("finding", "break")) == "finding"


def _deny(denied: Iterable[TaggedToken], by: TaggedToken, reason: str) -> None:
    for unit in denied:
        unit.negate(by, reason)


def _dismisses(units: list[TaggedToken], at: int) -> bool:
    """Whether it is a doubt that stands behind its finding.

    "Atelectasis more likely, pneumonia less likely".
    """
    cue = units[at]
    if cue.kind != "negated" or not cue.doubts or not cue.looks("before"):
        return False
    is_last = kind_at(units, at + 1) in ("", "break", "comma")
    is_behind_finding = kind_at(units, at - 1) in ("finding", "place")
    return is_last and is_behind_finding


def _is_answer(units: list[TaggedToken], at: int) -> bool:
    """Whether a denial is the whole answer: "Effusion: no", "Effusion - no"."""
    cue = units[at]
    if cue.kind != "negated" or not cue.looks("before"):
        return False
    is_last = kind_at(units, at + 1) in ("", "break")
    # The colon behind a heading is read as its verb, a dash as a comma.
    is_behind_heading = kind_at(units, at - 1) in ("copula", "comma")
    return is_last and is_behind_heading


def _end(units: list[TaggedToken], at: int) -> None:
    """Mark what has gone: what stands before, else what follows ("resolved edema")."""
    cue = units[at]
    gone: list[TaggedToken] = []
    reason = "list before"
    if cue.looks("before") and not _is_adjective(units, at):
        gone = _with_sign(units, list_before(units, at))
    if not gone and cue.looks("behind"):
        gone = _gone_behind(units, at)
        reason = "next behind"
    if _is_renewed(units, at, gone):
        return
    for unit in gone:
        unit.negate(cue, reason)
        # "Unclear whether the edema has resolved": it is left open, and not past.
        if unit.negation:
            unit.past = cue


def _is_adjective(units: list[TaggedToken], at: int) -> bool:
    """Whether what has gone follows: "lung cancer, now resolved pneumonia"."""
    before = kind_beyond(reversed(units[:at]), ("other", "seen"))
    behind = kind_beyond(units[at + 1 :], OWN_WORDS)
    is_first = before in ("", "break", "comma")
    return is_first and behind == "finding"


def _is_renewed(units: list[TaggedToken], at: int, gone: list[TaggedToken]) -> bool:
    """Whether there is one again: "the tube was exchanged for a longer tube"."""
    if not gone or not units[at].is_cue("ended.exchanged_for"):
        return False
    behind = first_beyond(units[at + 1 :], OWN_WORDS)
    if behind is None or behind.kind != "finding":
        return False
    return behind.name == gone[0].name


def _gone_behind(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """Find what has gone behind "resolution of", with what explained it.

    "Resolution of the opacity suspicious for pneumonia": both have gone.
    """
    cue = units[at]
    gone: list[TaggedToken] = []
    last = at
    if not reaches_next(cue):
        gone = _gone_list(units, at)
    if gone:
        last = units.index(gone[-1])
    # Whether "suspicious for" leads on from what has gone to what explained it.
    is_explained = False
    for unit in units[last + 1 :]:
        if unit.kind == "finding" and (is_explained or not gone):
            gone.append(unit)
            is_explained = False
        elif unit.kind in ("hedged", "link"):
            is_explained = bool(gone)
        elif unit.kind in _ENDS_OF_RESOLUTION or cue.stops_at(unit):
            break
    return gone


def _gone_list(units: list[TaggedToken], at: int) -> list[TaggedToken]:
    """List what has gone together: "resolution of edema and effusion".

    A comma alone may begin a statement: "resolution of edema, cardiomegaly is stable".
    """
    findings = [unit for unit in list_behind(units, at) if unit.kind == "finding"]
    if not findings:
        return []
    first = units.index(findings[0])
    last = units.index(findings[-1])
    between = units[first:last]
    is_joined = has_kind(between, "and", "alternative")
    return findings if is_joined else findings[:1]


def _with_sign(
    units: list[TaggedToken], reached: list[TaggedToken]
) -> list[TaggedToken]:
    """Add the sign that it explains: "the opacity concerning for edema has cleared"."""
    if not reached:
        return reached
    first = units.index(reached[-1])
    is_explained = False
    for unit in reversed(units[:first]):
        if unit.kind == "finding":
            return [*reached, unit] if is_explained else reached
        if unit.kind in ("hedged", "link"):
            is_explained = True
        elif _parts_statements(unit):
            break
    return reached


def _parts_statements(unit: TaggedToken) -> bool:
    # "The opacity that was concerning for edema has cleared" goes on at "that was".
    if unit.kind == "break":
        return unit.form not in ("that", "which")
    if unit.kind == "copula":
        return unit.form not in WORDS["then"]
    return unit.kind in _BETWEEN_STATEMENTS
