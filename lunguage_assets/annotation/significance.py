"""How much a finding matters, and what it loses when it is said otherwise.

The numbers stand in `resources/significance.yaml`, whose header explains every field
and names the sources. Here they are checked, and asked by the score (docs/score.md,
"How it counts"). How two texts are compared is in `scoring.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables import TERMS

Level = Literal["urgent", "actionable", "incidental", "expected", "none"]
Share = Annotated[float, Field(ge=0, le=1)]
Meaning = TypeVar("Meaning")


class Finding(BaseModel, frozen=True, extra="forbid"):
    """How much a finding matters, and what it is a kind of."""

    level: Level
    also: list[str] = []
    kind_of: list[str] = []
    near: list[str] = []
    diffuse: bool = False
    placeless: bool = False
    at: list[str] = []


class Reading(BaseModel, frozen=True, extra="forbid"):
    """What findings, devices or parts of the body are, described with some words."""

    of: list[str]
    words: list[str]
    finding: str = Field(alias="is")


class Scale(BaseModel, frozen=True, extra="forbid"):
    """What part of a finding is lost by the distance of two values."""

    step: Share
    most: Share
    unsaid: Share

    def share(self, value: float | None, second: float | None) -> float:
        """Compute what part is lost between two values; None: it is not said."""
        if value is None or second is None:
            # "Unchanged" says no more of a course than a report that says nothing.
            return self.unsaid if value or second else 0.0
        return min(self.step * abs(value - second), self.most)


class Significance(BaseModel, frozen=True, extra="forbid"):
    """The content of resources/significance.yaml, and what follows from it."""

    levels: dict[Level, float]
    agreement: float = Field(gt=0)
    unsaid: Share
    denied: float = Field(gt=0)
    otherwise: dict[str, Level]
    findings: dict[str, Finding]
    readings: list[Reading]
    extents: dict[str, float]
    factors: list[float] = Field(min_length=5, max_length=5)
    courses: dict[str, float]
    shares: dict[str, Share]
    scales: dict[str, Scale]

    @cached_property
    def concepts(self) -> defaultdict[str, dict[str, str]]:
        """Names in the file by the canonical name of a row and a word that it needs.

        The empty word is in every row.
        """
        vocabulary = Vocabulary(TERMS.frame())
        concepts: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for concept, finding in self.findings.items():
            for name in (concept, *finding.also):
                concepts[vocabulary.finding(name)][""] = concept
        for reading in self.readings:
            for name in map(vocabulary.finding, reading.of):
                concepts[name] |= dict.fromkeys(reading.words, reading.finding)
        return concepts

    def concept(self, name: str, words: str) -> str | None:
        """Return the finding of the file that a row is about; None: not listed.

        Args:
            name: a canonical name of a finding, a device or a part of the body.
            words: of its attributes and its location ("prominent", of a hilum).
        """
        return first_in(self.concepts.get(name, {}), words)

    def finding(self, concept: str, category: str = "") -> Finding:
        """Return what the file says of a finding.

        What is not listed has the level of its Lunguage category, and no kin.
        """
        if concept in self.findings:
            return self.findings[concept]
        return Finding(level=self.otherwise.get(category, "none"))

    def weight(self, finding: Finding, extent: float | None) -> float:
        """Weigh a finding by its level and its extent; None: that is not said."""
        # "Small to moderate" lies between two steps: Python rounds to the even one.
        factor = 1.0 if extent is None else self.factors[round(extent)]
        return self.levels[finding.level] * factor

    def name_share(self, concept: str, candidate: str) -> float:
        """Compute what part of a finding is lost when another one is named.

        It is the same in both directions, and 1 when they have nothing in common.
        """
        above = steps_up(concept)
        above_candidate = steps_up(candidate)
        # Every step up to the more general name keeps the same part of what is left.
        steps = above.get(candidate, above_candidate.get(concept))
        if steps is not None:
            return 1.0 - (1.0 - self.shares["general"]) ** steps
        # Readers use both for the same shadow; the file may say so of one alone.
        near = (*self.finding(concept).near, *self.finding(candidate).near)
        if concept in near or candidate in near:
            return self.shares["near"]
        # Two kinds of the same: a mass and a consolidation are opacities.
        return self.shares["sibling"] if above.keys() & above_candidate.keys() else 1.0


def first_in(meanings: Mapping[str, Meaning], text: str) -> Meaning | None:
    """Find what the longest word means that stands in a text; None: none does."""
    # "Small to moderate" is not small. With a blank on either side "new" is not found
    # in "renewed".
    spaced = _spaced(text)
    words = [word for word in meanings if _spaced(word) in spaced]
    return meanings[max(words, key=len)] if words else None


@remembered
def _spaced(text: str) -> str:
    return " ".join(("", *tokens(text), ""))


@remembered
def steps_up(concept: str) -> dict[str, int]:
    """Map a finding and more general ones to the fewest steps up to them."""
    steps_by_name = {concept: 0}
    for parent in packaged_significance().finding(concept).kind_of:
        for general, steps in steps_up(parent).items():
            fewest = steps_by_name.get(general, steps + 1)
            steps_by_name[general] = min(steps + 1, fewest)
    return steps_by_name


@cache
def packaged_significance() -> Significance:
    """Load the packaged file, once.

    Raises:
        ConfigurationError: what is wrong with it, by line and field.
    """
    file = resource("significance.yaml")
    return read_as(file, Significance, "See the header of the file.")
