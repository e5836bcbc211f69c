"""How much a finding matters, and what it loses when it is said otherwise.

The numbers stand in `resources/significance.yaml`, whose header explains every field
and names the sources. Here they are checked, and asked by the score (docs/score.md,
"How it counts"). How two texts are compared is in `scoring.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeVar

from pydantic import BaseModel, Field

from lunguage_assets.caches import remembered
from lunguage_assets.corpus.vocabulary import Vocabulary
from lunguage_assets.implicit.rows import tokens
from lunguage_assets.packaged_data import read_as, resource
from lunguage_assets.tables import TERMS

Level = Literal["urgent", "actionable", "incidental", "expected", "none"]
Meaning = TypeVar("Meaning")


class Finding(BaseModel, frozen=True, extra="forbid"):
    """How much a finding matters, and what it is a kind of."""

    level: Level
    kind_of: list[str] = []
    near: list[str] = []
    placeless: bool = False
    at: list[str] = []


class Reading(BaseModel, frozen=True, extra="forbid"):
    """What findings, devices or parts of the body are, described with some words."""

    of: list[str]
    # The empty word is in every row.
    words: list[str] = [""]
    finding: str = Field(alias="is")


class Significance(BaseModel, frozen=True, extra="forbid"):
    """The content of resources/significance.yaml."""

    levels: dict[Level, float]
    agreement: float
    unsaid: float
    denied: float
    larger: float
    otherwise: dict[str, Level]
    findings: dict[str, Finding]
    readings: list[Reading]
    extents: dict[str, float]
    courses: dict[str, float]
    shares: dict[str, float]
    steps: dict[str, float]

    def finding(self, concept: str, category: str = "") -> Finding:
        """Return what the file says of a finding.

        What is not listed has the level of its Lunguage category, and no kin.
        """
        if concept in self.findings:
            return self.findings[concept]
        return Finding(level=self.otherwise.get(category, "none"))

    def weight(self, finding: Finding, extent: float | None) -> float:
        """Weigh a finding by its level and its extent; None: that is not said."""
        moderate = self.extents["moderate"]
        steps = 0.0 if extent is None else extent - moderate
        return self.levels[finding.level] * (1.0 + self.larger * steps)

    def name_share(self, concept: str, candidate: str) -> float:
        """Compute what part of a finding is lost when another one is named.

        It is the same in both directions, and 1 when they have nothing in common.
        """
        if concept == candidate:
            return 0.0
        finding = self.finding(concept)
        of_candidate = self.finding(candidate)
        # Readers use both for the same shadow; the file may say so of one alone.
        related = (*finding.kind_of, *finding.near)
        related_to_candidate = (*of_candidate.kind_of, *of_candidate.near)
        if candidate in related or concept in related_to_candidate:
            return self.shares["near"]
        # Two kinds of the same: a mass and a consolidation are opacities.
        is_kin = general_names(concept) & general_names(candidate)
        return self.shares["kin"] if is_kin else 1.0


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
def general_names(concept: str) -> frozenset[str]:
    """Collect the names that say a finding: its own, and more general ones."""
    parents = packaged_significance().finding(concept).kind_of
    return frozenset({concept}).union(*map(general_names, parents))


@cache
def packaged_significance() -> Significance:
    """Load the packaged file, once.

    Raises:
        ConfigurationError: what is wrong with it, by line and field.
    """
    file = resource("significance.yaml")
    return read_as(file, Significance, "See the header of the file.")


@cache
def concepts() -> Mapping[str, Mapping[str, str]]:
    """Map canonical names, and a word that a row needs, to findings of the file."""
    vocabulary = Vocabulary(TERMS.frame())
    significance = packaged_significance()
    by_name: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for concept in significance.findings:
        by_name[vocabulary.finding(concept)][""] = concept
    for reading in significance.readings:
        for name in map(vocabulary.finding, reading.of):
            by_name[name] |= dict.fromkeys(reading.words, reading.finding)
    return by_name
