"""Hedging phrases with their places on the published scale (`resources/hedges.yaml`).

Only 42 places are published; those of other phrases are the author's own estimates
(explicit.md section 3). How a judge scores with them is in `judges/rules/`.
"""

from __future__ import annotations

import csv
from functools import cache
from typing import NamedTuple

from pydantic import BaseModel, Field, TypeAdapter

from lunguage_assets.packaged_data import read_as, resource


class PublishedPhrase(NamedTuple):
    """A phrase of the published ranking; rank 0 is the most certain."""

    rank: int
    phrase: str
    mu: float
    sigma: float


@cache
def published_ranking() -> tuple[PublishedPhrase, ...]:
    """Read the published ranking, most certain first."""
    rows = csv_rows("published_ranking.csv")
    return TypeAdapter(tuple[PublishedPhrase, ...]).validate_python(rows)


def csv_rows(name: str) -> list[dict[str, str]]:
    """Read the rows of a bundled CSV file."""
    with resource(name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


class Lexicon(BaseModel, frozen=True, extra="forbid"):
    """The hedging phrases: the content of resources/hedges.yaml.

    Attributes:
        joints: phrases that join alternatives.
        phrases: phrase -> its place, where the published ranking has it not.
        places_by_cue: id or category of a cue without a known phrase -> its place;
            `preferred`: of a finding for which another one is dismissed.
        shifts: word near the finding -> points of mu by which it shifts a place.
    """

    joints: frozenset[str]
    phrases: dict[str, float]
    places_by_cue: dict[str, float] = Field(alias="cues")
    shifts: dict[str, float]

    @property
    def place_by_phrase(self) -> dict[str, float]:
        """The place of every phrase, published or not."""
        published = {entry.phrase: entry.mu for entry in published_ranking()}
        return published | self.phrases


@cache
def bundled_lexicon() -> Lexicon:
    """Read the bundled hedging phrases.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    return read_as(resource("hedges.yaml"), Lexicon)
