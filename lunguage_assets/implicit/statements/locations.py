"""Locations as sets of anatomical parts, and which contains which.

"right costophrenic angle" and "right, costophrenic angle" are one location, however the
words were composed (implicit.md sections 4 and 5). The parts and their order are data
(`resources/statements.yaml`), and so are the words that say that a finding is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field

from lunguage_assets.caches import ENTRIES, remembered
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.packaged_data import read_as, resource


class Region(BaseModel, frozen=True, extra="forbid"):
    """A region, the larger one that it lies in, and its wordings."""

    name: str
    within: str = Field(default="", alias="in")
    words: list[str]
    whole: bool = False


class ResolvedWords(BaseModel, frozen=True, extra="forbid"):
    """Words that say that something is gone, and words that take it back."""

    words: frozenset[str]
    unless: frozenset[str]


class Qualifier(BaseModel, frozen=True, extra="forbid"):
    """Words that restrict what a denial denies, and the counts behind its p."""

    name: str
    words: frozenset[str]
    of: frozenset[str] = frozenset()
    lists: bool
    certain: bool = False
    denied: int
    coded: int

    def is_of(self, name: str) -> bool:
        """Whether the words restrict the denial of a finding of this name."""
        return not self.of or not self.of.isdisjoint(tokens(name))


class StatementsFile(BaseModel, frozen=True, extra="forbid"):
    """The content of resources/statements.yaml."""

    sides: dict[Literal["left", "right", "both"], list[str]]
    regions: list[Region]
    fillers: frozenset[str]
    qualifiers: list[Qualifier]
    resolved: ResolvedWords


class Location(NamedTuple):
    """Sides, regions and further words ("5th"); without any it is everywhere."""

    sides: frozenset[str]
    regions: frozenset[str]
    details: frozenset[str]

    @property
    def parts(self) -> tuple[str, ...]:
        """All parts, sorted: what two keys are compared by."""
        return tuple(sorted(self.sides | self.regions | self.details))


class Anatomy:
    """Reads locations and knows what contains what.

    Attributes:
        wholes: regions that are no narrower than no location.
    """

    def __init__(self, content: StatementsFile) -> None:
        self._sides_by_word: dict[str, set[str]] = {}
        for side, words in content.sides.items():
            sides = {"left", "right"} if side == "both" else {str(side)}
            self._sides_by_word.update(dict.fromkeys(words, sides))
        self._larger = {region.name: region.within for region in content.regions}
        self.wholes = frozenset(
            region.name for region in content.regions if region.whole
        )
        self._no_details = content.fillers | self._sides_by_word.keys()
        self._region_by_wording = {
            " ".join(tokens(wording)): region.name
            for region in content.regions
            for wording in region.words
        }
        # The wording of most words that stands at a place is read, else a single word.
        wordings = sorted(
            self._region_by_wording, key=lambda wording: -wording.count(" ")
        )
        names = "|".join(map(re.escape, wordings))
        self._pattern = re.compile(rf"(?<!\S)(?:{names})(?!\S)|\S+")
        # What decides is the location alone, and reports name few different ones.
        self.location = lru_cache(maxsize=ENTRIES)(self._location)
        self.covers = lru_cache(maxsize=4 * ENTRIES)(self._covers)

    def _location(self, location_parts: tuple[str, ...]) -> Location:
        """Read the location that the comma parts of a cell name."""
        sides: set[str] = set()
        regions: set[str] = set()
        details: set[str] = set()
        for part in location_parts:
            for wording in self._pattern.findall(" ".join(tokens(part))):
                # "Biapical" names a region, and both sides.
                for word in wording.split():
                    sides.update(self._sides_by_word.get(word, ()))
                region = self._region_by_wording.get(wording)
                if region:
                    regions.add(region)
                else:
                    details.update({wording} - self._no_details)
        # "Right upper lobe of the lung" is the lobe: what contains it adds nothing.
        containing = set[str]().union(*map(self._around, regions))
        return Location(
            sides=frozenset(sides),
            regions=frozenset(regions - containing),
            details=frozenset(details),
        )

    def _around(self, region: str) -> Iterator[str]:
        """Yield the regions that a region lies in, from the smallest on."""
        while region := self._larger.get(region, ""):
            yield region

    def _covers(self, outer: tuple[str, ...], inner: tuple[str, ...]) -> bool:
        """Whether a location, by its parts, contains another; none contains all."""
        wide = self.location(outer)
        narrow = self.location(inner)
        # "Left" contains neither what is bilateral nor what has no side.
        if wide.sides and not (narrow.sides and narrow.sides <= wide.sides):
            return False
        # The 5th rib contains no 6th one.
        if not wide.details <= narrow.details:
            return False
        # "No opacity in the lungs" denies every opacity without a location.
        outer_regions = wide.regions if narrow.regions else wide.regions - self.wholes
        return outer_regions <= narrow.regions.union(*map(self._around, narrow.regions))


@cache
def statements_file() -> StatementsFile:
    """Read the packaged words about locations and statements."""
    return read_as(resource("statements.yaml"), StatementsFile)


@cache
def anatomy() -> Anatomy:
    """Read the packaged anatomy."""
    return Anatomy(statements_file())


def lies_in(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    """Whether a location lies in another one, and on no other sides.

    What is bilateral is not what is left.
    """
    if not anatomy().covers(outer, inner):
        return False
    outer_sides = anatomy().location(outer).sides
    return not outer_sides or outer_sides == anatomy().location(inner).sides


@remembered
def says_resolved(improved: str) -> bool:
    """Whether a course says that the finding is gone: it is absent now (section 4)."""
    resolved = statements_file().resolved
    for words in map(tokens, improved.split(",")):
        # "nearly resolved" is still there
        if not resolved.words.isdisjoint(words) and resolved.unless.isdisjoint(words):
            return True
    return False


def anatomical_parts(location_parts: Sequence[str]) -> tuple[str, ...]:
    """List the anatomical parts of a location set, sorted."""
    return anatomy().location(tuple(location_parts)).parts
