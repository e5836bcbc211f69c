"""The reach of denials, hedges, "or" and history in their sentence (method.md section 6, points 1 to 5)."""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.structuring.rules.lexicon import UNDECIDED, WORDS, Kind, Sense
from lunguage_assets.structuring.rules.tagging import JOINS, Unit, beyond, first_kind

_BETWEEN_STATEMENTS = frozenset({"break", "comma", "deny", "deny after", "ended", "and", "with"})
_ADJECTIVES = ("ed", "ous", "otic")
"""Ends of findings that are adjectives: "hyperexpanded", "emphysematous", "fibrotic"."""
_OWN_WORDS: frozenset[Kind] = frozenset({"word", "place", "anatomy", "abnormal", "other"})
"""What stands between a word and the finding that it is said of."""
_BEFORE_VERB = ("other", "source", "exam", "preposition", "link", "comma", "place", "anatomy")
_OWN_STATEMENT = frozenset({"no_change", "severity", "improved", "worsened", "measurement"})
"""Columns of words that, after a comma, begin a statement of their own: "no effusion, mild edema"."""
_OWN_FINDING = _OWN_STATEMENT | {"morphology", "distribution", "onset"}
"""The same, behind a hedge: "may represent scarring, scattered calcifications"."""


def mark_scopes(units: list[Unit]) -> None:
    """Mark what is denied, left open and past."""
    _deny_forward(units)
    for at, unit in enumerate(units):
        if unit.aside:
            continue
        if unit.kind == "deny after" or (unit.kind == "deny" and _answers(units, at)):
            _deny(_with_sign(units, list_before(units, at)), unit.code)
        elif unit.kind == "deny" and _dismisses(units, at):
            _deny(list_before(units, at, of_hedge=True)[:1], unit.code)
        elif unit.kind == "ended":
            _end(units, at)
    for at, unit in enumerate(units):
        if unit.aside:
            continue
        if unit.kind == "open":
            _open(units, at)
        elif unit.sense.name == UNDECIDED:
            _undecided(units, at)
        elif unit.kind == "open after":
            behind = beyond(units[at + 1 :], {*_OWN_WORDS, "comma"})  # "minimal, if any, edema"
            found = [behind] if behind is not None and behind.kind == "finding" else []
            for one in list_before(units, at, of_hedge=True) or found:
                one.leave_open()
        elif unit.kind == "alternative":
            _alternatives(units, at)
        elif unit.kind == "past":
            _past(units, at)
        elif unit.kind == "source" or unit.code == "other_source":
            _earlier(units, at)


# --- what is denied


def _deny_forward(units: list[Unit]) -> None:
    scope: Unit | None = None
    seen = False
    for at, unit in enumerate(units):
        if unit.aside or unit.kind in ("break", "ended") or (unit.kind == "deny after" and scope is None):
            scope = None
        elif unit.kind == "deny":
            scope, seen = None if _dismisses(units, at) else unit, False
        elif scope is not None:
            if unit.kind in ("finding", "abnormal", "normal"):
                unit.denied = scope.code
                seen = seen or unit.kind == "finding" or scope.sense.name == "near"
            elif unit.kind in ("open", "open after", "link"):
                unit.denied = scope.code
            elif seen and unit.kind in ("comma", "and", "with") and statement_follows(units, at, scope):
                scope = None


def _deny(found: list[Unit], how: str) -> None:
    for unit in found:
        unit.denied = unit.denied or how


def _dismisses(units: list[Unit], at: int) -> bool:
    """Whether a doubt stands behind what it is about: "atelectasis more likely, pneumonia less likely"."""
    ends = at + 1 == len(units) or units[at + 1].kind in ("break", "comma")
    return units[at].code == "t" and ends and at > 0 and units[at - 1].kind in ("finding", "place")


def _answers(units: list[Unit], at: int) -> bool:
    """Whether a denial is the whole answer to a heading: "effusion: no"."""
    last = at + 1 == len(units) or units[at + 1].kind == "break"
    return last and at > 0 and units[at - 1].kind == "copula"


