"""How much a finding matters, and what it loses when it is said otherwise.

The numbers stand in `resources/significance.yaml`, whose header explains every field
and names the sources. Here they are checked, and asked by the score (docs/score.md,
"How it counts"). How two texts are compared is in `scoring.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
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


_UNLISTED = Finding(name="", level="none")


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
    """What part of a finding is lost when it is said otherwise, each from 0 to 1."""

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
        # With a blank on either side "new" is not found in "renewed".
        spaced = f" {' '.join(tokens(text))} "
        return any(phrase in spaced for phrase in self._phrases)


class Significance:
    """Weights of findings, and shares that are lost between two of them."""

    def __init__(self, content: SignificanceFile, vocabulary: Vocabulary) -> None:
        self.shares = content.shares
        self.agreement = content.agreement
        self.unsaid = content.unsaid
        self.thresholds_mm = tuple(content.thresholds_mm)
        self.misplaced_weight = content.levels[content.devices.level]
        """The weight of a device that is not where it should be."""
        self._content = content
        self._findings: dict[str, Finding] = {}
        self._concept_by_name: dict[str, str] = {}
        # Rows have canonical names: those of the file are looked up by theirs.
        for finding in content.findings:
            self._findings[finding.name] = finding
            for name in (finding.name, *finding.also):
                self._concept_by_name[vocabulary.finding(name)] = finding.name
        self._described = [
            (Words(entry.words), frozenset(entry.of), entry.level)
            for entry in content.described
        ]
        self._structures: dict[str, list[tuple[Words, str]]] = {}
        for structure, readings in content.structures.items():
            words_and_findings = [
                (Words(reading.words), reading.finding) for reading in readings
            ]
            self._structures[vocabulary.finding(structure)] = words_and_findings
        self._misplaced = Words(content.devices.misplaced)
        self._wrong_locations = {
            vocabulary.finding(device): Words(words)
            for device, words in content.devices.wrong_places.items()
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
        self._marks = {word: Words([word]) for word in content.marks}
        self._ancestors = {name: self._more_general(name) for name in self._findings}
        # Reports repeat their words, and a name has the same kin in every pair.
        self.name_share = lru_cache(maxsize=ENTRIES)(self._name_share)
        self.weight = lru_cache(maxsize=ENTRIES)(self._weight)
        self.extent = lru_cache(maxsize=ENTRIES)(self._extent)
        self.courses_in = lru_cache(maxsize=ENTRIES)(self._courses_in)
        self.marks_in = lru_cache(maxsize=ENTRIES)(self._marks_in)

    def concept(self, name: str) -> str | None:
        """Return the finding of the file with a canonical name; None: not listed."""
        return self._concept_by_name.get(name)

    def finding(self, concept: str) -> Finding:
        """Return what the file says of a finding; nothing of one that is not listed."""
        return self._findings.get(concept, _UNLISTED)

    def of_structure(self, structure: str, words: str) -> str | None:
        """Return the finding that an abnormal part of the body is, by its words.

        The words are of its attributes and its location: "prominent hilum".
        """
        for listed, finding in self._structures.get(structure, ()):
            if listed.in_text(words):
                return finding
        return None

    def is_misplaced(self, device: str, placement: str, location: str) -> bool:
        """Tell whether a device is said to be where it should not be.

        Args:
            device: its canonical name.
            placement: words of its placement ("malpositioned").
            location: words of its location: a feeding tube "in the left main bronchus"
                is misplaced without a further word.
        """
        if self._misplaced.in_text(placement):
            return True
        wrong_locations = self._wrong_locations.get(device)
        return wrong_locations is not None and wrong_locations.in_text(location)

    def _weight(
        self, concept: str, category: str, description: str, extent: float | None
    ) -> float:
        """Weigh a finding.

        Args:
            concept: its name in the file, or the name of one that is not listed.
            category: its Lunguage category, which gives the level of what is not
                listed.
            description: the words of its attributes.
            extent: how much there is of it, on the scale of the file; None: unsaid.

        Returns:
            The weight of its level, by its extent.
        """
        # What the file does not list matters as much as its category does.
        level = self._content.otherwise.get(category, "none")
        if concept in self._findings:
            level = self._findings[concept].level
        # A calcified nodule and a healed fracture matter less than their like.
        for words, concepts, described_level in self._described:
            if concept in concepts and words.in_text(description):
                level = described_level
        weight = self._content.levels[level]
        if extent is None:
            return weight
        # "Small to moderate" lies between two steps: Python rounds to the even one.
        return weight * self._content.factors[round(extent)]

    def is_absurd(self, concept: str, size_mm: float | None) -> bool:
        """Tell whether a size is given that no such finding has."""
        largest_mm = self.finding(concept).largest_mm or self._content.largest_mm
        return size_mm is not None and size_mm > largest_mm

    def _extent(self, words: str) -> float | None:
        """Read how much there is of a finding off its attributes; None: unsaid."""
        for listed, step in self._extents:
            if listed.in_text(words):
                return step
        return None

    def _courses_in(self, words: str) -> frozenset[Course]:
        """Read what a finding did since before off its attributes."""
        return frozenset(
            course for course, listed in self._courses.items() if listed.in_text(words)
        )

    def course_share(
        self, reference: frozenset[Course], generated: frozenset[Course]
    ) -> float:
        """Compute what part of a finding is lost by its course."""
        if reference == generated:
            return 0.0
        costs = []
        for course in reference or {UNSAID}:
            for other_course in generated or {UNSAID}:
                pair = frozenset((course, other_course))
                costs.append(self._course_costs.get(pair, 0.0))
        # A new finding that is also called worse is not contradicted by "new" alone.
        if reference & generated:
            return min(costs)
        return max(costs)

    def _marks_in(self, words: str) -> frozenset[str]:
        """List the words of a finding that make it another one: "loculated"."""
        return frozenset(
            mark for mark, listed in self._marks.items() if listed.in_text(words)
        )

    def mark_share(self, reference: frozenset[str], generated: frozenset[str]) -> float:
        """Compute what the dearest mark costs that one of two reports leaves out."""
        costs = [self._content.marks[mark] for mark in reference ^ generated]
        return max(costs, default=0.0)

    def is_kind_of(self, concept: str, general: str) -> bool:
        """Tell whether a finding is one of a more general name, or that itself."""
        return concept == general or general in self._ancestors.get(concept, ())

    def _name_share(self, concept: str, candidate: str) -> float:
        """Compute what part of a finding is lost when another one is named.

        It is the same in both directions, and 1 when they have nothing in common.
        """
        if concept == candidate:
            return 0.0
        ancestors = self._ancestors.get(concept, {})
        candidate_ancestors = self._ancestors.get(candidate, {})
        share = 1.0
        # Readers use both for the same shadow; the file may say so of one alone.
        near_concept = self.finding(concept).near
        near_candidate = self.finding(candidate).near
        if candidate in near_concept or concept in near_candidate:
            share = self.shares.near
        # Every step up to the more general name keeps the same part of what is left.
        steps = ancestors.get(candidate) or candidate_ancestors.get(concept)
        if steps:
            share = min(share, 1.0 - (1.0 - self.shares.general) ** steps)
        # Two kinds of the same: a mass and a consolidation are opacities.
        if share == 1.0 and ancestors.keys() & candidate_ancestors.keys():
            share = self.shares.sibling
        return share

    def _more_general(self, concept: str) -> dict[str, int]:
        """List more general findings, each with the fewest steps up to it."""
        steps_to = {concept: 0}
        waiting = [concept]
        # The list grows as it is walked: the nearest names come first.
        for name in waiting:
            for general in self._findings[name].kind_of:
                if general not in steps_to:
                    steps_to[general] = steps_to[name] + 1
                    waiting.append(general)
        del steps_to[concept]
        return steps_to


def load_significance(path: Path | None = None) -> Significance:
    """Load the packaged file, or the one at `path`.

    Raises:
        ConfigurationError: what is wrong with the file, by line and field.
    """
    file = path or resource("significance.yaml")
    content = read_as(file, SignificanceFile, "See the header of the packaged file.")
    return Significance(content, Vocabulary.from_terms(TERMS.frame()))


@cache
def packaged_significance() -> Significance:
    """Load the packaged file, once."""
    return load_significance()
