"""The reach of denials, hedges, "or" and history: the findings before and behind them in their sentence
(method.md section 6, points 1, 2, 4 and 5).
"""

from __future__ import annotations

from itertools import takewhile

from lunguage_assets.structuring.rules.lexicon import UNDECIDED, Kind, Sense
from lunguage_assets.structuring.rules.tagging import THEN, Unit, first_kind

_STATED: frozenset[Kind] = frozenset({"finding", "abnormal", "normal"})
_ENDS_OF_HEDGE: frozenset[Kind] = frozenset({"break", "comma", "seen", "preposition", "and"})
_BETWEEN_STATEMENTS = frozenset({"break", "comma", "deny", "deny after", "ended", "and", "with"})
_PREDICATES = frozenset({"suspected", "possible", "questionable", "favored", "questioned"})
_MODALS = frozenset({"may", "might", "could", "would"})
_OF_THE_PLACE = frozenset({"likely", "most", "more", "perhaps", "maybe", *_MODALS})
"""First words of hedges that, before a preposition, leave the place open; so do adverbs: "possibly in the
lingula".
"""
_APPEARANCES = frozenset({"appear", "appears", "appeared", "seem", "seems"})
_ADJECTIVES = ("ed", "ous", "otic")
"""Ends of findings that are adjectives: "hyperexpanded", "emphysematous", "fibrotic"."""
_VERSUS = frozenset({"versus", "vs"})
_NAMING: frozenset[Kind] = frozenset({"other", "anatomy", "place", "word", "abnormal", "open", "comma"})
_COMPLAINT = "PATIENT INFO."
"""After what was, what the patient feels is now: "history of asthma, cough"."""
_THEN = frozenset({"was", "were"})
_TOLD = frozenset({"showed", "revealed", "demonstrated", "had", "described", "reported"})
_BEFORE_VERB: frozenset[Kind] = frozenset(
    {"other", "source", "exam", "preposition", "link", "comma", "place", "anatomy"}
)
_JOINS: frozenset[Kind] = frozenset({"and", "comma", "alternative"})
_ENDS_OF_ITEM: frozenset[Kind] = frozenset({"finding", "and", "comma", "alternative", "break", "copula"})
_BREAK = Sense("break")
SIGNS = frozenset(
    {"opacity", "density", "haziness", "lucency", "blunting", "volume loss", "low lung volumes"}
)
"""Descriptions stand before the alternatives that explain them: "opacity, atelectasis or pneumonia"."""
_OWN_STATEMENT = frozenset({"no_change", "severity", "improved", "worsened", "measurement"})
"""Columns of words that, after a comma, begin a statement of their own: "no effusion, mild edema"."""
_OWN_FINDING = _OWN_STATEMENT | {"morphology", "distribution", "onset"}
"""The same, behind a hedge: "may represent scarring, scattered calcifications"."""


def mark_scopes(units: list[Unit]) -> None:
    """Mark what is denied, left open and past."""
    _deny_forward(units)
    _deny_backward(units)
    for at, unit in enumerate(units):
        if unit.aside:
            continue
        if unit.kind == "open":
            _open(units, at)
        elif unit.sense.name == UNDECIDED:
            _undecided(units, at)
        elif unit.kind == "open after":
            for place in list_before(units, at, of_hedge=True) or finding_behind(units, at):
                units[place].open = units[place].open or not units[place].denied
        elif unit.kind == "alternative":
            _alternatives(units, at)
        elif unit.kind == "past":
            _past(units, at)
        elif unit.kind == "source" or unit.code == "other_source":
            _earlier(units, at)


def _deny_forward(units: list[Unit]) -> None:
    scope: Unit | None = None
    seen = False
    for at, unit in enumerate(units):
        if unit.aside or unit.kind in ("break", "ended") or (unit.kind == "deny after" and scope is None):
            scope = None
        elif unit.kind == "deny":
            scope, seen = None if _dismisses(units, at) else unit, False
        elif scope is not None:
            if unit.kind in _STATED:
                unit.denied = scope.code
                seen = seen or unit.kind == "finding" or scope.sense.name == "near"
            elif unit.kind in ("open", "open after", "link"):
                unit.denied = scope.code
            elif seen and unit.kind in ("comma", "and", "with") and statement_follows(units, at, scope):
                scope = None


def _deny_backward(units: list[Unit]) -> None:
    for at, unit in enumerate(units):
        if unit.aside:
            continue
        if unit.kind == "deny after" or (unit.kind == "deny" and _answers(units, at)):
            _deny(units, _with_sign(units, list_before(units, at)), unit.code)
        elif unit.kind == "deny" and _dismisses(units, at):
            _deny(units, list_before(units, at, of_hedge=True)[:1], unit.code)
        elif unit.kind == "ended":
            _end(units, at)