def _end(units: list[Unit], at: int) -> None:
    """What has gone: what stands before, else what follows ("resolved left effusion")."""
    gone = [] if units[at].before else _with_sign(units, list_before(units, at))
    if not gone:
        explained = False
        for unit in units[at + 1 :]:
            if unit.kind == "finding" and (explained or not gone):
                gone.append(unit)
                explained = False
            elif unit.kind in ("open", "link"):
                explained = bool(gone)
            elif unit.kind in ("break", "comma", "copula", "finding"):
                break
    _deny(gone, "d")
    for unit in gone:
        unit.past = units[at]


def _with_sign(units: list[Unit], found: list[Unit]) -> list[Unit]:
    """What is gone, with the sign it explains: "the opacity concerning for pneumonia has cleared"."""
    explains = False
    for unit in reversed(units[: units.index(found[-1])] if found else []):
        if unit.kind == "finding":
            return [*found, unit] if explains else found
        if unit.kind in ("open", "link"):
            explains = True
        elif unit.kind == "break" and unit.form in ("that", "which"):
            continue
        elif unit.kind in _BETWEEN_STATEMENTS or (unit.kind == "copula" and unit.form not in WORDS["then"]):
            break
    return found


# --- what is left open


def _open(units: list[Unit], at: int) -> None:
    """A hedge governs the list behind it, or, at the end of its clause, the list before it."""
    unit = units[at]
    if unit.denied or _of_the_place(units, at) or _is_copula(units, at):
        return
    reached = list_after(units, at)
    for place in reached:
        known = takewhile(lambda one: one.kind in _OWN_WORDS, reversed(units[:place]))
        is_known = any(one.form == "known" for one in known)  # "consistent with known emphysema"
        past = units[place].past
        units[place].open = not (is_known or (past is not None and past.kind == "ended"))
    following = units[at + 1] if at + 1 < len(units) else None
    ends = (
        following is None
        or following.aside
        or following.kind in ("break", "comma", "seen", "preposition", "and")
    )
    said = at > 0 and units[at - 1].kind == "copula" and unit.form in WORDS["predicates"]
    if not reached and (ends or said or unit.form in WORDS["modals"]):
        before = list_before(units, at, of_hedge=True)
        for one in before[:1] if unit.form == "?" else before:
            one.leave_open()


def _undecided(units: list[Unit], at: int) -> None:
    """ "Borderline cardiomegaly", "borderline enlarged": the word and what it qualifies are left open."""
    for unit in units[at:]:
        if unit.kind in ("abnormal", "finding"):
            unit.leave_open()
        if unit.kind not in ("word", "place", "abnormal"):
            return


def _of_the_place(units: list[Unit], at: int) -> bool:
    """Whether only the place is left open: "opacity, possibly in the lingula"."""
    first = units[at].form
    if first == "likely" and at and units[at - 1].kind == "copula":
        return False  # "pneumonia is likely in the left base"
    kinds = [unit.kind for unit in units[at + 1 : at + 3]]
    place = len(kinds) == 2 and kinds[0] == "preposition" and kinds[1] in ("place", "anatomy")
    before = (unit for unit in clause_around(units, at) if unit.begin < units[at].begin)
    hedges_place = first.endswith("ly") or first in WORDS["of_the_place"]
    return place and hedges_place and any(unit.kind == "finding" for unit in before)


def _is_copula(units: list[Unit], at: int) -> bool:
    """Whether "appears" only joins an adjective to a part of the body: "the lungs appear clear"."""
    said = beyond(units[at + 1 :], ("word", "place", "other"))
    if units[at].form not in WORDS["appearances"] or said is None:
        return False
    subject = beyond(reversed(units[:at]), ("word", "other"))
    adjective = said.kind == "abnormal" or (said.kind == "finding" and said.form.endswith(_ADJECTIVES))
    of_body = subject is not None and subject.kind in ("anatomy", "place")
    return said.kind == "normal" or (adjective and of_body)


