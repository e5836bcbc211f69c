"""Places as sets of anatomical parts, and which place contains which (implicit.md sections 4 and 5).

"right costophrenic angle" and "right, costophrenic angle" are one place, however the words were composed. The
parts and their order are data (`resources/statements.yaml`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field

from lunguage_assets.assertion.plurals import possible_singulars
from lunguage_assets.caches import ENTRIES, remembered
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.packaged_data import read_as, resource

_BOTH = frozenset({"left", "right"})


class Region(BaseModel, frozen=True, extra="forbid"):
    """A place, the larger place that it lies in, and its wordings."""

    name: str
    within: str = Field(default="", alias="in")
    words: list[str]
    whole: bool = False


class ResolvedWords(BaseModel, frozen=True, extra="forbid"):
    """Words that say that something is gone, and words beside them that take it back."""

    words: frozenset[str]
    unless: frozenset[str]


class Qualifier(BaseModel, frozen=True, extra="forbid"):
    """Words that restrict what a denial denies, and the counts that its probability comes from."""

    name: str
    words: frozenset[str]
    of: frozenset[str] = frozenset()
    lists: bool
    implied: bool
    certain: bool = False
    denied: int
    coded: int


class StatementsFile(BaseModel, frozen=True, extra="forbid"):
    """The content of resources/statements.yaml."""

    sides: dict[Literal["left", "right", "both"], list[str]]
    regions: list[Region]
    fillers: list[str]
    qualifiers: list[Qualifier]
    resolved: ResolvedWords


class Location(NamedTuple):
    """Sides, regions and further words ("5th") of a place; nothing at all is everywhere."""

    sides: frozenset[str]
    regions: frozenset[str]
    details: frozenset[str]

    @property
    def parts(self) -> tuple[str, ...]:
        """All parts, sorted: what two keys are compared by."""
        return tuple(sorted(self.sides | self.regions | self.details))


class Anatomy:
    """Reads places and knows what contains what."""

    def __init__(self, content: StatementsFile) -> None:
        self._sides = {
            word: _BOTH if side == "both" else frozenset({side})
            for side, words in content.sides.items()
            for word in words
        }
        self._above = {region.name: region.within for region in content.regions}
        self._whole = frozenset(
            region.name for region in content.regions if region.whole
        )
        self._fillers = frozenset(content.fillers)
        self._wordings = {
            tokens(words): region.name
            for region in content.regions
            for words in region.words
        }
        self._longest = max(map(len, self._wordings))
        self.location = lru_cache(maxsize=ENTRIES)(self._location)
        self.parts = lru_cache(maxsize=ENTRIES)(
            lambda location_parts: self.location(location_parts).parts
        )
        self.covers = lru_cache(maxsize=4 * ENTRIES)(self._covers)

    def _location(self, location_parts: tuple[str, ...]) -> Location:
        """The place that the comma parts of a location name."""
        sides, regions, details = set[str](), set[str](), set[str]()
        for part in location_parts:
            words = tokens(part)
            while words:
                wordings = (
                    (n, self._region(words[:n])) for n in range(self._longest, 0, -1)
                )
                taken, region = next(
                    (one for one in wordings if one[1] is not None), (1, None)
                )
                sides.update(*(self._sides.get(word, ()) for word in words[:taken]))
                if region is not None:
                    regions.add(region)
                elif words[0] not in self._sides and words[0] not in self._fillers:
                    details.add(words[0])
                words = words[taken:]
        narrow = {
            region
            for region in regions
            if not any(self._in(other, region) for other in regions)
        }
        return Location(frozenset(sides), frozenset(narrow), frozenset(details))

    def without_wholes(self, place: Location) -> tuple[str, ...]:
        """The parts of a place but for the wholes, which are no narrower than no place."""
        return tuple(part for part in place.parts if part not in self._whole)

    def _region(self, words: tuple[str, ...]) -> str | None:
        """The region with this wording; the last word may be a plural."""
        found = self._wordings.get(words)
        if found is None:
            forms = (
                self._wordings.get((*words[:-1], form))
                for form in sorted(possible_singulars(words[-1]))
            )
            found = next((form for form in forms if form is not None), None)
        return found

    def _in(self, region: str, other: str) -> bool:
        """Whether a region lies inside another one."""
        while region := self._above.get(region, ""):
            if region == other:
                return True
        return False

    def _covers(self, outer: tuple[str, ...], inner: tuple[str, ...]) -> bool:
        """Whether a place, by its location parts, contains another; no place contains every place."""
        a, b = self.location(outer), self.location(inner)
        if a.sides and not (b.sides and b.sides <= a.sides):
            return False
        if not a.details <= b.details:
            return False
        wanted = a.regions if b.regions else a.regions - self._whole
        return all(
            any(one == other or self._in(other, one) for other in b.regions)
            for one in wanted
        )


@cache
def statements_file() -> StatementsFile:
    """The packaged words about places and statements, checked."""
    return read_as(resource("statements.yaml"), StatementsFile)


@cache
def anatomy() -> Anatomy:
    """The packaged anatomy."""
    return Anatomy(statements_file())


@remembered
def says_resolved(improved: str) -> bool:
    """Whether a course says that the finding is gone: it is absent now (implicit.md section 4)."""
    listed = statements_file().resolved
    return any(
        not listed.words.isdisjoint(words) and listed.unless.isdisjoint(words)
        for words in map(tokens, improved.split(","))
    )


def anatomical_parts(location_parts: Sequence[str]) -> tuple[str, ...]:
    """The anatomical parts of a location set, sorted."""
    return anatomy().parts(tuple(location_parts))
