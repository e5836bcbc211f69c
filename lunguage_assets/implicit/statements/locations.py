"""Locations as sets of anatomical parts, and which contains which.

"right costophrenic angle" and "right, costophrenic angle" are one location, however the
words were composed (implicit.md sections 4 and 5). The parts and their order are data
(`resources/statements.yaml`), and so are the words that say that a finding is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from pydantic import Field

from lunguage_assets.caches import ENTRIES, remembered
from lunguage_assets.implicit.pathways.pathway_file import Form
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.packaged_data import read_as, resource


class Region(Form):
    """A region, the larger one that it lies in, and its wordings."""

    name: str
    within: str = Field(default="", alias="in")
    words: list[str]
    whole: bool = False


class ResolvedWords(Form):
    """Words that say that something is gone, and words that take it back."""

    words: frozenset[str]
    unless: frozenset[str]


class Qualifier(Form):
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


class StatementsFile(Form):
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
    parts: tuple[str, ...]
    """All of them, sorted: what two keys are compared by."""


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
        self._no_details = content.fillers | self._sides_by_word.keys()
        self._region_by_wording: dict[str, str] = {}
        # The regions that a region lies in; in the file the larger ones come first.
        self._around: dict[str, set[str]] = {"": set()}
        for region in content.regions:
            self._around[region.name] = {region.within, *self._around[region.within]}
            for wording in region.words:
                self._region_by_wording[" ".join(tokens(wording))] = region.name
        self.wholes = {region.name for region in content.regions if region.whole}
        # The longest wording that stands at a place is read, else a single word.
        wordings = sorted(self._region_by_wording, key=len, reverse=True)
        self._pattern = re.compile(rf"(?<!\S)(?:{'|'.join(wordings)})(?!\S)|\S+")
        # What decides is the location alone, and reports name few different ones.
        self.location = remembered(self._location)
        self.covers = lru_cache(maxsize=4 * ENTRIES)(self._covers)

    def _location(self, location_parts: tuple[str, ...]) -> Location:
        """Read the location that the comma parts of a cell name."""
        wordings: set[str] = set()
        sides: set[str] = set()
        for part in location_parts:
            words = tokens(part)
            wordings.update(self._pattern.findall(" ".join(words)))
            # "Biapical" names a region, and both sides.
            sides.update(*(self._sides_by_word.get(word, ()) for word in words))
        names_of_regions = wordings & self._region_by_wording.keys()
        regions = {self._region_by_wording[wording] for wording in names_of_regions}
        # "Right upper lobe of the lung" is the lobe: what contains it adds nothing.
        regions -= self._regions_around(regions)
        details = wordings - names_of_regions - self._no_details
        return Location(
            sides=frozenset(sides),
            regions=frozenset(regions),
            details=frozenset(details),
            parts=tuple(sorted(sides | regions | details)),
        )

    def _regions_around(self, regions: Iterable[str]) -> set[str]:
        """Collect the larger regions that some lie in."""
        return set[str]().union(*map(self._around.__getitem__, regions))

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
        return outer_regions <= narrow.regions | self._regions_around(narrow.regions)


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
    return any(
        # "nearly resolved" is still there
        not resolved.words.isdisjoint(words) and resolved.unless.isdisjoint(words)
        for words in map(tokens, improved.split(","))
    )