def _alternatives(units: list[Unit], at: int) -> None:
    """ "A or B", "A versus" something unknown leave all open, unless denied; of a doubted tail, the head."""
    if units[at].form == "either":
        return
    before, behind = _finding_beside(units, at, -1), _finding_beside(units, at, 1)
    if before and behind:
        if not (before.denied or behind.denied == "d" or _unchanged(units, before)):
            for one in (*list_before(units, at, of_alternatives=True), behind):
                one.leave_open()
        return
    unknown = units[at - 1 : at] if behind else units[at + 1 : at + 2]
    named = any(unit.kind in (*_OWN_WORDS, "open", "comma") for unit in unknown)
    known = before or behind
    if known is not None and units[at].form in ("versus", "vs") and named:
        known.leave_open()
    else:  # "normal or mildly enlarged"
        around = [beyond(side, ("word", "other")) for side in (reversed(units[:at]), units[at + 1 :])]
        states = [unit for unit in around if unit is not None]
        if {unit.kind for unit in states} == {"normal", "abnormal"}:
            for unit in states:
                unit.leave_open()


def _unchanged(units: list[Unit], finding: Unit) -> bool:
    """Whether it is a change that is denied: "no change in A or B" states both."""
    for unit in reversed(units[: units.index(finding)]):
        if unit.code == "no_change":
            return unit.form in ("no", "not", "without")
        if unit.kind in ("finding", "break", "copula", "open"):
            return False
    return False


# --- what is past


def _earlier(units: list[Unit], at: int) -> None:
    """ "Was seen on an earlier film", "the earlier film showed": the clause is about then."""
    told = next((n for n in range(at + 1, len(units)) if units[n].form in WORDS["told"]), None)
    if told is not None and not all(
        one.kind in _BEFORE_VERB or one.form in ("which", "that") for one in units[at + 1 : told]
    ):
        told = None
    if told is None and units[at].form == "on":  # "there was no effusion on the prior film"
        begin = next((n for n in range(at - 1, -1, -1) if units[n].kind == "break"), None)
        told = begin + 1 if begin is not None and units[begin].code == "there was" else None
    clause = clause_around(units, at if told is None else told)
    if told is not None or any(unit.form in WORDS["then"] for unit in clause if unit.kind == "copula"):
        for unit in clause:
            denied = unit.denied and told is None
            if unit.kind in ("finding", "anatomy") and unit.past is None and not denied:
                unit.past = units[at]


def _past(units: list[Unit], at: int) -> None:
    for place, unit in enumerate(units[at + 1 :]):
        if unit.kind in ("break", "copula", "with", "open", "deny"):
            break
        if unit.kind == "finding":
            if unit.code == "PATIENT INFO." and place:
                break  # what the patient feels is now: "history of asthma, cough"
            unit.past = units[at]


# --- how far it reaches


def statement_follows(units: list[Unit], at: int, scope: Unit) -> bool:
    """Whether a list of what is denied ends at this joint, because something else is stated behind it."""
    joint = list(takewhile(lambda unit: unit.kind in JOINS or unit.kind == "with", units[at + 1 :]))
    if any(unit.kind == "alternative" for unit in joint):
        return False
    rest = units[at + 1 + len(joint) :]
    if not rest or rest[0].kind in ("deny", "break", "open", "past"):
        return True
    anatomy = False
    for place, unit in enumerate(rest, start=1):
        if unit.kind == "normal" or (unit.kind == "copula" and anatomy):
            return True
        if unit.kind == "abnormal":
            ahead = first_kind(rest[place:], {"anatomy", "finding", *JOINS})
            if anatomy or ahead == "anatomy":
                return True
        if unit.kind in JOINS or unit.kind in ("finding", "break", "copula"):
            break
        anatomy = anatomy or unit.kind == "anatomy"
    if scope.sense.name == "near" and units[at].kind != "comma":
        return True
    if scope.kind == "open" and units[at].kind == "and":
        return False
    columns = _OWN_FINDING if scope.kind == "open" else _OWN_STATEMENT
    first = beyond(rest, ("place",)) or rest[-1]
    own = first.kind in ("word", "abnormal") and first.code in columns
    return own and not _alternative_ahead(rest[rest.index(first) :])


