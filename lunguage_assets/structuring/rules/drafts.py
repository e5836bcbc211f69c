"""Mentions in the making, and what a phrase is by the units around it (method.md sections 4 and 7)."""

from __future__ import annotations

from collections.abc import Iterator

from lunguage_assets.structuring.rules.lexicon import Kind, Sense
from lunguage_assets.structuring.rules.tagging import Unit

Step = tuple[list[Unit], list[Unit]]
_CONTENT: frozenset[Kind] = frozenset({"finding", "anatomy", "place", "word", "abnormal", "normal"})
JOINS: frozenset[Kind] = frozenset({"and", "comma", "alternative"})
ABNORMALITIES = frozenset({"acute cardiopulmonary abnormality", "abnormality"})
_BONES = frozenset({"bones", "ribs", "spine", "clavicle", "scapula", "shoulder", "sternum", "humerus"})
SIDES = frozenset({"left", "right", "bilateral"})
_WITHIN_A_SIDE = frozenset(
    {
        "upper", "lower", "middle", "mid", "apical", "basilar", "basal", "apex", "base", "first", "second",
        "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
    }
)  # fmt: skip
"""First words of places that are of the side named before them: "the right upper and lower lobes"."""
DEVICE = "OTH"
EVERYWHERE = frozenset({"congestive heart failure", "cardiomegaly", "copd", "fluid overload", "emphysema"})
COURSES = frozenset({"no_change", "improved", "worsened"})


class Draft:
    """A mention in the making: its words, the places it has anyhow, and the alternative groups of places."""

    __slots__ = ("groups", "links", "organ", "places", "unit", "words")

    def __init__(self, unit: Unit, places: list[Unit], words: list[Unit]) -> None:
        self.unit, self.places, self.words = unit, places, words
        self.groups: list[list[Unit]] = []
        self.links: list[Draft] = []
        self.organ: list[Unit] = []
        """Of the sub-heading, should there be no other place."""

    @property
    def is_finding(self) -> bool:
        return self.unit.kind == "finding"

    @property
    def described(self) -> bool:
        """Whether something is said of a part of the body."""
        return self.judged or any(w.code in COURSES for w in self.words)

    @property
    def judged(self) -> bool:
        """Whether it is called normal or abnormal, so that it is a row of its own; "stable" says neither."""
        return self.unit.code == "normal" or any(
            w.kind in ("normal", "abnormal") or w.code == "worsened" for w in self.words
        )


def steps_of(units: list[Unit]) -> Iterator[Step]:
    """What stands between phrases, and the phrase; unknown words are passed over."""
    between: list[Unit] = []
    chunk: list[Unit] = []
    for unit in units:
        if unit.kind in _CONTENT and not unit.aside:
            chunk.append(unit)
        elif (
            unit.kind not in ("other", "past")
            or unit.aside
            or any(known.kind == "finding" for known in chunk)
        ):
            if chunk:
                yield between, chunk
                between, chunk = [], []
            between.append(unit)
    yield between, chunk


def with_side(places: list[Unit], before: list[Unit]) -> list[Unit]:
    """A joined place with the side of the one before, where it has none and lies in one."""
    within = places[0].form in _WITHIN_A_SIDE or places[0].form[0].isdigit()
    if not within or any(unit.form in SIDES for unit in places):
        return places
    return [*(unit for unit in before if unit.form in SIDES and unit.code == places[0].code), *places]


def with_noun(places: list[Unit], joined: list[Unit]) -> list[Unit]:
    """A place without a noun with that of the place joined to it ("the right mid and upper lung")."""
    last = places[-1] if places else None
    noun = joined[-1].noun if joined else None
    if last is None or noun is None or last.noun is not None:
        return places
    within = last.form in _WITHIN_A_SIDE or last.form[0].isdigit() or last.form in SIDES
    return [*places, noun] if within else places


def lies_somewhere(draft: Draft) -> bool:
    """Whether a finding has a place, of which what it projects over or is near to is no part."""
    places = [*draft.places, *(unit for group in draft.groups for unit in group)]
    return draft.unit.code != DEVICE and any(
        unit.kind == "anatomy" if unit.alone and unit.form not in _WITHIN_A_SIDE else unit.kind != "finding"
        for unit in places
        if unit.sense.name != "bones"
    )


def is_subject(after: Step) -> bool:
    """Whether a verb follows directly."""
    return bool(after[0]) and after[0][0].kind == "copula"


def is_label(places: list[Unit], after: Step) -> bool:
    """Whether organs are a sub-heading ("PLEURA: ..."), which is no place; a side is one."""
    between = after[0]
    headed = bool(between) and between[0].form == ":"
    return headed and all(unit.kind == "anatomy" and unit.form not in SIDES for unit in places)


def is_of_examination(chunk: list[Unit], after: Step) -> bool:
    """Whether the words are the number of films: "two views show ..."."""
    return bool(after[0]) and after[0][0].kind == "exam" and all(u.code == "measurement" for u in chunk)


def place_follows(after: Step) -> bool:
    """Whether the words have a place of their own ("moderate on the right and small on the left")."""
    between, chunk = after
    return any(unit.kind == "preposition" for unit in between) and all(unit.kind == "place" for unit in chunk)


def goes_on(after: Step) -> bool:
    """Whether more adjectives and their noun are joined behind ("..., enlarged and tortuous aorta")."""
    between, chunk = after
    return (
        bool(between)
        and all(unit.kind in ("and", "comma") for unit in between)
        and len(chunk) > 1
        and chunk[0].kind in ("word", "abnormal")
        and any(unit.kind in ("anatomy", "finding") for unit in chunk)
    )


def is_joined_to_finding(after: Step) -> bool:
    """Whether more adjectives and a finding are joined behind ("may be resolving or new pneumonia")."""
    between, chunk = after
    joined = bool(between) and all(unit.kind in JOINS for unit in between)
    return joined and any(unit.kind == "finding" for unit in chunk)


def take_place_of_evidence(draft: Draft) -> None:
    """What explains a finding is where the finding is, unless it is a state of the whole heart or lung."""
    if not draft.groups:
        draft.places = draft.places or draft.organ
    if draft.places or draft.groups or draft.unit.sense.name in EVERYWHERE or draft.unit.denied:
        return
    for other in draft.links:
        if other.places or other.groups:
            draft.places, draft.groups = other.places, other.groups
            return


def name_by_place(draft: Draft) -> None:
    """ "No acute abnormality of the ribs" is about bones, not about heart and lungs."""
    places = [unit for group in (draft.places, *draft.groups) for unit in group]
    of_bones = any(unit.sense.name in _BONES for unit in places)
    if of_bones and draft.unit.sense.name in ABNORMALITIES:
        draft.unit.become(Sense("finding", "osseous abnormality", draft.unit.code))


def says_state(words: list[Unit]) -> bool:
    return any(word.kind in ("normal", "abnormal") for word in words)


def is_led(draft: Draft) -> bool:
    """Whether a part of the body is described by the words before it ("normal heart size and ...")."""
    said = [w for w in draft.words if w.kind == "normal" or w.code in COURSES]
    return bool(said) and said[0].begin < draft.unit.begin
