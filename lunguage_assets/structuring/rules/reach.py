"""How far a denial, a hedge or an "or" reaches: the findings before and behind it in its sentence (method.md
section 6, points 1 and 2).
"""

from __future__ import annotations

from lunguage_assets.structuring.rules.lexicon import Kind, Sense
from lunguage_assets.structuring.rules.tagging import Unit

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


def finding_behind(units: list[Unit], at: int) -> list[int]:
    """The finding that follows with nothing but its own words between ("minimal, if any, edema")."""
    for place in range(at + 1, len(units)):
        if units[place].kind == "finding":
            return [place]
        if units[place].kind not in ("word", "place", "anatomy", "abnormal", "other", "comma"):
            break
    return []


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
    for unit in units[place:]:
        if unit.kind == "anatomy":
            return True
        if unit.kind == "finding" or unit.kind in _JOINS:
            return False
    return False


def _finding_first(units: list[Unit], place: int) -> bool:
    """Whether a finding comes before the next joint, with no verb of meaning."""
    for unit in units[place:]:
        if unit.kind not in ("word", "place", "anatomy", "abnormal", "other"):
            return unit.kind == "finding"
    return False


def _alternative_ahead(units: list[Unit], place: int) -> bool:
    """Whether the list goes on to an "or"."""
    for unit in units[place:]:
        if unit.kind == "alternative":
            return True
        if unit.kind in ("break", "copula", "deny", "with", "open"):
            return False
    return False


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