def _alternative_ahead(units: list[Unit]) -> bool:
    """Whether the list goes on to an "or"."""
    return first_kind(units, ("alternative", "break", "copula", "deny", "with", "open")) == "alternative"


def list_after(units: list[Unit], at: int) -> list[int]:
    """The findings and predicates behind a hedge: the first one, and what is joined to it."""
    found: list[int] = []
    for place in range(at + 1, len(units)):
        unit = units[place]
        if unit.aside or unit.kind in ("break", "ended", "deny after"):
            break
        if found and unit.kind in ("deny", "with", "copula", "open"):
            break
        if unit.kind in ("finding", "abnormal"):
            found.append(place)
        elif unit.kind in ("comma", "and"):
            if not found and not _joins_words(units, place):
                break
            if not found or units[place - 1].kind in JOINS:
                continue
            if units[at].sense.name == "near" and not _alternative_ahead(units[place + 1 :]):
                break
            if statement_follows(units, place, units[at]):
                behind = beyond(units[place + 1 :], _OWN_WORDS)
                if unit.kind == "comma" and behind is not None and behind.kind == "finding":
                    unit.become(Sense("break"))
                break
    return found


def _joins_words(units: list[Unit], at: int) -> bool:
    """Whether an "and" stands inside a phrase: "possible right third and fourth rib fractures"."""
    around = {units[at - 1].kind, units[min(at + 1, len(units) - 1)].kind}
    return units[at].form == "/" or (units[at].kind == "and" and around in ({"place"}, {"word"}))


def list_before(
    units: list[Unit], at: int, *, of_alternatives: bool = False, of_hedge: bool = False
) -> list[Unit]:
    """The finding before a word, and those joined to it, by a comma where the list has an "and" or "or".

    `of_alternatives`: `at` is the "or" itself; `of_hedge`: "A, and B cannot be excluded" is of B only.
    """
    found: list[Unit] = []
    joined, listed = True, of_alternatives and units[at].form == "or"
    for place in range(at - 1, -1, -1):
        unit = units[place]
        if unit.aside or unit.kind in ("break", "deny", "deny after", "open", "ended", "with"):
            break
        if unit.kind == "finding":
            if not joined or (found and of_alternatives and unit.sense.name in WORDS["signs"]):
                break
            found.append(unit)
            joined = False
        elif unit.form == "either" or (of_hedge and unit.kind == "and" and units[place - 1].kind == "comma"):
            break
        elif of_alternatives and unit.kind == "and" and unit.form != "/":
            break  # "A and B or C": A is there
        elif unit.kind in ("and", "alternative"):
            joined = listed = True
        elif unit.kind == "comma":
            joined = joined or (listed and bool(found))
        elif unit.kind in ("copula", "link", "seen") and found:
            break
    return found


def _finding_beside(units: list[Unit], at: int, step: int) -> Unit | None:
    """The finding next to a joint, with nothing but its own words between."""
    for unit in units[at + 1 :] if step > 0 else reversed(units[:at]):
        if unit.kind == "finding":
            return None if unit.aside else unit
        doubts = step > 0 and unit.kind == "deny" and unit.code == "t"
        if not doubts and unit.kind not in (*_OWN_WORDS, "preposition", "comma", "open"):
            return None
    return None


def clause_around(units: list[Unit], at: int) -> list[Unit]:
    """The units between the breaks around one."""
    begin = next((n + 1 for n in range(at - 1, -1, -1) if units[n].kind == "break"), 0)
    end = next((n for n in range(at + 1, len(units)) if units[n].kind == "break"), len(units))
    return units[begin:end]