def _open(units: list[Unit], at: int) -> None:
    """A hedge governs the list behind it, or, at the end of its clause, the list before it."""
    if units[at].denied or _of_the_place(units, at) or _is_copula(units, at):
        return
    reached = list(list_after(units, at))
    if reached:
        for place in reached:
            units[place].open = not (_is_known(units, place) or _is_gone(units[place]))
        return
    following = units[at + 1] if at + 1 < len(units) else None
    ends = following is None or following.aside or following.kind in _ENDS_OF_HEDGE
    said = at > 0 and units[at - 1].kind == "copula" and units[at].form in _PREDICATES
    if ends or said or units[at].form in _MODALS:
        before = list_before(units, at, of_hedge=True)
        for place in before[:1] if units[at].form == "?" else before:
            units[place].open = units[place].open or not units[place].denied


def _undecided(units: list[Unit], at: int) -> None:
    """ "Borderline cardiomegaly", "borderline enlarged": the word and what it qualifies are left open."""
    for unit in units[at:]:
        if unit.kind not in ("word", "place", "abnormal", "finding"):
            return
        if unit.kind in ("abnormal", "finding") and not unit.denied:
            unit.open = True
        if unit.kind == "finding":
            return


def _of_the_place(units: list[Unit], at: int) -> bool:
    """Whether it is the place that is left open ("opacity, possibly in the lingula"): nothing but a place
    follows, and the finding stands before.
    """
    first = units[at].form
    hedges_place = first.endswith("ly") or first in _OF_THE_PLACE
    if first == "likely" and at and units[at - 1].kind == "copula":
        return False  # "pneumonia is likely in the left base"
    behind = [unit.kind for unit in units[at + 1 : at + 3]]
    place = behind[:1] == ["preposition"] and behind[1:] and behind[1] in ("place", "anatomy")
    before = (unit for unit in clause_around(units, at) if unit.begin < units[at].begin)
    return bool(place) and hedges_place and any(unit.kind == "finding" for unit in before)


def _is_copula(units: list[Unit], at: int) -> bool:
    """Whether a verb of appearance only joins an adjective to a part of the body: "the lungs appear clear",
    "the heart appears enlarged"; "there appears to be" is a hedge.
    """
    if units[at].form not in _APPEARANCES:
        return False
    said = next((unit for unit in units[at + 1 :] if unit.kind not in ("word", "place", "other")), None)
    if said is None or said.kind == "normal":
        return said is not None
    subject = next((unit.kind for unit in reversed(units[:at]) if unit.kind not in ("word", "other")), "")
    adjective = said.kind == "abnormal" or (said.kind == "finding" and said.form.endswith(_ADJECTIVES))
    return adjective and subject in ("anatomy", "place")


def _is_known(units: list[Unit], at: int) -> bool:
    """Whether a finding is called known, which no hedge leaves open: "consistent with known emphysema"."""
    own = ("word", "place", "anatomy", "abnormal", "other")
    before = takewhile(lambda unit: unit.kind in own, reversed(units[:at]))
    return any(unit.form == "known" for unit in before)


def _dismisses(units: list[Unit], at: int) -> bool:
    """Whether a doubt stands behind what it is about: "atelectasis more likely, pneumonia less likely"."""
    ends = at + 1 == len(units) or units[at + 1].kind in ("break", "comma")
    return units[at].code == "t" and ends and at > 0 and units[at - 1].kind in ("finding", "place")


def _answers(units: list[Unit], at: int) -> bool:
    """Whether a denial is the whole answer to a heading: "effusion: no"."""
    last = at + 1 == len(units) or units[at + 1].kind == "break"
    return last and at > 0 and units[at - 1].kind == "copula"


def _deny(units: list[Unit], places: list[int], how: str) -> None:
    for place in places:
        units[place].denied = units[place].denied or how


def _end(units: list[Unit], at: int) -> None:
    """What has gone: what stands before, else what follows ("resolved left effusion")."""
    before = [] if units[at].before else _with_sign(units, list_before(units, at))
    if not before:
        explained = False
        for place in range(at + 1, len(units)):
            if units[place].kind == "finding" and (explained or not before):
                before.append(place)
                explained = False
            elif units[place].kind in ("open", "link"):
                explained = bool(before)
            elif units[place].kind in ("break", "comma", "copula", "finding"):
                break
    _deny(units, before, "d")
    for place in before:
        units[place].past = units[at]


def _is_gone(unit: Unit) -> bool:
    """Whatever it may have been: "suspected pneumonia has resolved"."""
    return unit.past is not None and unit.past.kind == "ended"


