"""Hedging phrases with their places on the published scale (`resources/hedges.yaml`).

Only 42 places are published; those of other phrases are the author's own estimates
(explicit.md section 3). What belongs here: the phrases, and those of them that are cues
of the structurer. How a judge scores with them is in `judges/rules/`.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from statistics import fmean
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field

from lunguage_assets.assertion.categories import Direction, Reach
from lunguage_assets.assertion.cues import Cue, Example
from lunguage_assets.packaged_data import read_as, resource

Side = Literal["right", "left", "both", "list"]
"""Where the finding stands, seen from the phrase; `list`: it joins alternatives."""

_EXAMPLE = "pneumonia"
"""The mention of the sentences that show what a phrase gives."""
_NO_LETTER = re.compile(r"[\W_]")


class PublishedPhrase(NamedTuple):
    """A phrase of the published ranking; rank 0 is the most certain."""

    rank: int
    phrase: str
    mu: float
    sigma: float


@cache
def published_ranking() -> tuple[PublishedPhrase, ...]:
    """Read the published ranking, most certain first."""
    return tuple(
        PublishedPhrase(
            rank=int(row["rank"]),
            phrase=row["phrase"],
            mu=float(row["mu"]),
            sigma=float(row["sigma"]),
        )
        for row in csv_rows("published_ranking.csv")
    )


def csv_rows(name: str) -> list[dict[str, str]]:
    """Read the rows of a bundled CSV file."""
    with resource(name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@dataclass(frozen=True, slots=True)
class Hedge:
    """A hedging phrase.

    Attributes:
        phrase: its words.
        place: mu on the published scale.
        side: where its finding stands.
        structured: whether the offline structurer takes it for a hedge, too; for the
            others it has cues of its own.
    """

    phrase: str
    place: float
    side: Side
    structured: bool = True


def _forms_by_word(inflections: list[list[str]]) -> dict[str, list[str]]:
    return {word: forms for forms in inflections for word in forms}


class Lexicon(BaseModel, frozen=True, extra="forbid"):
    """The hedging phrases: the content of resources/hedges.yaml.

    Attributes:
        published: side of the finding -> phrases of the published ranking.
        inflections: word -> all forms of it.
        rarer, judged: other phrases; the structurer has cues of its own for what the
            latter say.
        places_by_cue: id or category of a cue without a known phrase -> its place;
            `preferred`: of a finding for which another one is dismissed.
        shifts: word near the finding -> points of mu by which it shifts a place.
    """

    published: dict[Side, list[str]]
    inflections: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_forms_by_word)]
    rarer: list[Hedge]
    judged: list[Hedge]
    places_by_cue: dict[str, float] = Field(alias="cues")
    shifts: dict[str, float]

    @cached_property
    def hedges(self) -> tuple[Hedge, ...]:
        """The phrases, in every inflection."""
        # The ranking has the places of the published phrases, the file their sides.
        place_by_phrase = {entry.phrase: entry.mu for entry in published_ranking()}
        hedges = [
            Hedge(phrase, place=place_by_phrase[phrase], side=side)
            for side, phrases in self.published.items()
            for phrase in phrases
        ]
        hedges += self.rarer
        hedges += [replace(hedge, structured=False) for hedge in self.judged]
        return tuple(_inflected(hedges, self.inflections))


@cache
def bundled_lexicon() -> Lexicon:
    """Read the bundled hedging phrases.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    return read_as(resource("hedges.yaml"), Lexicon)


def _inflected(
    hedges: Iterable[Hedge], inflections: Mapping[str, tuple[str, ...]]
) -> Iterator[Hedge]:
    """Yield every inflection of phrases.

    Those that differ in inflection alone share one place: the mean of those given.
    """
    # "Suggest" and "suggests" have the same forms of each word, and so one group.
    groups: defaultdict[tuple[tuple[str, ...], ...], list[Hedge]] = defaultdict(list)
    for hedge in hedges:
        words = hedge.phrase.split()
        groups[tuple(inflections.get(word, (word,)) for word in words)].append(hedge)
    for forms, group in groups.items():
        mean_place = fmean(hedge.place for hedge in group)
        listed = {hedge.phrase: hedge for hedge in group}
        # A form that nobody listed is for the judges: the structurer reads no other
        # phrases than those of the file.
        unlisted = replace(group[0], structured=False)
        for inflected_words in product(*forms):
            phrase = " ".join(inflected_words)
            yield replace(listed.get(phrase, unlisted), phrase=phrase, place=mean_place)


def hedge_cues() -> Iterator[Cue]:
    """Yield the phrases of hedges.yaml that the structurer reads, as cues."""
    for hedge in bundled_lexicon().hedges:
        # What joins alternatives has cues of its own (`resources/assertion/`).
        if not hedge.structured or hedge.side == "list":
            continue
        # "Pneumonia cannot be excluded"; "possible pneumonia", "pneumonia is possible"
        is_behind = hedge.side == "left"
        direction: Direction = "both"
        text = f"{hedge.phrase} {_EXAMPLE}"
        if is_behind:
            direction = "before"
            text = f"{_EXAMPLE} {hedge.phrase}"
        # An adjective leaves open what follows; a phrase also what is joined to that.
        reach: Reach = "next"
        if is_behind or " " in hedge.phrase:
            reach = "list"
        name = _NO_LETTER.sub("_", hedge.phrase).strip("_")
        yield Cue(
            id=f"hedge.{name}",
            category="hedged",
            patterns=(hedge.phrase,),
            direction=direction,
            reach=reach,
            examples=(Example.model_validate({"text": text, _EXAMPLE: "hedged"}),),
        )
