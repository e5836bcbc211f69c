"""A sentence as units, spellings of the lexicon in order, and mentions in the making (method.md, 7)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from lunguage_assets.structuring.contract import Span
from lunguage_assets.structuring.rules.lexicon import WORDS, Kind, ReportLexicon, Sense, Token

_UNKNOWN = Sense("other")
LIMIT = Sense("word", code="assessment_limitations")
"""What limits the view."""
_SIZE = Sense("word", code="measurement")
_LEVEL = Sense("place")
_DISTANCE, _AWAY = Sense("word", code="placement"), Sense("preposition")
_IN_REQUEST, _IN_REPORT = Sense("open", "list"), Sense("aim")
_DENIED, _DOUBTED = Sense("deny", "list", "d"), Sense("deny", "list", "t")
_NORMAL = Sense("normal", code="morphology")
_DESCRIBED = frozenset({"copula", "anatomy"})
_NUMBER = re.compile(r"\d")
_LEVEL_OF_BONE = re.compile(r"[ctls]\d{1,2}|\d{1,2}(?:st|nd|rd|th)")


class Unit:
    """A known spelling, or an unknown word: `denied` ("d": absent, "t": with doubt), left `open`, `past` by
    another unit, `aside` of the patient now; `before` what it governs ("resolution of"), `alone` as one word,
    with the last word of several as `noun` ("zone").
    """

    __slots__ = (
        "alone", "aside", "before", "begin", "code", "denied", "end", "form", "kind", "noun", "open", "past",
        "sense",
    )  # fmt: skip

    def __init__(self, sense: Sense, form: str, begin: int, end: int) -> None:
        self.become(sense)
        self.form, self.begin, self.end = form, begin, end
        self.denied = self.aside = ""
        self.open = self.before = False
        self.past: Unit | None = None
        self.noun: Unit | None = None
        self.alone = True

    def become(self, sense: Sense) -> None:
        self.sense, self.kind, self.code = sense, sense.kind, sense.code

    def leave_open(self) -> None:
        """Mark what is not denied as open."""
        self.open = self.open or not self.denied

    @property
    def span(self) -> Span:
        return Span(self.begin, self.end)


def first_kind(units: Iterable[Unit], kinds: Collection[str]) -> str:
    """Which of these kinds comes first; empty: none."""
    return next((unit.kind for unit in units if unit.kind in kinds), "")


def beyond(units: Iterable[Unit], kinds: Collection[str]) -> Unit | None:
    """The first unit that is of none of these kinds."""
    return next((unit for unit in units if unit.kind not in kinds), None)


def tagged(text: str, lexicon: ReportLexicon, *, request: bool) -> list[Unit]:
    """The units of a sentence; articles are left out. `request`: a sentence of the history."""
    tokens = lexicon.tokens(text)
    units: list[Unit] = []
    place, last = 0, len(tokens)
    while place < last:
        known, end = lexicon.match(tokens, place)
        if known is None:
            unit, end = _by_form(tokens, place, units)
        else:
            unit = _in_context(known, tokens, place, end, units, request=request)
        if unit.kind != "article":
            units.append(unit)
        place = end
    return units


def _by_form(tokens: list[Token], place: int, units: list[Unit]) -> tuple[Unit, int]:
    """A word that begins no spelling, and what follows: a vertebra or rib, a size, a distance, or unknown."""
    token = tokens[place]
    if token.form == "than" and any(one.kind == "open" and one.form == "more" for one in units):
        return Unit(_DOUBTED, token.form, token.begin, token.end), place + 1  # "more likely edema than ..."
    if _LEVEL_OF_BONE.fullmatch(token.form):
        return Unit(_LEVEL, token.form, token.begin, token.end), place + 1
    end = _end_of_size(tokens, place) if _NUMBER.match(token.form) else place + 1
    if end == place + 1:
        return Unit(_UNKNOWN, token.form, token.begin, token.end), end
    begin = tokens[place - 1].begin if place and tokens[place - 1].form in WORDS["about"] else token.begin
    if end < len(tokens) and tokens[end].form in WORDS["distance_from"]:
        units.append(Unit(_DISTANCE, tokens[end].form, begin, tokens[end].end))
        return Unit(_AWAY, "at", tokens[end].end, tokens[end].end), end + 1
    return Unit(_SIZE, token.form, begin, tokens[end - 1].end), end


def _in_context(
    sense: Sense, tokens: list[Token], place: int, end: int, units: list[Unit], *, request: bool
) -> Unit:
    """A known spelling, where its meaning depends on what stands before it or on the section."""
    token, final = tokens[place], tokens[end - 1]
    if sense.kind == "question":
        of_denial = token.form == "any" and bool(units) and units[-1].kind == "deny"
        sense = _UNKNOWN if of_denial else _IN_REQUEST if request else _IN_REPORT
    elif sense.kind == "past" and token.form == "known" and end == place + 1 and not request:
        sense = _UNKNOWN  # "known emphysema" of findings is emphysema now
    elif sense.kind == "deny" and token.form == "free" and units and units[-1].kind == "copula":
        units.append(Unit(_NORMAL, token.form, token.begin, token.end))
    elif sense.kind == "preposition" and units and units[-1].form in WORDS["clear"]:
        sense = _DENIED if token.form in WORDS["clear_of"] else sense
    elif token.form == "otherwise" and sense.kind == "break" and units and units[-1].kind in _DESCRIBED:
        sense = _UNKNOWN  # "the lungs are otherwise clear"
    elif token.form == "raised" and any(one.kind == "open" for one in units):
        sense = _UNKNOWN  # "the possibility of pneumonia is raised"
    elif token.form == "old" and place and tokens[place - 1].form in WORDS["ages"]:
        sense = _UNKNOWN
    unit = Unit(sense, token.form, token.begin, final.end)
    unit.before, unit.alone = final.form == "of", final is token
    if not unit.alone and sense.kind in ("place", "anatomy") and final.form in WORDS["nouns_of_places"]:
        first = tokens[end - 2] if end - 2 > place and tokens[end - 2].form == "lung" else final
        unit.noun = Unit(_LEVEL, final.form, first.begin, final.end)
    if sense.kind == "break" and final.form in ("was", "were"):
        unit.code = "there was"
    if sense.kind == "ended":
        said = (one for one in tokens[place : end - 1] if one.form not in WORDS["auxiliaries"])
        unit.begin = next(said, final).begin  # "removed" of "has now been removed"
    if sense.kind in ("word", "ended") and end - 1 > place and final.form in WORDS["leads_on"]:
        unit.end = tokens[end - 2].end
    return unit


def _end_of_size(tokens: list[Token], place: int) -> int:
    """The token behind "2.3 x 1.4 cm" or "5 mm"; the next one when it is no size."""
    end = place
    while end < len(tokens) and (_NUMBER.match(tokens[end].form) or tokens[end].form in ("x", "by", "to")):
        end += 1
    if end < len(tokens) and tokens[end].form in WORDS["units_of_size"]:
        return end + 1
    return place + 1


_CONTENT: frozenset[Kind] = frozenset({"finding", "anatomy", "place", "word", "abnormal", "normal"})
JOINS: frozenset[Kind] = frozenset({"and", "comma", "alternative"})
DEVICE = "OTH"
COURSES = frozenset({"no_change", "improved", "worsened"})


class Draft:
    """A mention in the making: words, places, alternative groups of places, the sub-heading's organ."""

    __slots__ = ("groups", "links", "organ", "places", "unit", "words")

    def __init__(self, unit: Unit, places: list[Unit], words: list[Unit]) -> None:
        self.unit, self.places, self.words = unit, places, words
        self.groups: list[list[Unit]] = []
        self.links: list[Draft] = []
        self.organ: list[Unit] = []

    @property
    def is_finding(self) -> bool:
        return self.unit.kind == "finding"

    @property
    def is_device(self) -> bool:
        return self.unit.code == DEVICE

    @property
    def all_places(self) -> list[Unit]:
        return [unit for group in (self.places, *self.groups) for unit in group]

    @property
    def described(self) -> bool:
        """Whether something is said of a part of the body."""
        return self.judged or any(w.code in COURSES for w in self.words)

    @property
    def judged(self) -> bool:
        """Whether it is called normal or abnormal, so that it is a row of its own; "stable" says neither."""
        worse = any(word.code == "worsened" for word in self.words)
        return self.unit.code == "normal" or says_state(self.words) or worse

    @property
    def lies_somewhere(self) -> bool:
        """Whether a finding has a place, of which what it projects over or is near to is no part."""
        places = [u for u in self.all_places if u.sense.name != "bones" and u.kind != "finding"]
        within = WORDS["within_a_side"]
        return not self.is_device and any(
            u.kind == "anatomy" or not u.alone or u.form in within for u in places
        )

    @property
    def is_led(self) -> bool:
        """Whether a part of the body is described by the words before it ("normal heart size and ...")."""
        said = [w for w in self.words if w.kind == "normal" or w.code in COURSES]
        return bool(said) and said[0].begin < self.unit.begin

    def complete(self) -> None:
        """Give what explains a finding the finding's place; an abnormality of the ribs is one of bones."""
        if not self.groups:
            self.places = self.places or self.organ
        if not (self.all_places or self.unit.sense.name in WORDS["everywhere"] or self.unit.denied):
            sign = next((other for other in self.links if other.places or other.groups), self)
            self.places, self.groups = sign.places, sign.groups
        of_bones = any(unit.sense.name in WORDS["bones"] for unit in self.all_places)
        if of_bones and self.unit.sense.name in WORDS["abnormalities"]:
            self.unit.become(Sense("finding", "osseous abnormality", self.unit.code))