def _with_sign(units: list[Unit], found: list[int]) -> list[int]:
    """Findings that are gone, and the sign that the last of them explains: "the opacity concerning for
    pneumonia has cleared" leaves neither.
    """
    explains = False
    for place in range(min(found, default=0) - 1, -1, -1):
        unit = units[place]
        if unit.kind == "finding":
            return [*found, place] if explains else found
        if unit.kind in ("open", "link"):
            explains = True
        elif unit.kind == "break" and unit.form in ("that", "which"):
            continue
        elif unit.kind in _BETWEEN_STATEMENTS or (unit.kind == "copula" and unit.form not in _THEN):
            break
    return found


def _alternatives(units: list[Unit], at: int) -> None:
    """ "A or B" leaves both open, unless the list is denied; of "A or, less likely, B" the tail is doubted.

    "A versus" something that is not known leaves A open as well.
    """
    if units[at].form == "either":
        return
    before = nearest_finding(units, at, -1)
    behind = nearest_finding(units, at, 1)
    if before is None or behind is None:
        one = before if behind is None else behind
        if (
            one is None
            or units[at].form not in _VERSUS
            or not _names(units, at - 1 if before is None else at + 1)
        ):
            _alternative_states(units, at)
        elif not units[one].denied:
            units[one].open = True
        return
    if units[before].denied or units[behind].denied == "d" or _unchanged(units, before):
        return
    for place in (*list_before(units, at, of_alternatives=True), behind):
        if not units[place].denied:
            units[place].open = True


def _names(units: list[Unit], at: int) -> bool:
    """Whether words stand here that name something, although not what is known."""
    return 0 <= at < len(units) and units[at].kind in _NAMING


def _unchanged(units: list[Unit], at: int) -> bool:
    """Whether it is a change that is denied: "no change in A or B" states both."""
    for unit in reversed(units[:at]):
        if unit.code == "no_change":
            return unit.form in ("no", "not", "without")
        if unit.kind in ("finding", "break", "copula", "open"):
            return False
    return False


def _alternative_states(units: list[Unit], at: int) -> None:
    """ "Normal or mildly enlarged": both are left open."""
    around = [
        next((u for u in side if u.kind not in ("word", "other")), None)
        for side in (reversed(units[:at]), units[at + 1 :])
    ]
    kinds_around = {unit.kind for unit in around if unit is not None}
    if kinds_around == {"normal", "abnormal"}:
        for unit in around:
            if unit is not None and not unit.denied:
                unit.open = True


def _earlier(units: list[Unit], at: int) -> None:
    """ "Was seen on an earlier film", "the earlier film showed": the clause is about then."""
    told = _verb_of(units, at)
    if told is None and units[at].form == "on":
        told = _there_was(units, at)
    clause = clause_around(units, at if told is None else told)
    if told is not None or any(unit.form in _THEN for unit in clause if unit.kind == "copula"):
        for unit in clause:
            denied = unit.denied and told is None
            if unit.kind in ("finding", "anatomy") and unit.past is None and not denied:
                unit.past = units[at]


def _verb_of(units: list[Unit], at: int) -> int | None:
    """The verb in the past of which an earlier examination is the subject."""
    for place in range(at + 1, len(units)):
        if units[place].form in _TOLD:
            return place
        if units[place].kind not in _BEFORE_VERB and units[place].form not in ("which", "that"):
            return None
    return None


def _there_was(units: list[Unit], at: int) -> int | None:
    """What follows "there was" in "there was no effusion on the prior film"."""
    begins = next((place for place in range(at - 1, -1, -1) if units[place].kind == "break"), None)
    return begins + 1 if begins is not None and units[begins].code == THEN else None


def _past(units: list[Unit], at: int) -> None:
    for place in range(at + 1, len(units)):
        unit = units[place]
        if unit.kind in ("break", "copula", "with", "open", "deny"):
            break
        if unit.kind == "finding":
            if unit.code == _COMPLAINT and place > at + 1:
                break
            unit.past = units[at]


# --- how far it reaches


def finding_behind(units: list[Unit], at: int) -> list[int]:
    """The finding that follows with nothing but its own words between ("minimal, if any, edema")."""
    own = ("word", "place", "anatomy", "abnormal", "other", "comma")
    place = next((n for n in range(at + 1, len(units)) if units[n].kind not in own), None)
    return [place] if place is not None and units[place].kind == "finding" else []


