"""Mentions in the making: a finding or part of the body with its words and places, and
the phrases of a sentence (method.md, 4 and 7).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lunguage_assets.assertion.units import DEVICE, JOINTS, TaggedToken
from lunguage_assets.assertion.vocabulary import Kind, LexiconEntry
from lunguage_assets.assertion.word_files import WORDS
from lunguage_assets.structuring.contract import Span

_CONTENT: frozenset[Kind] = frozenset(
    {"finding", "anatomy", "place", "word", "abnormal", "normal"}
)
COURSES = frozenset({"no_change", "improved", "worsened"})


def span_of(unit: TaggedToken) -> Span:
    """The characters of a unit."""
    return Span(unit.begin, unit.end)


class Draft:
    """A mention in the making: words, places, alternative groups of places, the sub-heading's organ."""

    __slots__ = ("groups", "is_divided", "links", "organ", "places", "unit", "words")

    def __init__(
        self, unit: TaggedToken, places: list[TaggedToken], words: list[TaggedToken]
    ) -> None:
        self.unit, self.places, self.words = unit, places, words
        self.groups: list[list[TaggedToken]] = []
        self.links: list[Draft] = []
        self.organ: list[TaggedToken] = []
        self.is_divided = False
        """Whether it has another row beside it, which judges it along another axis."""

    @property
    def is_finding(self) -> bool:
        return self.unit.kind == "finding"

    @property
    def is_device(self) -> bool:
        return self.unit.code == DEVICE

    @property
    def all_places(self) -> list[TaggedToken]:
        return [unit for group in (self.places, *self.groups) for unit in group]

    @property
    def described(self) -> bool:
        """Whether something is said of a part of the body."""
        return self.judged or any(w.code in COURSES for w in self.words)

    @property
    def judged(self) -> bool:
        """Whether it is called normal or abnormal, so that it is a row of its own."""
        worse = any(word.code == "worsened" for word in self.words)
        return (
            self.unit.code == "normal"
            or says_state(self.words)
            or worse
            or self.is_compared
        )

    @property
    def is_compared(self) -> bool:
        """Whether a silhouette is called unchanged: "the cardiac silhouette is stable"."""
        is_unchanged = any(word.code == "no_change" for word in self.words)
        return self.unit.name in WORDS["sized"] and is_unchanged

    @property
    def lies_somewhere(self) -> bool:
        """Whether a finding has a place, of which what it projects over or is near to is no part."""
        places = [
            u for u in self.all_places if u.name != "bones" and u.kind != "finding"
        ]
        within = WORDS["within_a_side"]
        return not self.is_device and any(
            u.kind == "anatomy" or not u.is_single_word or u.form in within
            for u in places
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
        if not (
            self.all_places
            or self.unit.name in WORDS["everywhere"]
            or self.unit.negation
        ):
            sign = next(
                (other for other in self.links if other.places or other.groups), self
            )
            self.places, self.groups = sign.places, sign.groups
        of_bones = any(unit.name in WORDS["bones"] for unit in self.all_places)
        if of_bones and self.unit.name in WORDS["abnormalities"]:
            self.unit.become(
                LexiconEntry("finding", "osseous abnormality", self.unit.code)
            )


class Step(NamedTuple):
    """What stands between two phrases, and the second one."""

    between: list[TaggedToken]
    chunk: list[TaggedToken]

    @property
    def is_predicate(self) -> bool:
        """Whether a verb follows directly on the phrase before."""
        return bool(self.between) and self.between[0].kind == "copula"

    @property
    def is_joined(self) -> bool:
        return bool(self.between) and all(unit.kind in JOINTS for unit in self.between)

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

    def counts_films(self, chunk: list[TaggedToken]) -> bool:
        """Whether the words before it are the number of films: "two views show ..."."""
        films = bool(self.between) and self.between[0].kind == "examined"
        return films and all(unit.code == "measurement" for unit in chunk)

    def labels(self, places: list[TaggedToken]) -> bool:
        """Whether organs before it are a sub-heading ("PLEURA: ..."), which is no place; a side is one."""
        headed = bool(self.between) and self.between[0].form == ":"
        return headed and all(
            unit.kind == "anatomy" and unit.form not in WORDS["sides"]
            for unit in places
        )


def steps_of(units: list[TaggedToken]) -> Iterator[Step]:
    """The phrases of a sentence; unknown words are passed over."""
    between: list[TaggedToken] = []
    chunk: list[TaggedToken] = []
    for unit in units:
        if unit.kind in _CONTENT and not unit.aside:
            chunk.append(unit)
        elif (
            unit.kind not in ("other", "past")
            or unit.aside
            or any(u.kind == "finding" for u in chunk)
        ):
            if chunk:
                yield Step(between, chunk)
                between, chunk = [], []
            between.append(unit)
    yield Step(between, chunk)


def with_side(
    places: list[TaggedToken], before: list[TaggedToken]
) -> list[TaggedToken]:
    """A joined place with the side of the one before, where it has none and lies in one."""
    if not _lies_in_a_side(places[0]) or any(
        unit.form in WORDS["sides"] for unit in places
    ):
        return places
    sides = [
        unit
        for unit in before
        if unit.form in WORDS["sides"] and unit.code == places[0].code
    ]
    return [*sides, *places]


def with_noun(
    places: list[TaggedToken], joined: list[TaggedToken]
) -> list[TaggedToken]:
    """A place without a noun with that of the place joined to it ("the right mid and upper lung")."""
    noun = joined[-1].noun if joined else None
    if not places or noun is None or places[-1].noun is not None:
        return places
    return (
        [*places, noun]
        if _lies_in_a_side(places[-1]) or places[-1].form in WORDS["sides"]
        else places
    )


def _lies_in_a_side(place: TaggedToken) -> bool:
    return place.form in WORDS["within_a_side"] or place.form[0].isdigit()


def says_state(words: list[TaggedToken]) -> bool:
    return any(word.kind in ("normal", "abnormal") for word in words)
