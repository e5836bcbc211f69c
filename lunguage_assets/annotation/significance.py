"""How much a finding matters, and what it loses when it is said otherwise.

The content of `resources/significance.yaml`, whose header names the sources, as
questions that the score asks of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from lunguage_assets.caches import ENTRIES
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.packaged_data import read_as, resource, wrong_at
from lunguage_assets.tables import TERMS

Level = Literal["urgent", "actionable", "incidental", "expected", "none"]
Course = Literal["new", "worsened", "improved", "unchanged", "old", "acute"]

UNSAID = "unsaid"
"""Beside the courses, in the list of what two courses cost: the report says none."""

LARGE = 3
"""The extent from which it is missed when a report leaves it out: "large", "severe"."""


class Finding(BaseModel, frozen=True, extra="forbid"):
    """How much a finding matters, and what it is a kind of."""

    name: str
    level: Level
    also: list[str] = []
    kind_of: list[str] = []
    near: list[str] = []
    diffuse: bool = False
    placeless: bool = False
    at: list[str] = []
    largest_mm: float | None = Field(default=None, gt=0)


class Described(BaseModel, frozen=True, extra="forbid"):
    """The level of findings that are described with one of some words."""

    words: list[str] = Field(min_length=1)
    of: list[str] = Field(min_length=1)
    level: Level


class StructureReading(BaseModel, frozen=True, extra="forbid"):
    """The finding that a part of the body with one of these words is."""

    words: list[str] = Field(min_length=1)
    finding: str = Field(alias="is")


class Devices(BaseModel, frozen=True, extra="forbid"):
    """When a device is not where it should be."""

    misplaced: list[str]
    level: Level
    wrong_places: dict[str, list[str]]


class CourseCost(BaseModel, frozen=True, extra="forbid"):
    """What two courses of one finding cost."""

    between: tuple[str, str]
    cost: float = Field(ge=0, le=1)


class Shares(BaseModel, frozen=True, extra="forbid"):
    """What part of a finding is lost when it is said otherwise.

    Each between 0 and 1.
    """

    general: float = Field(ge=0, le=1)
    near: float = Field(ge=0, le=1)
    sibling: float = Field(ge=0, le=1)
    other_side: float = Field(ge=0, le=1)
    other_region: float = Field(ge=0, le=1)
    side_unsaid: float = Field(ge=0, le=1)
    region_unsaid: float = Field(ge=0, le=1)
    region_wider: float = Field(ge=0, le=1)
    detail: float = Field(ge=0, le=1)
    extent_step: float = Field(ge=0, le=1)
    extent_most: float = Field(ge=0, le=1)
    extent_unsaid: float = Field(ge=0, le=1)
    extent_unsaid_large: float = Field(ge=0, le=1)
    size_doubled: float = Field(ge=0, le=1)
    size_most: float = Field(ge=0, le=1)
    size_unsaid: float = Field(ge=0, le=1)
    size_absurd: float = Field(ge=0, le=1)
    size_threshold: float = Field(ge=0, le=1)


class SignificanceFile(BaseModel, frozen=True, extra="forbid"):
    """The content of resources/significance.yaml."""

    levels: dict[Level, float]
    agreement: float = Field(gt=0)
    unsaid: float = Field(gt=0, le=1)
    otherwise: dict[str, Level]
    findings: list[Finding]
    described: list[Described]
    structures: dict[str, list[StructureReading]]
    devices: Devices
    extents: dict[str, float]
    factors: list[float] = Field(min_length=5, max_length=5)
    courses: dict[Course, list[str]]
    course_costs: list[CourseCost]
    marks: dict[str, float]
    shares: Shares
    thresholds_mm: list[float]
    largest_mm: float = Field(gt=0)

    @model_validator(mode="after")
    def _names_findings_of_the_file(self) -> Self:
        names = [finding.name for finding in self.findings]
        for number, finding in enumerate(self.findings):
            if finding.name in names[:number]:
                problem = f"found {finding.name} twice, expected each finding once"
                raise wrong_at(("findings", number, "name"), problem)
            unknown = sorted({*finding.kind_of, *finding.near} - set(names))
            if unknown:
                field = "kind_of" if set(unknown) & set(finding.kind_of) else "near"
                problem = f"found {', '.join(unknown)}, expected names of the file"
                raise wrong_at(("findings", number, field), problem)
        for structure, readings in self.structures.items():
            for number, reading in enumerate(readings):
                if reading.finding not in names:
                    problem = f"found {reading.finding}, expected a name of the file"
                    raise wrong_at(("structures", structure, number, "is"), problem)
        return self


class Words:
    """Words and phrases to look for in the cells of a row."""

    def __init__(self, words: Iterable[str]) -> None:
        self._phrases = [f" {' '.join(tokens(word))} " for word in words]

    def in_text(self, text: str) -> bool:
        """Whether one of them stands in a text, as whole words."""
        if not text:
            return False
        spaced = f" {' '.join(tokens(text))} "
        return any(phrase in spaced for phrase in self._phrases)


class Significance:
    """Weights of findings, and shares that are lost between two of them."""

    def __init__(self, content: SignificanceFile, vocabulary: Vocabulary) -> None:
        self.shares = content.shares
        self.agreement = content.agreement
        self.unsaid = content.unsaid
        self.thresholds_mm = tuple(content.thresholds_mm)
        self._weight_by_level = content.levels
        self._otherwise = content.otherwise
        self._factors = content.factors
        self._largest_mm = content.largest_mm
        self._findings: dict[str, Finding] = {}
        self._concept_by_name: dict[str, str] = {}
        for finding in content.findings:
            self._findings[finding.name] = finding
            for name in (finding.name, *finding.also):
                self._concept_by_name[vocabulary.finding(name)] = finding.name
        self._described = [
            (Words(entry.words), frozenset(entry.of), entry.level)
            for entry in content.described
        ]
        self._structures = {
            vocabulary.finding(name): [
                (Words(reading.words), reading.finding) for reading in readings
            ]
            for name, readings in content.structures.items()
        }
        self._misplaced = Words(content.devices.misplaced)
        self._misplaced_level = content.devices.level
        self._wrong_places = {
            vocabulary.finding(name): Words(words)
            for name, words in content.devices.wrong_places.items()
        }
        # The longest first: "small to moderate" is not small.
        by_length = sorted(content.extents, key=len, reverse=True)
        self._extents = [(Words([word]), content.extents[word]) for word in by_length]
        self._courses: dict[Course, Words] = {
            course: Words(words) for course, words in content.courses.items()
        }
        self._course_costs: dict[frozenset[str], float] = {
            frozenset(entry.between): entry.cost for entry in content.course_costs
        }
        self._marks = {
            word: (Words([word]), cost) for word, cost in content.marks.items()
        }
        self._ancestors = {name: dict(self._above(name)) for name in self._findings}
        # Reports repeat their words, and a name has the same kin in every pair.
        self.name_share = lru_cache(maxsize=ENTRIES)(self._name_share)
        self.weight = lru_cache(maxsize=ENTRIES)(self._weight)
        self.extent = lru_cache(maxsize=ENTRIES)(self._extent)
        self.courses_in = lru_cache(maxsize=ENTRIES)(self._courses_in)
        self.marks_in = lru_cache(maxsize=ENTRIES)(self._marks_in)

    def concept(self, name: str) -> str | None:
        """The finding of the file with this canonical name.

        None when it is not listed.
        """
        return self._concept_by_name.get(name)

    def of_structure(self, name: str, words: str) -> str | None:
        """The finding that an abnormal part of the body is.

        It follows from the words said of it and from its location.
        """
        for listed, finding in self._structures.get(name, ()):
            if listed.in_text(words):
                return finding
        return None

    def is_misplaced(self, device: str, placement: str, place: str) -> bool:
        """Whether a device is said to be where it should not be."""
        if self._misplaced.in_text(placement):
            return True
        wrong_places = self._wrong_places.get(device)
        return wrong_places is not None and wrong_places.in_text(place)

    @property
    def misplaced_weight(self) -> float:
        """The weight of a device that is not where it should be."""
        return self._weight_by_level[self._misplaced_level]

    def _weight(
        self, concept: str, category: str, description: str, extent: float | None
    ) -> float:
        """What a finding weighs.

        Args:
            concept: its name in the file, or the name of one that is not listed.
            category: its Lunguage category, which gives the level of what is not
                listed.
            description: the words of its attributes.
            extent: how much there is of it, on the scale of the file; None: unsaid.

        Returns:
            The weight of its level, by its extent.
        """
        finding = self._findings.get(concept)
        level = finding.level if finding else self._otherwise.get(category, "none")
        for words, concepts, other_level in self._described:
            if concept in concepts and words.in_text(description):
                level = other_level
        factor = self._factors[round(extent)] if extent is not None else 1.0
        return self._weight_by_level[level] * factor

    def is_diffuse(self, concept: str) -> bool:
        """Whether both sides are no more than no side."""
        finding = self._findings.get(concept)
        return finding is not None and finding.diffuse

    def is_placeless(self, concept: str) -> bool:
        """Whether a finding has one place."""
        finding = self._findings.get(concept)
        return finding is not None and finding.placeless

    def regions_of_name(self, concept: str) -> frozenset[str]:
        """Regions that the name of a finding says already."""
        finding = self._findings.get(concept)
        return frozenset(finding.at if finding else ())

    def is_absurd(self, concept: str, size_mm: float) -> bool:
        """Whether no such finding has this size."""
        finding = self._findings.get(concept)
        largest = (
            finding.largest_mm if finding and finding.largest_mm else self._largest_mm
        )
        return size_mm > largest

    def _extent(self, words: str) -> float | None:
        """How much there is of a finding by its attributes.

        None when they do not say.
        """
        if not words:
            return None
        return next(
            (step for listed, step in self._extents if listed.in_text(words)), None
        )

    def _courses_in(self, words: str) -> frozenset[Course]:
        """What a finding did since before, by words of its attributes."""
        if not words:
            return frozenset()
        return frozenset(
            course for course, listed in self._courses.items() if listed.in_text(words)
        )

    def course_share(self, one: frozenset[Course], other: frozenset[Course]) -> float:
        """What part of a finding is lost by its course."""
        if one == other:
            return 0.0
        costs = [
            self._course_costs.get(frozenset((a, b)), 0.0)
            for a in (one or {UNSAID})
            for b in (other or {UNSAID})
        ]
        # A new finding that is also called worse is not contradicted by "new" alone.
        return min(costs) if one & other else max(costs)

    def _marks_in(self, words: str) -> frozenset[str]:
        """The words of a finding that make it another one."""
        if not words:
            return frozenset()
        return frozenset(
            word for word, (listed, _) in self._marks.items() if listed.in_text(words)
        )

    def mark_share(self, one: frozenset[str], other: frozenset[str]) -> float:
        """What a mark costs that one of two reports leaves out."""
        return max((self._marks[word][1] for word in one ^ other), default=0.0)

    def is_kind_of(self, concept: str, general: str) -> bool:
        """Whether a finding is one of a more general name, or that itself."""
        return concept == general or general in self._ancestors.get(concept, ())

    def _name_share(self, one: str, other: str) -> float:
        """What part of a finding is lost when another one is named.

        1 when they have nothing in common.
        """
        if one == other:
            return 0.0
        first = self._findings.get(one)
        second = self._findings.get(other)
        if first is None or second is None:
            return 1.0
        above_first = self._ancestors[one]
        above_second = self._ancestors[other]
        share = 1.0
        if other in first.near or one in second.near:
            share = self.shares.near
        for above, general in ((above_first, other), (above_second, one)):
            if general in above:
                share = min(share, 1.0 - (1.0 - self.shares.general) ** above[general])
        if share == 1.0 and above_first.keys() & above_second.keys():
            share = self.shares.sibling
        return share

    def _above(self, name: str) -> Iterator[tuple[str, int]]:
        """More general findings, each with the fewest steps up to it."""
        seen = {name}
        waiting = [(name, 0)]
        # The list grows as it is walked: the nearest names come first.
        for below, steps in waiting:
            for general in self._findings[below].kind_of:
                if general not in seen:
                    seen.add(general)
                    waiting.append((general, steps + 1))
                    yield general, steps + 1


def load_significance(path: Path | None = None) -> Significance:
    """The packaged file, or the one at `path`, checked.

    Raises `ConfigurationError` naming its line and field.
    """
    file = path or resource("significance.yaml")
    content = read_as(file, SignificanceFile, "See the header of the packaged file.")
    return Significance(content, Vocabulary.from_terms(TERMS.frame()))


@cache
def packaged_significance() -> Significance:
    """The packaged file, read once."""
    return load_significance()
