"""Hedging phrases with their places on the published scale (`resources/hedges.yaml`).

Only 42 places are published; those of other phrases are the author's own estimates
(explicit.md section 3). How a judge scores with them is in `judges/rules/`.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import cache, cached_property
from itertools import product
from statistics import fmean
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter

from lunguage_assets.packaged_data import read_as, resource

Side = Literal["right", "left", "both", "list"]
"""Where the finding stands, seen from the phrase; `list`: it joins alternatives."""


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


class Hedge(NamedTuple):
    """A hedging phrase.

    Attributes:
        phrase: its words.
        place: mu on the published scale.
        side: where its finding stands.
    """

    phrase: str
    place: float
    side: Side


def _forms_by_word(inflections: list[list[str]]) -> dict[str, list[str]]:
    return {word: forms for forms in inflections for word in forms}


class Lexicon(BaseModel, frozen=True, extra="forbid"):
    """The hedging phrases: the content of resources/hedges.yaml.

    Attributes:
        published: side of the finding -> phrases of the published ranking.
        inflections: word -> all forms of it.
        rarer: other phrases.
        places_by_cue: id or category of a cue without a known phrase -> its place;
            `preferred`: of a finding for which another one is dismissed.
        shifts: word near the finding -> points of mu by which it shifts a place.
    """

    published: dict[Side, list[str]]
    inflections: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_forms_by_word)]
    rarer: list[Hedge]
    places_by_cue: dict[str, float] = Field(alias="cues")
    shifts: dict[str, float]

    @cached_property
    def hedges(self) -> tuple[Hedge, ...]:
        """The phrases, in every inflection.

        Those that differ in inflection alone share one place: the mean of those given.
        """
        # The ranking has the places of the published phrases, the file their sides.
        place_by_phrase = {entry.phrase: entry.mu for entry in published_ranking()}
        given = list(self.rarer)
        for side, phrases in self.published.items():
            given += [Hedge(it, place_by_phrase[it], side) for it in phrases]
        # "Suggest" and "suggests" have the same forms of each word, and so one group.
        groups: defaultdict[tuple[tuple[str, ...], ...], list[Hedge]]
        groups = defaultdict(list)
        for hedge in given:
            words = hedge.phrase.split()
            forms = tuple(self.inflections.get(word, (word,)) for word in words)
            groups[forms].append(hedge)
        hedges: list[Hedge] = []
        for forms, group in groups.items():
            place = fmean(hedge.place for hedge in group)
            for inflected in product(*forms):
                hedges.append(Hedge(" ".join(inflected), place, group[0].side))
        return tuple(hedges)


@cache
def bundled_lexicon() -> Lexicon:
    """Read the bundled hedging phrases.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    return read_as(resource("hedges.yaml"), Lexicon)