class Step(NamedTuple):
    """What stands between two phrases, and the second one."""

    between: list[Unit]
    chunk: list[Unit]

    @property
    def is_predicate(self) -> bool:
        """Whether a verb follows directly on the phrase before."""
        return bool(self.between) and self.between[0].kind == "copula"

    @property
    def is_joined(self) -> bool:
        return bool(self.between) and all(unit.kind in JOINS for unit in self.between)

    @property
    def adds_finding(self) -> bool:
        """Whether more adjectives and a finding are joined ("may be resolving or new pneumonia")."""
        return self.is_joined and any(unit.kind == "finding" for unit in self.chunk)

    @property
    def goes_on(self) -> bool:
        """Whether more adjectives and their noun are joined ("..., enlarged and tortuous aorta")."""
        return (
            self.is_joined
            and all(unit.kind != "alternative" for unit in self.between)
            and len(self.chunk) > 1
            and self.chunk[0].kind in ("word", "abnormal")
            and any(unit.kind in ("anatomy", "finding") for unit in self.chunk)
        )

    @property
    def has_own_place(self) -> bool:
        """Whether the words before it have a place ("moderate on the right and small on the left")."""
        leads = any(unit.kind == "preposition" for unit in self.between)
        return leads and all(unit.kind == "place" for unit in self.chunk)

    def counts_films(self, chunk: list[Unit]) -> bool:
        """Whether the words before it are the number of films: "two views show ..."."""
        films = bool(self.between) and self.between[0].kind == "exam"
        return films and all(unit.code == "measurement" for unit in chunk)

    def labels(self, places: list[Unit]) -> bool:
        """Whether organs before it are a sub-heading ("PLEURA: ..."), which is no place; a side is one."""
        headed = bool(self.between) and self.between[0].form == ":"
        return headed and all(unit.kind == "anatomy" and unit.form not in WORDS["sides"] for unit in places)


