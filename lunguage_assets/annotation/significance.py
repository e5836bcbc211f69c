"""How much a finding matters, and what it loses when it is said otherwise.

The numbers stand in `resources/significance.yaml`, whose header explains every field
and names the sources. Here they are checked, and asked by the score (docs/score.md,
"How it counts"). How two texts are compared is in `scoring.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from lunguage_assets.caches import ENTRIES, remembered
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables import TERMS

Level = Literal["urgent", "actionable", "incidental", "expected", "none"]
Share = Annotated[float, Field(ge=0, le=1)]
Meaning = TypeVar("Meaning")


class _Entry(BaseModel):
    """A part of the file, in which nothing is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Finding(_Entry):
    """How much a finding matters, and what it is a kind of."""

    name: str
    level: Level
    also: list[str] = []
    kind_of: list[str] = []
    near: list[str] = []
    diffuse: bool = False
    placeless: bool = False
    at: list[str] = []


_UNLISTED = Finding(name="", level="none")


class Reading(_Entry):
    """What findings, devices or parts of the body are, described with some words."""

    of: list[str]
    words: list[str]
    finding: str = Field(alias="is")


class Scale(_Entry):
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


class SignificanceFile(_Entry):
    """The content of resources/significance.yaml."""

    levels: dict[Level, float]
    agreement: float = Field(gt=0)
    unsaid: Share
    denied: float = Field(gt=0)
    otherwise: dict[str, Level]
    findings: list[Finding]
    readings: list[Reading]
    extents: dict[str, float]
    factors: list[float] = Field(min_length=5, max_length=5)
    courses: dict[str, float]
    shares: dict[str, Share]
    scales: dict[str, Scale]


def first_in(meanings: Mapping[str, Meaning], text: str) -> Meaning | None:
    """Find what the longest word means that stands in a text; None: none does."""
    # "Small to moderate" is not small. With a blank on either side "new" is not found
    # in "renewed".
    spaced = _spaced(text)
    words = (word for word in meanings if _spaced(word) in spaced)
    return meanings.get(max(words, key=len, default=""))


@remembered
def _spaced(text: str) -> str:
    return f" {' '.join(tokens(text))} "


class Significance:
    """Weights of findings, and shares that are lost between two of them.

    Args:
        content: of the file.
        vocabulary: the canonical names of rows, by which the file's are looked up.
    """

    def __init__(self, content: SignificanceFile, vocabulary: Vocabulary) -> None:
        self.content = content
        self._findings = {finding.name: finding for finding in content.findings}
        self._listed = {
            vocabulary.finding(name): finding.name
            for finding in content.findings
            for name in (finding.name, *finding.also)
        }
        finding_by_word: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for reading in content.readings:
            for name in map(vocabulary.finding, reading.of):
                finding_by_word[name] |= dict.fromkeys(reading.words, reading.finding)
        self._finding_by_word = finding_by_word
        self.above = lru_cache(maxsize=ENTRIES)(self._above)

    def concept(self, name: str, words: str) -> str | None:
        """Return the finding of the file that a row is about; None: not listed.

        Args:
            name: a canonical name of a finding, a device or a part of the body.
            words: of its attributes and its location ("prominent", of a hilum).
        """
        read = first_in(self._finding_by_word.get(name, {}), words)
        return read or self._listed.get(name)

    def finding(self, concept: str) -> Finding:
        """Return what the file says of a finding; nothing of one that is not listed."""
        return self._findings.get(concept, _UNLISTED)

    def weight(self, concept: str, category: str, extent: float | None) -> float:
        """Weigh a finding by its level and its extent.

        Args:
            concept: its name in the file, or the name of one that is not listed.
            category: its Lunguage category, which gives the level of what is not
                listed.
            extent: how much there is of it, on the scale of the file; None: unsaid.
        """
        level = self.content.otherwise.get(category, "none")
        if concept in self._findings:
            level = self._findings[concept].level
        # "Small to moderate" lies between two steps: Python rounds to the even one.
        factor = 1.0 if extent is None else self.content.factors[round(extent)]
        return self.content.levels[level] * factor

    def name_share(self, concept: str, candidate: str) -> float:
        """Compute what part of a finding is lost when another one is named.

        It is the same in both directions, and 1 when they have nothing in common.
        """
        shares = self.content.shares
        above = self.above(concept)
        above_candidate = self.above(candidate)
        # Every step up to the more general name keeps the same part of what is left.
        steps = above.get(candidate, above_candidate.get(concept))
        if steps is not None:
            return 1.0 - (1.0 - shares["general"]) ** steps
        # Readers use both for the same shadow; the file may say so of one alone.
        near = (*self.finding(concept).near, *self.finding(candidate).near)
        if concept in near or candidate in near:
            return shares["near"]
        # Two kinds of the same: a mass and a consolidation are opacities.
        return shares["sibling"] if above.keys() & above_candidate.keys() else 1.0

    def _above(self, concept: str) -> dict[str, int]:
        """Map a finding and more general ones to the fewest steps up to them."""
        steps_up = {concept: 0}
        for parent in self.finding(concept).kind_of:
            for general, steps in self.above(parent).items():
                steps_up[general] = min(steps + 1, steps_up.get(general, steps + 1))
        return steps_up


@cache
def packaged_significance() -> Significance:
    """Load the packaged file, once.

    Raises:
        ConfigurationError: what is wrong with it, by line and field.
    """
    remedy = "See the header of the file."
    content = read_as(resource("significance.yaml"), SignificanceFile, remedy)
    return Significance(content, Vocabulary.from_terms(TERMS.frame()))