def statement_follows(units: list[Unit], at: int, scope: Unit) -> bool:
    """Whether a list of what is denied ends at this joint, because something else is stated behind it."""
    first = at + 1
    while first < len(units) and units[first].kind in _JOINS | {"with"}:
        if units[first].kind == "alternative":
            return False
        first += 1
    if first >= len(units):
        return True
    if units[first].kind in ("deny", "break", "open", "past"):
        return True
    anatomy = False
    for place in range(first, len(units)):
        unit = units[place]
        if unit.kind == "normal" or (unit.kind == "copula" and anatomy):
            return True
        if unit.kind == "abnormal" and (anatomy or _anatomy_first(units, place + 1)):
            return True
        if unit.kind in _ENDS_OF_ITEM:
            break
        anatomy = anatomy or unit.kind == "anatomy"
    if scope.sense.name == "near" and units[at].kind != "comma":
        return True
    if scope.kind == "open" and units[at].kind == "and":
        return False
    while first < len(units) - 1 and units[first].kind == "place":
        first += 1
    columns = _OWN_FINDING if scope.kind == "open" else _OWN_STATEMENT
    own = units[first].kind in ("word", "abnormal") and units[first].code in columns
    return own and not _alternative_ahead(units, first)


def _anatomy_first(units: list[Unit], place: int) -> bool:
    """Whether a part of the body comes before the next finding or joint."""
    return first_kind(units[place:], {"anatomy", "finding", *_JOINS}) == "anatomy"


def _finding_first(units: list[Unit], place: int) -> bool:
    """Whether a finding comes before the next joint, with no verb of meaning."""
    own = ("word", "place", "anatomy", "abnormal", "other")
    return next((unit.kind for unit in units[place:] if unit.kind not in own), "") == "finding"


def _alternative_ahead(units: list[Unit], place: int) -> bool:
    """Whether the list goes on to an "or"."""
    ends = ("alternative", "break", "copula", "deny", "with", "open")
    return first_kind(units[place:], ends) == "alternative"


def list_after(units: list[Unit], at: int) -> list[int]:
    """The findings and predicates behind a hedge: the first one, and what is joined to it."""
    reach = units[at].sense.name
    found: list[int] = []
    for place in range(at + 1, len(units)):
        unit = units[place]
        if (
            unit.aside
            or unit.kind in ("break", "ended", "deny after")
            or (found and unit.kind in ("deny", "with"))
        ):
            break
        if unit.kind == "copula" and found:
            break
        if unit.kind in ("finding", "abnormal"):
            found.append(place)
        elif unit.kind in ("comma", "and"):
            if not found and not _joins_words(units, place):
                break
            if not found or units[place - 1].kind in _JOINS:
                continue
            if reach == "near" and not _alternative_ahead(units, place + 1):
                break
            if statement_follows(units, place, units[at]):
                if unit.kind == "comma" and _finding_first(units, place + 1):
                    unit.become(_BREAK)
                break
        elif unit.kind == "open" and found:
            break
    return found


def _joins_words(units: list[Unit], at: int) -> bool:
    """Whether an "and" stands inside a phrase: "possible right third and fourth rib fractures"."""
    if units[at].form == "/":
        return True
    around = units[at - 1], units[min(at + 1, len(units) - 1)]
    return units[at].kind == "and" and any(
        all(unit.kind == kind for unit in around) for kind in ("place", "word")
    )


def list_before(
    units: list[Unit], at: int, *, of_alternatives: bool = False, of_hedge: bool = False
) -> list[int]:
    """The finding before a word that stands behind it, and those that are joined to it.

    A comma joins where the list has an "and" or "or". `of_alternatives`: `at` is the "or" itself.
    `of_hedge`: "A, and B cannot be excluded" leaves B open only.
    """
    found: list[int] = []
    joined, listed = True, of_alternatives and units[at].form == "or"
    for place in range(at - 1, -1, -1):
        unit = units[place]
        if unit.aside or unit.kind in ("break", "deny", "deny after", "open", "ended", "with"):
            break
        if unit.kind == "finding":
            if not joined or (found and of_alternatives and unit.sense.name in SIGNS):
                break
            found.append(place)
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


def nearest_finding(units: list[Unit], at: int, step: int) -> int | None:
    """The finding next to a joint, with nothing but its own words between."""
    place = at + step
    while 0 <= place < len(units):
        kind = units[place].kind
        if kind == "finding":
            return None if units[place].aside else place
        doubts = kind == "deny" and units[place].code == "t" and step > 0
        if not doubts and kind not in (
            "word", "place", "anatomy", "other", "abnormal", "preposition", "comma", "open",
        ):  # fmt: skip
            return None
        place += step
    return None


def clause_around(units: list[Unit], at: int) -> list[Unit]:
    """The units between the breaks around one."""
    begin = next((n + 1 for n in range(at - 1, -1, -1) if units[n].kind == "break"), 0)
    end = next((n for n in range(at + 1, len(units)) if units[n].kind == "break"), len(units))
    return units[begin:end]