def steps_of(units: list[Unit]) -> Iterator[Step]:
    """The phrases of a sentence; unknown words are passed over."""
    between: list[Unit] = []
    chunk: list[Unit] = []
    for unit in units:
        if unit.kind in _CONTENT and not unit.aside:
            chunk.append(unit)
        elif unit.kind not in ("other", "past") or unit.aside or any(u.kind == "finding" for u in chunk):
            if chunk:
                yield Step(between, chunk)
                between, chunk = [], []
            between.append(unit)
    yield Step(between, chunk)


def with_side(places: list[Unit], before: list[Unit]) -> list[Unit]:
    """A joined place with the side of the one before, where it has none and lies in one."""
    if not _lies_in_a_side(places[0]) or any(unit.form in WORDS["sides"] for unit in places):
        return places
    sides = [unit for unit in before if unit.form in WORDS["sides"] and unit.code == places[0].code]
    return [*sides, *places]


def with_noun(places: list[Unit], joined: list[Unit]) -> list[Unit]:
    """A place without a noun with that of the place joined to it ("the right mid and upper lung")."""
    noun = joined[-1].noun if joined else None
    if not places or noun is None or places[-1].noun is not None:
        return places
    return [*places, noun] if _lies_in_a_side(places[-1]) or places[-1].form in WORDS["sides"] else places


def _lies_in_a_side(place: Unit) -> bool:
    return place.form in WORDS["within_a_side"] or place.form[0].isdigit()


def says_state(words: list[Unit]) -> bool:
    return any(word.kind in ("normal", "abnormal") for word in words)
